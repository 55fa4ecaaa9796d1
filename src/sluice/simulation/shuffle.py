"""The shuffle: tasks that fetch the output of earlier phases before their own work.

There are two models:

* With `map_output`, a task fetches its share in bytes at up to `fetch_bytes_per_s`; all fetching
  tasks of a node together at up to `nic_bytes_per_s`. It fetches from finished tasks only. When it
  has fetched their part of its share, it pauses until more tasks finish. In terms of `sharing`,
  fetching is a task with rate 1 at `fetch_bytes_per_s`, limit 1, and that use of the network.
* Without `map_output`, it fetches for the profile's fetch length by the clock.

In both models its own work begins when it has fetched everything and all earlier tasks are done.
Until then its demand is that of fetching, with a part for each placed task of the earlier phases up
to `parallel_copies`. While it pauses it uses memory only.

When a node is lost with outputs, a task keeps what it has fetched. The lost bytes are subtracted
from what the task had not fetched yet, as far as possible; the rest counts as already fetched. The
task continues only for bytes of finished tasks beyond those that it has.

Sources: RAS spec, sections 4 and 10; dynamicmr spec, section 10.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sluice.core.commands import Launch
from sluice.core.entries import PhaseEntry
from sluice.model.ids import NodeId
from sluice.model.job import Job
from sluice.simulation.efforts import Efforts
from sluice.simulation.execution import WorkGate
from sluice.simulation.settings import SimulationSettings
from sluice.simulation.shared_node import SharedNode, Stint
from sluice.simulation.sharing import Load


class Run:
    """An attempt on a shared node, and what it does there at present."""

    __slots__ = ("fetch_s", "hangs", "launch", "node", "phase", "shuffled_at_s", "stint", "works")

    def __init__(self, launch: Launch, phase: PhaseEntry, node: SharedNode) -> None:
        self.launch = launch
        self.phase = phase
        self.node = node
        self.stint: Stint | None = None  # None before its first and after its last
        self.shuffled_at_s: float | None = None
        self.fetch_s = 0.0  # how long it fetches at full speed
        self.works = False  # its own work has begun
        self.hangs = False  # it has stopped for ever

    def left_s(self, now_s: float) -> float:
        """Seconds left of what it does at present."""
        return 0.0 if self.stint is None else self.node.left_s(self.stint, now_s)

    def stop(self, now_s: float) -> float:
        """Leave off what it does. Returns the seconds left of that."""
        stint, self.stint = self.stint, None
        return 0.0 if stint is None else self.node.leave(stint, now_s)


class Fetch:
    """How far one task has fetched, in seconds at full speed."""

    __slots__ = ("run", "length_s", "got_s", "goal_s", "is_simulated")

    def __init__(self, run: Run, length_s: float, *, is_simulated: bool) -> None:
        self.run = run
        self.length_s = length_s
        self.got_s = 0.0
        self.goal_s = 0.0  # how far it can get before it looks for more
        self.is_simulated = is_simulated

    @property
    def is_resting(self) -> bool:
        """It has what it can have for now."""
        return self.got_s >= self.goal_s

    def interrupt(self, now_s: float) -> None:
        """Stop, and keep what has come by now."""
        left_s = self.run.stop(now_s)
        if not self.is_resting:
            self.got_s = self.goal_s - left_s

    def fetched_s(self, now_s: float) -> float:
        """How far it has come by now."""
        return self.got_s if self.is_resting else self.goal_s - self.run.left_s(now_s)

    def aim(self, share_done: float) -> float:
        """Look for more; what it can fetch now, in seconds at full speed."""
        within_reach_s = self.length_s * share_done if self.is_simulated else self.length_s
        self.goal_s = max(self.got_s, within_reach_s)
        return self.goal_s - self.got_s


class Shuffle:
    """All tasks that fetch, by phase. `then` is called for each that may begin its own work."""

    def __init__(
        self,
        efforts: Efforts,
        settings: SimulationSettings,
        then: Callable[[Run, float], None],
        gate: WorkGate | None = None,
    ) -> None:
        self._gate = gate
        self._held: dict[Run, Fetch] = {}  # they have fetched, and the gate is closed
        self._efforts = efforts
        self._settings = settings
        self._then = then
        self._fetches: dict[PhaseEntry, dict[Run, Fetch]] = {}
        self._placed: Counter[PhaseEntry] = Counter()  # tasks that run, of phases that others read

    def begin(self, run: Run, now_s: float) -> None:
        """A task of a phase that comes after others has started."""
        job = run.phase.job.job
        key = run.launch.key
        is_simulated = _is_simulated(job, key.phase)
        length_s = self._efforts.of(run.phase).fetch_s
        if is_simulated:
            assert job.map_output is not None, "what makes it simulated"
            share_bytes = job.map_output.bytes / run.phase.tasks
            length_s = share_bytes / self._settings.fetch_bytes_per_s
        run.fetch_s = length_s
        fetch = Fetch(run, length_s, is_simulated=is_simulated)
        self._fetches.setdefault(run.phase, {})[run] = fetch
        self._go_on(fetch, now_s)

    def forget(self, run: Run) -> None:
        """A task fetches no more, or never did."""
        self._held.pop(run, None)
        fetches = self._fetches.get(run.phase)
        if fetches is not None and fetches.pop(run, None) is not None and not fetches:
            del self._fetches[run.phase]

    def fetched_s(self, run: Run, now_s: float) -> float:
        """How far a task that fetches first has come with it, in seconds at full speed."""
        fetch = self._fetches.get(run.phase, {}).get(run)
        return run.fetch_s if fetch is None else fetch.fetched_s(now_s)

    def task_done(self, earlier: PhaseEntry, now_s: float) -> None:
        """There may be more to fetch: attempts that wait for it continue."""
        for later in earlier.needed_by:
            for fetch in list(self._fetches.get(later, {}).values()):
                if fetch.is_resting:
                    self._go_on(fetch, now_s)

    def outputs_lost(self, now_s: float) -> None:
        """There may be less to fetch: each fetching attempt computes again how far it can get."""
        for fetches in list(self._fetches.values()):
            for fetch in list(fetches.values()):
                if fetch.is_simulated and not fetch.is_resting:
                    fetch.interrupt(now_s)
                    self._go_on(fetch, now_s)

    def placed(self, phase: PhaseEntry, more: int, now_s: float) -> None:
        """So many more tasks of a phase run (fewer, below 0): fetching from it takes more."""
        readers = [later for later in phase.needed_by if _grows(later)]
        if not readers:
            return
        before = {later: self._copies(later) for later in readers}
        self._placed[phase] += more
        if not self._placed[phase]:
            del self._placed[phase]
        for later in readers:
            if self._copies(later) != before[later]:
                for fetch in list(self._fetches.get(later, {}).values()):
                    fetch.interrupt(now_s)
                    self._go_on(fetch, now_s)

    def _go_on(self, fetch: Fetch, now_s: float) -> None:
        """Work if all is there, fetch if something is, else rest."""
        run = fetch.run
        sources = _sources(run.phase)
        more_s = fetch.aim(_share_done(sources))
        if more_s > 0:
            self._fetch(fetch, more_s, now_s)
        elif (
            fetch.got_s >= fetch.length_s
            and all(source.is_done for source in sources)
            and self._may_work(fetch, now_s)
        ):
            run.stop(now_s)
            self.forget(run)
            run.shuffled_at_s = now_s
            self._then(run, now_s)
        elif run.stint is None:
            load = self._load(run).at_rest()
            run.stint = run.node.stay(load, run.launch.tasks, math.inf, now_s)

    def _may_work(self, fetch: Fetch, now_s: float) -> bool:
        """Whether the scheduler lets the task begin its own work; if not, it is asked again."""
        run = fetch.run
        if self._gate is None or self._gate(run.launch.key, now_s):
            return True
        self._held[run] = fetch
        return False

    def resume(self, node_id: NodeId | None, now_s: float) -> None:
        """Ask again for the tasks on a node (None: on all) that may not begin their own work."""
        for run, fetch in list(self._held.items()):
            if node_id is None or run.launch.node_id == node_id:
                del self._held[run]
                self._go_on(fetch, now_s)

    def _fetch(self, fetch: Fetch, more_s: float, now_s: float) -> None:
        run = fetch.run
        run.stop(now_s)
        then = partial(self._fetched, fetch)
        load, tasks = self._load(run), run.launch.tasks
        if fetch.is_simulated:
            network = self._settings.fetch_bytes_per_s / self._settings.nic_bytes_per_s
            load = load._replace(network=network, rate_max=min(1.0, load.rate_max))
            run.stint = run.node.work(load, tasks, more_s, then, now_s)
        else:
            run.stint = run.node.stay(load, tasks, more_s, now_s, then)

    def _fetched(self, fetch: Fetch, now_s: float) -> None:
        fetch.got_s = fetch.goal_s
        fetch.run.stint = None
        self._go_on(fetch, now_s)

    def _load(self, run: Run) -> Load:
        """Return what a task takes of its node while it fetches."""
        demand = run.phase.phase.demand
        fetch = demand.fetch
        if self._settings.shuffle_memory == "reduce":
            fetch = replace(fetch, memory=max(fetch.memory, demand.work.memory))
        if not _grows(run.phase):
            return run.node.load(fetch)
        return run.node.load(fetch + demand.fetch_per_map.scaled(self._copies(run.phase)))

    def _copies(self, later: PhaseEntry) -> int:
        """How many tasks of the earlier phases count in the demand of fetching from them."""
        placed = sum(self._placed[source] for source in _sources(later))
        return min(placed, self._settings.parallel_copies)


def _share_done(sources: list[PhaseEntry]) -> float:
    """Return what share of the earlier tasks is done.

    All, where a job begins with tasks that fetch.
    """
    if not sources:
        return 1.0
    return sum(source.done for source in sources) / sum(source.tasks for source in sources)


def _sources(phase: PhaseEntry) -> list[PhaseEntry]:
    return [phase.job.phases[index] for index in phase.phase.after]


def _grows(later: PhaseEntry) -> bool:
    """Whether fetching takes more of a node the more of the earlier tasks are placed."""
    return not later.phase.demand.fetch_per_map.is_zero


def _is_simulated(job: Job, phase: int) -> bool:
    """Whether the bytes that this phase fetches are known: it reads first phases (the maps)."""
    after = job.phases[phase].after
    first = all(not job.phases[index].after for index in after)
    return bool(after) and first and job.map_output is not None
