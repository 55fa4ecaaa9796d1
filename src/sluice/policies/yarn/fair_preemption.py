"""Which tasks FairScheduler takes containers back from.

At each update, applications below their share for longer than a timeout are found, and each is
looked at once: containers of applications above their share are marked, on one node after the
other, and end when the time of their warning is over. The starved application has the first choice
on these nodes, and is looked at again only after a while. Source: the code of Hadoop 3.3,
FSLeafQueue, FSAppAttempt, FSPreemptionThread and FSSchedulerNode. Left out are containers of
masters, which YARN takes when a node has no other, and containers without a task yet.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.reasons import Reason
from sluice.model.attempts import AttemptKey
from sluice.model.ids import NodeId
from sluice.model.queue_tree import LeafOrder, Starvation
from sluice.policies.memory import finite, or_infinite
from sluice.policies.yarn.applications import Host
from sluice.policies.yarn.preemption import Preemption, reason_of
from sluice.policies.yarn.queues import Application, SchedulerRules, YarnQueue

_WARNING_S, _PAUSE_S, _BUSY_SHARE, _PAUSE_BEATS = 15.0, 10.0, 0.8, 4  # YARN's defaults
_TINY = 1e-6


@dataclass(slots=True)
class Shortage:
    """The shortage of one application. had_share_s: when it was last seen to have its share.

    of_share, of_least: containers that it lacks of its own fair share and of the least amount of
    its queue.  look_from_s: no look at it before.
    """

    had_share_s: float
    of_share: float = 0.0
    of_least: float = 0.0
    look_from_s: float = -math.inf

    @property
    def containers(self) -> float:
        """The containers that it lacks."""
        return self.of_share + self.of_least


class FairPreemption(Preemption):
    """Preemption of the fair scheduler. node_s: seconds between heartbeats of a node."""

    def __init__(
        self, rules: SchedulerRules, hosts: Mapping[NodeId, Host], node_s: float, after_s: float
    ) -> None:
        self._rules = rules
        self._hosts = hosts
        self._after_s = after_s
        said = rules.said
        self._warning_s = _WARNING_S if said.warning_s is None else said.warning_s
        pause_s = _PAUSE_S if said.pause_s is None else said.pause_s
        self._pause_s = self._warning_s + _PAUSE_BEATS * node_s + pause_s
        self._busy_share = _BUSY_SHARE if said.busy_share is None else said.busy_share
        self._shortages: dict[Application, Shortage] = {}
        self._had_least_s: dict[YarnQueue, float] = {}
        self._running: dict[NodeId, dict[AttemptKey, Attempt]] = {}
        self._apps: dict[AttemptKey, Application] = {}
        self._marked: dict[AttemptKey, tuple[float, YarnQueue]] = {}  # end, and for which queue
        self._killed: set[AttemptKey] = set()
        self._owed: dict[Host, Counter[Application]] = {}
        self._draws = random.Random(0)

    # --- saved and restored -----------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        # YARN does not look again at an application that is gone; what it is owed still counts.
        version, numbers, following = self._draws.getstate()
        return {
            "shortages": [
                (app.number, *map(finite, astuple(one)))
                for app, one in self._shortages.items()
                if app in app.queue.apps
            ],
            "had_least_s": [(leaf.index, at_s) for leaf, at_s in self._had_least_s.items()],
            "marked": [(key, at_s, leaf.index) for key, (at_s, leaf) in self._marked.items()],
            "killed": sorted(self._killed),
            "owed": [
                (host.entry.node_id, [(app.number, count) for app, count in owed.items()])
                for host, owed in self._owed.items()
                if owed
            ],
            "draws": [version, list(numbers), following],
        }

    def restored(self, saved: Mapping[str, Any]) -> None:
        queues = list(self._rules.queues.values())
        apps = {app.number: app for queue in queues for app in queue.apps}
        for number, had_share_s, of_share, of_least, look_from_s in saved["shortages"]:
            look_s = or_infinite(look_from_s, -math.inf)
            self._shortages[apps[number]] = Shortage(had_share_s, of_share, of_least, look_s)
        self._had_least_s = {queues[one]: at_s for one, at_s in saved["had_least_s"]}
        self._marked = {
            AttemptKey(*key): (at_s, queues[leaf]) for key, at_s, leaf in saved["marked"]
        }
        self._killed = {AttemptKey(*key) for key in saved["killed"]}
        for node_id, owed in saved["owed"]:
            self._owed[self._hosts[NodeId(node_id)]] = Counter(
                {
                    apps.get(number) or Application(number, self._rules.root, ""): count
                    for number, count in owed
                }
            )
        version, numbers, following = saved["draws"]
        self._draws.setstate((version, tuple(numbers), following))

    # --- what happens -----------------------------------------------------------------------------

    def submitted(self, app: Application, now_s: float) -> None:
        self._shortages[app] = Shortage(now_s)

    def began(self, attempt: Attempt, app: Application) -> None:
        self._running.setdefault(attempt.node.node_id, {})[attempt.key] = attempt
        self._apps[attempt.key] = app

    def ended(self, attempt: Attempt, app: Application) -> bool:
        self._running[attempt.node.node_id].pop(attempt.key, None)
        self._apps.pop(attempt.key, None)
        self._marked.pop(attempt.key, None)
        is_killed = attempt.key in self._killed
        self._killed.discard(attempt.key)
        return is_killed

    def granted(self, app: Application, host: Host) -> None:
        owed = self._owed.get(host)
        if owed is not None and app in owed:
            owed[app] -= app.wants
            if owed[app] <= 0:
                del owed[app]

    def owed(self, host: Host) -> Iterator[Application]:
        owed = self._owed.get(host)
        if not owed:
            return
        for app in [app for app in owed if not self._is_short(app)]:
            del owed[app]
        for app, containers in list(owed.items()):
            for _ in range(math.ceil(containers / app.wants)):
                yield app

    def _is_short(self, app: Application) -> bool:
        """Whether it is here, and was short at the last look, and still is."""
        shortage = self._shortages.get(app)
        if shortage is None or app not in app.queue.apps or shortage.containers <= 0:
            return False
        return shortage.of_least > 0 or app.used < _share(app) - _TINY

    def wake_at_s(self, now_s: float) -> float | None:
        return min((at_s for at_s, _ in self._marked.values()), default=None)

    def kills(
        self, now_s: float, over: Sequence[tuple[Application, PhaseEntry | None, bool]]
    ) -> Iterator[tuple[AttemptKey, Reason]]:
        due = [(key, leaf) for key, (at_s, leaf) in self._marked.items() if at_s <= now_s + _TINY]
        for key, leaf in due:
            del self._marked[key]
            self._killed.add(key)
            yield key, reason_of(leaf)

    # --- who is starved ---------------------------------------------------------------------------

    def update(self, now_s: float) -> None:
        rules = self._rules
        leaves = [queue for queue in rules.queues.values() if queue.apps]
        present = {app for leaf in leaves for app in leaf.apps}
        for app in self._shortages.keys() - present:
            del self._shortages[app]
        if rules.root.used <= self._busy_share * rules.total:
            return
        starved: list[Application] = []
        for leaf in leaves:
            starved += self._starved(leaf, now_s)
        # The first one is taken at once; the others then wait in a line.
        starved[1:] = sorted(starved[1:], key=lambda app: self._shortages[app].containers)
        for app in starved:
            self._take_back(app, now_s)
            self._shortages[app].look_from_s = now_s + self._pause_s

    def _starved(self, leaf: YarnQueue, now_s: float) -> list[Application]:
        """Applications of a leaf that lack containers for long, each once."""
        assert leaf.queue is not None
        apps = [
            app
            for app in leaf.apps
            if app.demand > app.used and self._shortages[app].look_from_s < now_s
        ]
        if leaf.queue.order is LeafOrder.FAIR:
            apps.sort(key=lambda app: (app.used, app.number))
        said = leaf.queue.starvation
        found: dict[Application, None] = {}
        for app in apps:
            shortage = self._shortages[app]
            shortage.of_least = 0.0
            shortage.of_share = self._lacks_of_share(app, shortage, said, now_s)
            if shortage.of_share <= 0:
                break
            found[app] = None
        lacks = self._lacks_of_least(leaf, said, now_s)
        lacks = max(0.0, lacks - math.fsum(self._shortages[app].of_share for app in found))
        for app in apps:
            shortage = self._shortages[app]
            if lacks <= 0:
                shortage.of_least = 0.0
                continue
            wanted = max(0.0, app.demand - app.used - shortage.of_share)
            # YARN leaves the last one only what is more than the rest of the shortage.
            shortage.of_least = wanted - lacks if wanted > lacks else wanted
            lacks = 0.0 if wanted > lacks else lacks - wanted
            found[app] = None
        return list(found)

    def _lacks_of_share(
        self, app: Application, shortage: Shortage, said: Starvation, now_s: float
    ) -> float:
        wanted = min(said.share * _share(app), app.demand)
        if app.used >= wanted - _TINY:
            shortage.had_share_s = now_s
            return 0.0
        after_s = self._after_s if said.share_after_s is None else said.share_after_s
        return wanted - app.used if now_s - shortage.had_share_s >= after_s else 0.0

    def _lacks_of_least(self, leaf: YarnQueue, said: Starvation, now_s: float) -> float:
        assert leaf.queue is not None
        lacks = min(leaf.queue.least, sum(app.demand for app in leaf.apps)) - leaf.used
        if lacks <= 0:
            self._had_least_s[leaf] = now_s
        since_s = now_s - self._had_least_s.setdefault(leaf, now_s)
        return lacks if lacks > 0 and since_s >= said.least_after_s else 0.0

    # --- what is taken back -----------------------------------------------------------------------

    def _take_back(self, app: Application, now_s: float) -> None:
        """Mark containers for the first requests of an application."""
        fits = math.floor(self._shortages[app].containers / app.wants + _TINY)
        for _ in range(min(fits, app.pending)):
            for host in self._hosts.values():
                found = self._on(host, app.wants) if host.entry.is_up else None
                if found:
                    for key in found:
                        self._marked[key] = now_s + self._warning_s, app.queue
                    self._owed.setdefault(host, Counter())[app] += len(found)
                if found is not None:
                    break

    def _on(self, host: Host, wants: int) -> Collection[AttemptKey] | None:
        """The tasks of a node that make room; none if it has room, None if it cannot have it."""
        reserved = sum(self._owed.get(host, Counter[Application]()).values())
        if host.reserved is not None:
            reserved += host.reserved.wants
        room = max(0, host.free - reserved)
        taken: list[AttemptKey] = []
        of_app: Counter[Application] = Counter()
        # There the order is that of a hash table.
        running = self._running.get(host.entry.node_id, {})
        there = [key for key in running if key not in self._marked]
        self._draws.shuffle(there)
        for key in there:
            app = self._apps[key]
            if self._may_lose(app, of_app[app]):
                of_app[app] += 1
                taken.append(key)
                room += 1
            if room >= wants:
                return taken
        return None

    def _may_lose(self, app: Application, taken: int) -> bool:
        """Whether an application has its share without one task more. taken: others chosen now."""
        if any(one.queue is not None and not one.queue.is_preemptible for one in app.queue.line()):
            return False
        marked = sum(self._apps[key] is app for key in self._marked)
        return app.used - marked - taken - 1 >= _share(app) - _TINY


def _share(app: Application) -> float:
    """The fair share of an application: an equal part of its queue's; with fifo the first has all.

    It does not depend on what the application asks for.
    """
    leaf = app.queue
    assert leaf.queue is not None
    if app not in leaf.apps:  # its master has unregistered, and tasks of it still run
        return 0.0
    if leaf.queue.order is LeafOrder.FIFO:
        return leaf.guarantee if app is leaf.apps[0] else 0.0
    return leaf.guarantee / len(leaf.apps)
