"""The smallest cluster that meets the deadlines with a probability, by simulation of drawn nights.

The same draws are used for every size, so that sizes differ by their slots and not by luck. A size
that clearly fails is given up after FIRST_DRAWS. More nodes are taken to be no worse, so the sizes
are searched by doubling and halving, from the smallest one whose slots have time for the work.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.planning import SizeOptions
from sluice.api.sources import read_workload
from sluice.bootstrap.forecasts.job_forecasts import logged_histories
from sluice.bootstrap.nights.causes import cause_of
from sluice.bootstrap.nights.history import NightDraw, night_of, stored_runs, usable_history
from sluice.bootstrap.nights.machines import Machine, RentTerms, machines_of
from sluice.bootstrap.nights.simulation import DrawnJobs, SimulatedNight, simulated_night, work_s
from sluice.bootstrap.policy_classes import ChosenPolicy, chosen_policy
from sluice.bootstrap.presets import completed_by
from sluice.bootstrap.settings import resolved_settings
from sluice.estimate.nights import OneNight
from sluice.estimate.proportions import wilson_interval
from sluice.ingest.settings import Settings
from sluice.ingest.suggestions import known_choice
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.formatting import counted
from sluice.reporting.size.result import ClusterSize, SizePoint, cheapest
from sluice.simulation.settings import SimulationSettings

FIRST_DRAWS = 20
_TASKS_KEPT_MAX = (
    5_000_000  # of drawn nights, in memory; other nights are drawn again for each size
)
_ROUNDING = 1e-9
_ALIKE = "all nights are the same: lengths come from the file; settings such as jitter vary them"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The question that is asked of each size. fixed: jobs whose lengths are those of the file.

    has_plain_settings: whether the simulation leaves the lengths of tasks as they are.
    is_known_world: whether the same jobs take the same time in each simulation.
    """

    night: NightDraw
    fixed: tuple[Job, ...]
    deadline_s: float | None
    probability: float
    draws: int
    seed: int
    tasks: ChosenPolicy
    settings: Settings
    has_plain_settings: bool
    is_known_world: bool


@dataclass(frozen=True)
class SizeCall(SizeOptions):
    """Arguments of `size`."""

    source: Source | None = None
    _: KW_ONLY
    store: str | None = None
    on_progress: Callable[[str], None] | None = None
    on_fraction: Callable[[float], None] | None = None


@called_with(SizeCall)
def size(given: SizeCall) -> ClusterSize:
    """The smallest cluster on which all deadlines are met with a probability.

    source: a workload, or its file, whose jobs name profiles; the night is then the file's jobs.
    from_log: logs instead; the night is made of their runs, by `one_night`: newest, typical, drawn.
    deadline_s: for the whole night, from its first submission; jobs of a file have their own, too.
    vm_type: type of the nodes in the price list, or "any" for the cheapest; else the VM or node of
    the file, else nodes of 4 slots.  prices, rent: as for `predict`.  nodes_max: largest size.
    reserved_vms: how many of the nodes are reserved, the others are on demand; as the file says.
    cut_gaps_days: ignore runs before the last gap of that many days.
    tasks: the task policy of the cluster; by default that of the file, else fifo.
    draws: nights for each size.  seed: of the draws.
    on_progress: called with a sentence before each size is simulated.
    on_fraction: called with the share of the search that is done, 0 to 1, an estimate.
    Raises InvalidInput.
    """
    _check(given)
    mode = known_choice("--one-night", given.one_night, OneNight)
    workload = None if given.source is None else read_workload(given.source)
    if workload is None:
        runs = [
            run
            for each in logged_histories(given.from_log, given.format, given.settings).values()
            for run in each
        ]
    else:
        workload, runs = stored_runs(workload, given.store)
    runs, notes = usable_history(runs, given.cut_gaps_days)
    night, fixed = night_of(workload, runs, mode)
    terms = RentTerms(
        vm_type=given.vm_type, prices=given.prices, rent=given.rent, reserved_vms=given.reserved_vms
    )
    tasks = given.tasks
    said: tuple[str, ...] = ()
    if workload is not None:
        tasks, _, _, said = completed_by(workload, tasks, None, None)
    chosen = chosen_policy("tasks", tasks or "fifo")
    settings = resolved_settings({} if workload is None else workload.settings, said, (chosen,))
    question = _Question(
        night=night,
        fixed=fixed,
        deadline_s=_deadline_s(given.deadline_s, workload),
        probability=given.probability,
        draws=given.draws,
        seed=given.seed,
        tasks=chosen,
        has_plain_settings=workload is None or not workload.settings,
        settings=settings,
        is_known_world=not settings.of(SimulationSettings, chosen.name).is_random,
    )
    sizes = []
    machines = machines_of(workload, runs, terms)
    for place, machine in enumerate(machines):
        progress = _Progress(
            given.on_progress, given.on_fraction, place / len(machines), 1 / len(machines)
        )
        search = _Search(question, machine, progress)
        points = search.points(given.nodes_max)
        more = [_ALIKE] if question.is_known_world and _are_all_given(workload) else []
        if machine.name is None:
            more += [f"assuming {machine.shape.slots} slots per node; set --vm-type to change"]
        sizes.append(
            ClusterSize(
                probability_wanted=given.probability,
                points=tuple(points[nodes] for nodes in sorted(points)),
                vm_type=machine.name,
                one_night=None if workload is not None else mode.value,
                cause=search.cause,
                notes=(*notes, *more),
            )
        )
    return cheapest(sizes)


