"""How far from its input an application of YARN may get a container, by opportunities missed.

A master asks for each task on the nodes and the racks of its input, and anywhere. An opportunity is
a node's heartbeat at which the application is next and may hold one container more. Without a task
for the node it misses the opportunity, and once it has missed enough it may go to the rack of its
input, later anywhere. Only a container granted anywhere leaves the asked places as they are: these
change when its task begins. What failed before is asked for anywhere. Sources: the code of Hadoop
3.3, RegularContainerAllocator.canAssign and FSAppAttempt.getAllowedLocalityLevel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.indexes.pending import LocatedTasks
from sluice.model.cluster import Locality
from sluice.model.errors import InvalidInput
from sluice.model.ids import NodeId
from sluice.model.settings import SettingsGroup, number, whole
from sluice.policies.yarn.applications import Host, Master
from sluice.policies.yarn.queues import Application, CapacityRules, Placement, SchedulerRules

_NODES_MISSED = 40.0  # YARN's default


@dataclass(frozen=True, kw_only=True)
class LocalitySettings(SettingsGroup):
    """Opportunities that an application misses before it goes further from its input.

    None: as YARN's own files say, or else YARN's default.
    """

    node_locality_delay: int | None = whole(
        None, "nodes missed before the rack, else 40 or the file's; capacity scheduler (yarn)",
        low=-1,
        reason="yarn.scheduler.capacity.node-locality-delay, for a what-if",
    )  # fmt: skip
    rack_locality_delay: int | None = whole(
        None, "nodes then missed before any node, else -1 (by open requests) or the file's (yarn)",
        low=-1,
        reason="yarn.scheduler.capacity.rack-locality-additional-delay, for a what-if",
    )  # fmt: skip
    node_locality_threshold: float | None = number(
        None, "share of nodes missed before the rack, else -1 (no wait) or the file's; fair (yarn)",
        low=-1.0, high=1.0,
        reason="yarn.scheduler.fair.locality.threshold.node, for a what-if",
    )  # fmt: skip
    rack_locality_threshold: float | None = number(
        None, "share of nodes then missed before any node, else -1 or the file's; fair (yarn)",
        low=-1.0, high=1.0,
        reason="yarn.scheduler.fair.locality.threshold.rack, for a what-if",
    )  # fmt: skip


class Wait:
    """Requests of a phase by place, and opportunities missed.

    level: how far the fair scheduler may go; None before its first opportunity.
    """

    __slots__ = ("at", "in_rack", "level", "missed")

    def __init__(self) -> None:
        self.at: Counter[NodeId] = Counter()
        self.in_rack: Counter[str] = Counter()
        self.missed = 0
        self.level: Locality | None = None

    def saved(self) -> tuple[dict[NodeId, int], dict[str, int], int, int | None]:
        """All of it, as JSON values."""
        level = None if self.level is None else int(self.level)
        return dict(self.at), dict(self.in_rack), self.missed, level

    @classmethod
    def of(
        cls, at: Mapping[NodeId, int], in_rack: Mapping[str, int], missed: int, level: int | None
    ) -> Wait:
        """From what `saved` returned."""
        wait = cls()
        wait.at, wait.in_rack, wait.missed = Counter(at), Counter(in_rack), missed
        wait.level = None if level is None else Locality(level)
        return wait

    def add(self, places: tuple[NodeId, ...], hosts: Mapping[NodeId, Host], tasks: int) -> None:
        """Ask for that many tasks more, or fewer, on the nodes and racks of an input."""
        known = [one for one in places if one in hosts]
        for node_id in known:
            self.at[node_id] += tasks
        for rack in sorted({hosts[one].entry.node.rack for one in known}):
            self.in_rack[rack] += tasks

    @property
    def places(self) -> int:
        """Nodes and racks with a request."""
        return sum(tasks > 0 for one in (self.at, self.in_rack) for tasks in one.values())


class LocalityDelays(Placement):
    """Waits of all phases with input on known nodes. hosts: all nodes, changed by the policy.

    near, far: how long an application waits for its nodes, and then for its racks.
    """

    def __init__(
        self,
        near: float,
        far: float,
        hosts: Mapping[NodeId, Host],
        masters: Mapping[Application, Master],
    ) -> None:
        self._near = near
        self._far = far
        self._hosts = hosts
        self._masters = masters
        self.waits: dict[PhaseEntry, Wait] = {}
        self._host: Host | None = None
        self._nodes = 0

    def begin(self, host: Host) -> None:
        """The heartbeat of a node."""
        self._host = host
        self._nodes = sum(one.entry.is_up for one in self._hosts.values())

    def began(self, attempt: Attempt) -> None:
        """A task is at work: it is asked for nowhere any more."""
        wait = self.waits.get(attempt.phase)
        pending = attempt.phase.pending
        # A task is tried once where it was asked for; then it is asked for anywhere.
        if wait is not None and isinstance(pending, LocatedTasks) and attempt.number == 1:
            wait.add(pending.locations[attempt.task], self._hosts, -1)

    def forget(self, jobs: Iterable[JobEntry]) -> None:
        """These jobs have left the state."""
        for phase in [phase for job in jobs for phase in job.phases]:
            self.waits.pop(phase, None)

    def allows(self, app: Application) -> bool:
        self.is_near = False
        phase = self._masters[app].request if app.has_master else None
        pending = None if phase is None else phase.pending
        if phase is None or not isinstance(pending, LocatedTasks) or pending.has_again:
            return True
        wait = self.waits.get(phase)
        if wait is None:
            wait = self.waits[phase] = Wait()
            tried = set(pending.tried())
            for task, places in enumerate(pending.locations):
                if task not in tried:
                    wait.add(places, self._hosts, 1)
        found = self._distance(wait, self._nearest(phase, wait), self._masters[app].asked[phase])
        self.is_near = found in (Locality.NODE, Locality.RACK)
        return found is not None

    def _nearest(self, phase: PhaseEntry, wait: Wait) -> Locality:
        """The nearest place with a request that has no container yet."""
        assert self._host is not None, "begin comes first"
        node = self._host.entry.node
        if wait.at[node.node_id] > self._host.granted[phase]:
            return Locality.NODE
        granted = sum(
            one.granted[phase] for one in self._hosts.values() if one.entry.node.rack == node.rack
        )
        return Locality.RACK if wait.in_rack[node.rack] > granted else Locality.ANY

    def _distance(self, wait: Wait, nearest: Locality, asked: int) -> Locality | None:
        """Where the request is that gets the container; None for an opportunity missed."""
        raise AssertionError("a scheduler has its own rules")


class CapacityDelays(LocalityDelays):
    """The counts in `yarn.scheduler.capacity.node-locality-delay` and
    `rack-locality-additional-delay`.

    No delay is longer than one opportunity for each node. Without an additional delay, an
    application with few requests for its number of places waits for few nodes.
    """

    def _distance(self, wait: Wait, nearest: Locality, asked: int) -> Locality | None:
        wait.missed += 1
        is_on_rack = nearest is Locality.RACK and wait.missed > min(self._nodes, self._near)
        if nearest is Locality.NODE or is_on_rack:
            wait.missed = 0
            return nearest
        places = wait.places
        most = asked * min(1.0, places / self._nodes)
        if self._far >= 0:
            most = self._near + self._far
        return Locality.ANY if not places or wait.missed > min(self._nodes, most) else None


class FairDelays(LocalityDelays):
    """The shares of nodes in `yarn.scheduler.fair.locality.threshold.node` and `.rack`.

    A container nearer than it might be makes the application wait for such a one again. All
    opportunities since the last step further away count, those used as well as those missed.
    """

    def _distance(self, wait: Wait, nearest: Locality, asked: int) -> Locality | None:
        level = self._level(wait)
        if nearest > level and wait.places:
            return None
        if wait.level is not None and nearest < wait.level:
            wait.level = nearest
        return nearest

    def _level(self, wait: Wait) -> Locality:
        if self._near < 0 or self._far < 0:
            return Locality.ANY
        wait.missed += 1
        if wait.level is None:
            wait.level = Locality.NODE
            return wait.level
        share = self._near if wait.level is Locality.NODE else self._far
        if wait.level is not Locality.ANY and wait.missed > self._nodes * share:
            wait.level, wait.missed = Locality(wait.level + 1), 0
        return wait.level


def delays_of(
    settings: LocalitySettings,
    rules: SchedulerRules,
    hosts: Mapping[NodeId, Host],
    masters: Mapping[Application, Master],
) -> LocalityDelays:
    """The delays of a scheduler: the settings, what its files say, or YARN's defaults.

    Raises InvalidInput for settings of the other scheduler.
    """
    of_capacity = ("node_locality_delay", "rack_locality_delay")
    of_fair = ("node_locality_threshold", "rack_locality_threshold")
    is_capacity = isinstance(rules, CapacityRules)
    names, others = (of_capacity, of_fair) if is_capacity else (of_fair, of_capacity)
    for name in others:
        if getattr(settings, name) is not None:
            raise InvalidInput(
                f"{name} has no effect: the queues are those of the"
                f" {'capacity' if is_capacity else 'fair'} scheduler",
                where=f"yarn.{name}",
                hint=f"give {' or '.join(names)} instead",
            )
    said = rules.said
    defaults = (_NODES_MISSED, -1.0) if is_capacity else (-1.0, -1.0)
    near, far = (
        next(one for one in (getattr(settings, name), of_file, default) if one is not None)
        for name, of_file, default in zip(
            names, (said.node_locality, said.rack_locality), defaults, strict=True
        )
    )
    return (CapacityDelays if is_capacity else FairDelays)(near, far, hosts, masters)
