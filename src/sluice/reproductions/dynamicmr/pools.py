"""Figure 4.9: three pools with a job each, and their slots over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Final

from sluice.core.entries import Attempt
from sluice.core.offers import Offer
from sluice.core.protocols import TaskPolicy
from sluice.core.state import ClusterState
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.settings import of_mapping
from sluice.model.slot_kind import SlotKind
from sluice.policies.decorator import Decorator
from sluice.policies.dynamicmr.policy import DynamicMR
from sluice.reproductions.charts import slots_chart
from sluice.reproductions.dynamicmr.workload import (
    DEFAULT_SLOTS,
    GENERATOR,
    SETTINGS,
    makespan_s,
    simulated,
    worker_cluster,
)
from sluice.reproductions.runner import Cell, Experiment, OnProgress

STEP_S: Final = 10.0
SLOTS: Final = 108
_TASKS = ((150, 150), (330, 150), (600, 100))  # maps, reduces
_MAP_S, _REDUCE_S = 12.0, 15.0
_MODES = {"PI": "pi", "PD": "pd"}
_PAPER = {
    ("PI", "first"): "36 + 36 + 36 maps",
    ("PI", "then"): "18 reduces, 45 + 45 maps",
    ("PD", "first"): "36 + 36 + 36 maps",
    ("PD", "then"): "36 reduces, 36 + 36 maps",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """The tasks that run at an instant. maps, reduces: by pool.  lent: reduces in map slots."""

    maps: tuple[int, ...]
    reduces: tuple[int, ...]
    lent: int

    @property
    def busy(self) -> int:
        """Slots in use."""
        return sum(self.maps) + sum(self.reduces)


class Watched(Decorator):
    """A policy that records, step by step, what the scheduler has running.

    An attempt counts until its node reports its end: its slot is not free before.
    idle: the most slots that were left idle after an offer, with a startable task for each.
    """

    def __init__(self, inner: TaskPolicy, step_s: float = STEP_S) -> None:
        super().__init__(inner)
        self._step_s = step_s
        self._running: Counter[tuple[PoolId, SlotKind]] = Counter()
        self._lent = 0
        self.steps: list[Instant] = []
        self.idle = 0

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._state = state
        state.observe_attempts(self)

    def fill(self, offer: Offer) -> None:
        self.inner.fill(offer)
        free = offer.free(SlotKind.MAP) + offer.free(SlotKind.REDUCE)
        if free:
            self.idle = max(self.idle, min(free, offer.state.startable))

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._count(attempt, attempt.tasks)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        self._count(attempt, -attempt.tasks)

    def _count(self, attempt: Attempt, tasks: int) -> None:
        while (len(self.steps) + 1) * self._step_s <= self._state.now_s:
            self.steps.append(self._instant())
        phase = attempt.phase
        self._running[phase.job.job.pool, phase.kind] += tasks
        if phase.kind is SlotKind.REDUCE and attempt.slot_kind is SlotKind.MAP:
            self._lent += tasks

    def _instant(self) -> Instant:
        pools = [job.job.pool for job in self._state.jobs.values()]
        maps = tuple(self._running[pool, SlotKind.MAP] for pool in pools)
        reduces = tuple(self._running[pool, SlotKind.REDUCE] for pool in pools)
        return Instant(maps=maps, reduces=reduces, lent=self._lent)


def watched(mode: str, seed: int) -> tuple[Watched, float]:
    """The policy of a mode ("pi" or "pd") after the three jobs, and their makespan in seconds."""
    settings: dict[str, Any] = {**SETTINGS, "mode": mode, "contention": "none"}
    policy = Watched(DynamicMR.build(of_mapping(DynamicMR.Settings, settings)))
    state = simulated(worker_cluster(*DEFAULT_SLOTS), _jobs(), policy, settings, seed)
    return policy, makespan_s(state)


def _jobs() -> tuple[Job, ...]:
    return tuple(
        Job(
            job_id=JobId(f"job-{number}"),
            pool=PoolId(f"pool-{number}"),
            phases=(
                _phase(SlotKind.MAP, maps, _MAP_S),
                _phase(SlotKind.REDUCE, reduces, _REDUCE_S),
            ),
        )
        for number, (maps, reduces) in enumerate(_TASKS, start=1)
    )


def _phase(kind: SlotKind, tasks: int, task_s: float) -> Phase:
    after = (0,) if kind is SlotKind.REDUCE else ()
    lengths = ConstantLengths(task_s, task_s)
    return Phase(name=kind.value, kind=kind, tasks=tasks, lengths=lengths, after=after)


def is_first(now: Instant) -> bool:
    """The first plateau: maps of all three pools, and no reduces yet."""
    return all(now.maps) and not any(now.reduces)


def is_second(now: Instant) -> bool:
    """The second plateau: pool 1 runs reduces, the others still run maps."""
    reduces_only = bool(now.reduces[0]) and not now.maps[0]
    return reduces_only and all(now.maps[1:]) and not any(now.reduces[1:])


def plateau(steps: Sequence[Instant], of: Callable[[Instant], bool]) -> tuple[float, ...]:
    """Median slots of each pool over the instants at which the condition holds."""
    found = [now for now in steps if of(now)]
    return tuple(
        median(now.maps[pool] + now.reduces[pool] for now in found) for pool in range(len(_TASKS))
    )


def three_pools(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 4.9: slots by pool, three pools with one job each."""
    rows: list[dict[str, Cell]] = []
    views: dict[str, list[Mapping[str, int]]] = {}
    for name, mode in _MODES.items():
        on_progress(f"fig-4.9: {name}")
        runs = [watched(mode, seed) for seed in range(seeds)]
        rows += _rows(name, [policy for policy, _ in runs])
        took_s = fmean(one_s for _, one_s in runs)
        views[f"{name}-DHSA, {took_s:.0f} s in all"] = list(_drawn(runs[0][0].steps))
    return Experiment(
        name="fig-4.9",
        title="Slots by pool: three pools with one job each (Fig. 4.9)",
        setup=(
            f"{GENERATOR} 10/2 slots; 150/150, 330/150 and 600/100 maps/reduces of 12/15 s, reduces"
            f" after the last map; sampled every 10 s, {seeds} seeds. Slots are medians over a"
            " plateau, then means over seeds; lent: map slots to reduces; idle: the most slots"
            " left idle after an offer of a worker, with a startable task for each."
        ),
        rows=tuple(rows),
        why=(
            "The thesis does not describe its jobs; ours are chosen to have the same plateaus, and"
            " they do. PI first fills reduce slots with reduces, and lends map slots only when the"
            " last pool needs fewer than 90. PD gives each pool a third of all slots for any kind"
            " of task."
        ),
        chart=slots_chart(
            "Slots by pool and kind of task",
            "The first seed. Pale: maps; full: reduces.",
            STEP_S,
            views,
        ),
    )  # fmt: skip