# --- what is asked --------------------------------------------------------------------------------


def _check(given: SizeCall) -> None:
    if given.source is not None and given.from_log:
        raise InvalidInput(
            "it is given together with FILE", where="--from-log", hint="give one of the two"
        )
    if given.source is None and not given.from_log:
        raise InvalidInput(
            "FILE is missing",
            where="sluice size",
            hint="name a workload file, or logs with --from-log",
        )
    for flag, number in (
        ("--deadline-s", given.deadline_s),
        ("--cut-gaps-days", given.cut_gaps_days),
    ):
        if number is not None and not 0 < number < float("inf"):
            raise InvalidInput(f"it is {number}", where=flag, hint="give a number above 0")
    if not 0 < given.probability < 1:
        raise InvalidInput(
            f"probability is {given.probability}",
            where="--probability",
            hint="give a share above 0 and below 1, such as 0.95",
        )
    for flag, whole in (("--nodes-max", given.nodes_max), ("--draws", given.draws)):
        if whole < 1:
            raise InvalidInput(f"it is {whole}", where=flag, hint="give 1 or more")


def _deadline_s(given_s: float | None, workload: Workload | None) -> float | None:
    """The deadline of the whole night; None if only jobs have one. Raises InvalidInput if none."""
    if given_s is None and workload is not None and workload.limits is not None:
        given_s = workload.limits.deadline_s
    if given_s is None and not _has_deadline(workload):
        raise InvalidInput(
            "no job has a deadline",
            where="--deadline-s",
            hint="give --deadline-s for the whole night, or limits.deadline_s or a deadline_s to"
            " jobs in the file",
        )
    return given_s


def _are_all_given(workload: Workload | None) -> bool:
    """Whether the file has the lengths of all jobs, so that no night is drawn."""
    return workload is not None and all(job.profile is None for job in workload.jobs)


def _has_deadline(workload: Workload | None) -> bool:
    return workload is not None and any(job.deadline_at_s is not None for job in workload.jobs)


# --- search ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Progress:
    """Reports the share that is done: `begun` and up to `whole` of it for this type of node."""

    on_progress: Callable[[str], None] | None
    on_fraction: Callable[[float], None] | None
    begun: float
    whole: float
    nights: int = 0

    def size(self, draws: int, nodes: int, kind: str | None) -> None:
        """A size is begun."""
        if self.on_progress is not None:
            of_type = "" if kind is None else f" ({kind})"
            self.on_progress(f"{draws} nights on {counted(nodes, 'node')}{of_type}")

    def night(self, left: int) -> None:
        """A night is over. left: nights that are likely to follow."""
        self.nights += 1
        if self.on_fraction is not None:
            self.on_fraction(self.begun + self.whole * self.nights / (self.nights + left))