def _rows(name: str, runs: Sequence[Watched]) -> Iterator[dict[str, Cell]]:
    timelines = [one.steps for one in runs]
    idle = max(one.idle for one in runs)
    for when, of in (("first", is_first), ("then", is_second)):
        slots = [plateau(steps, of) for steps in timelines]
        pools = [fmean(one[pool] for one in slots) for pool in range(len(_TASKS))]
        lent = max(now.lent for steps in timelines for now in steps if of(now))
        yield {
            "mode": name,
            "plateau": when,
            "paper": _PAPER[name, when],
            **{f"pool {pool}": round(mean, 1) for pool, mean in enumerate(pools, start=1)},
            "lent at most": lent,
            "idle": idle,
        }
    lent = max(now.lent for steps in timelines for now in steps)
    paper = "reduces in map slots at last" if name == "PI" else None
    yield {"mode": name, "plateau": "later", "paper": paper, "lent at most": lent, "idle": idle}


def _drawn(steps: Sequence[Instant]) -> Iterator[Mapping[str, int]]:
    for now in steps:
        named: dict[str, int] = {}
        for pool, (maps, reduces) in enumerate(zip(now.maps, now.reduces, strict=True), start=1):
            named |= {f"pool {pool} maps": maps, f"pool {pool} reduces": reduces}
        yield named