class _Search:
    """Simulates sizes of clusters of one type of node, each size once."""

    def __init__(self, question: _Question, machine: Machine, progress: _Progress) -> None:
        self._question = question
        self._machine = machine
        self._progress = progress
        self._drawn = DrawnJobs(machine.shape.speed)
        self._kept: dict[int, tuple[Job, ...]] = {}
        self._kept_tasks = 0
        self._points: dict[int, SizePoint] = {}
        self._nights: list[SimulatedNight] = []  # on the size that was simulated last
        self.cause: str | None = None  # why no size does

    def points(self, nodes_max: int) -> dict[int, SizePoint]:
        """The sizes that were tried; the smallest that does is among them, and those next to it."""
        first = min(nodes_max, max(self._nodes_min(), self._nodes_of_gangs()))
        below = first - 1  # known not to do, as `low` below
        low, high = below, first
        while not self._does(high, sizes_left=4):
            if high == nodes_max:
                drawn = [self._jobs(draw) for draw in range(len(self._nights))]
                nights = zip(drawn, self._nights, strict=True)
                self.cause = cause_of(nights, self._question.deadline_s)
                return self._points
            low, high = high, min(below + 2 * (high - below), nodes_max)
        while high - low > 1:
            middle = (low + high) // 2
            is_enough = self._does(middle, sizes_left=(high - low).bit_length())
            low, high = (low, middle) if is_enough else (middle, high)
        if high < nodes_max:
            self._does(high + 1, sizes_left=0)  # what one more node is worth
        return self._points

    def _nodes_min(self) -> int:
        """The smallest size whose slots have time for all tasks in a draw, before the deadline."""
        question, shape = self._question, self._machine.shape
        if question.deadline_s is None or not question.has_plain_settings:
            return 1
        kinds = (
            [(shape.containers, tuple(SlotKind))]
            if shape.containers
            else [(shape.map_slots, (SlotKind.MAP,)), (shape.reduce_slots, (SlotKind.REDUCE,))]
        )
        # Of each draw the kind of slot that needs most, and of these the draw that needs least.
        needs = [
            max(
                (
                    work_s(self._jobs(draw), *named) / (slots * question.deadline_s)
                    for slots, named in kinds
                    if slots
                ),
                default=0.0,
            )
            for draw in range(question.draws)
        ]
        return max(1, math.ceil(min(needs) - _ROUNDING))

    def _nodes_of_gangs(self) -> int:
        """The smallest size on which the jobs that start as a whole find room."""
        slots = max(1, self._machine.shape.slots)
        fixed = self._question.fixed
        together = (job.together(phase) for job in fixed for phase in job.phases)
        return math.ceil(max(together, default=0) / slots)

    def _jobs(self, draw: int) -> tuple[Job, ...]:
        """The jobs of a draw; they are the same for every size."""
        jobs = self._kept.get(draw)
        if jobs is None:
            question = self._question
            rng = random.Random(f"{question.seed}/{draw}")
            jobs = (*self._drawn.of(question.night(rng), rng), *question.fixed)
            self._kept_tasks += sum(phase.tasks for job in jobs for phase in job.phases)
            if self._kept_tasks <= _TASKS_KEPT_MAX:
                self._kept[draw] = jobs
        return jobs

    def _does(self, nodes: int, sizes_left: int) -> bool:
        if nodes not in self._points:
            self._progress.size(self._question.draws, nodes, self._machine.name)
            self._points[nodes] = self._point(nodes, sizes_left)
        return self._points[nodes].probability >= self._question.probability

    def _point(self, nodes: int, sizes_left: int) -> SizePoint:
        question, machine = self._question, self._machine
        cluster = machine.shape.cluster(nodes)
        met = 0
        nights: list[SimulatedNight] = []
        self._nights, before = nights, None
        for draw in range(question.draws):
            jobs = self._jobs(draw)
            # Jobs with lengths in the file are the same each night: then one simulation answers.
            is_known = question.is_known_world and jobs == before
            nights.append(nights[-1] if is_known else self._night(draw, jobs, cluster))
            found, before = nights[-1], jobs
            in_time = question.deadline_s is None or found.span_s <= question.deadline_s
            met += in_time and not found.late
            self._progress.night(question.draws * (sizes_left + 1) - draw - 1)
            if draw + 1 == FIRST_DRAWS and _is_hopeless(met, FIRST_DRAWS, question.probability):
                break
        return _size_point(machine, nodes, met, [night.span_s for night in nights])

    def _night(self, draw: int, jobs: tuple[Job, ...], cluster: Cluster) -> SimulatedNight:
        question = self._question
        # Of each draw and not of each size, so that sizes differ by their slots and not by luck.
        seed = random.Random(f"{question.seed}/{draw}/world").getrandbits(32)
        return simulated_night(jobs, cluster, question.tasks, question.settings, seed)


def _size_point(machine: Machine, nodes: int, met: int, spans_s: Sequence[float]) -> SizePoint:
    low, high = wilson_interval(met, len(spans_s))
    costs = [machine.cost_usd(nodes, span_s) for span_s in spans_s]
    known = [cost for cost in costs if cost is not None]
    reserved_vms, on_demand_vms = machine.split(nodes)
    return SizePoint(
        nodes=nodes,
        slots=nodes * machine.shape.slots,
        probability=met / len(spans_s),
        low=low,
        high=high,
        cost_usd=sum(known) / len(known) if known else None,
        span_s=sum(spans_s) / len(spans_s),
        draws=len(spans_s),
        reserved_vms=reserved_vms,
        on_demand_vms=on_demand_vms,
    )


def _is_hopeless(met: int, draws: int, probability: float) -> bool:
    return wilson_interval(met, draws, deviations=4.0)[1] < probability
