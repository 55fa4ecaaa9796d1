"""The smallest cluster that meets the deadlines with a probability, by simulation of drawn nights.

The same draws are used for every size, so that sizes differ by their slots and not by luck. A size
that clearly fails is given up after FIRST_DRAWS. More nodes are taken to be no worse, so the sizes
are searched by doubling and halving.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.api.sources import read_workload
from sluice.bootstrap.job_forecasts import logged_histories
from sluice.bootstrap.night_history import NightDraw, night_of, stored_runs, usable_history
from sluice.bootstrap.night_machines import Machine, RentTerms, known_word, machines_of
from sluice.bootstrap.night_simulation import SimulatedNight, drawn_jobs, simulated_night
from sluice.bootstrap.policy_classes import ChosenPolicy, Spec, chosen_policy
from sluice.bootstrap.settings import resolved_settings
from sluice.estimate.nights import OneNight
from sluice.ingest.logs.formats import AUTO
from sluice.ingest.settings import Settings
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.machines import PriceList, Rent
from sluice.model.name_types import LogFormatName, OneNightName, RentName, TaskPolicyName
from sluice.model.workload import Workload
from sluice.reporting.size.result import ClusterSize, SizePoint, cheapest, wilson_interval

DRAWS = 100
FIRST_DRAWS = 20
NODES_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What is asked of each size. fixed: jobs whose lengths are those of the file."""

    night: NightDraw
    fixed: tuple[Job, ...]
    deadline_s: float | None
    probability: float
    draws: int
    seed: int
    tasks: ChosenPolicy
    settings: Settings


def size(
    source: str | Path | Workload | None = None,
    *,
    from_log: Sequence[str | Path] = (),
    deadline_s: float | None = None,
    probability: float = 0.95,
    one_night: OneNightName | str = OneNight.NEWEST.value,
    vm_type: str | None = None,
    prices: str | PriceList | None = None,
    rent: RentName | str = Rent.ON_DEMAND.value,
    reserved_vms: int | None = None,
    nodes_max: int = NODES_MAX,
    cut_gaps_days: float | None = None,
    tasks: TaskPolicyName | Spec = "fifo",
    draws: int = DRAWS,
    seed: int = 0,
    store: str | None = None,
    format: LogFormatName | str = AUTO,  # noqa: A002  # the users' word for it
    settings: Sequence[str] = (),
    on_progress: Callable[[str], None] | None = None,
) -> ClusterSize:
    """The smallest cluster on which all deadlines are met with a probability.

    source: a workload, or its file, whose jobs name profiles; the night is then the file's jobs.
    from_log: logs instead; the night is made of their runs, by `one_night`: newest, typical, drawn.
    deadline_s: for the whole night, from its first submission; jobs of a file have their own, too.
    vm_type: type of the nodes in the price list, or "any" for the cheapest; else the VM or node of
    the file, else nodes of 4 slots.  prices, rent: as for `predict`.  nodes_max: largest size.
    reserved_vms: how many of the nodes are reserved, the others are on demand; as the file says.
    cut_gaps_days: leave out runs before the last gap of that many days.
    tasks: the task policy of the cluster.  draws: nights for each size.  seed: of the draws.
    on_progress: called with a sentence before each size is simulated.
    Raises InvalidInput.
    """
    _check(source, from_log, deadline_s, probability, nodes_max, draws, cut_gaps_days)
    mode = OneNight(known_word("--one-night", one_night, [one.value for one in OneNight]))
    workload = None if source is None else read_workload(source)
    if workload is None:
        runs = [
            run for each in logged_histories(from_log, format, settings).values() for run in each
        ]
    else:
        runs = stored_runs(workload, store)
    runs, notes = usable_history(runs, cut_gaps_days)
    night, fixed = night_of(workload, runs, mode)
    if deadline_s is None and not _has_deadline(workload):
        raise InvalidInput(
            "no job has a deadline",
            where="--deadline-s",
            hint="give --deadline-s for the whole night, or deadline_s to jobs of the file",
        )
    terms = RentTerms(vm_type=vm_type, prices=prices, rent=rent, reserved_vms=reserved_vms)
    chosen = chosen_policy("tasks", tasks)
    question = _Question(
        night=night,
        fixed=fixed,
        deadline_s=deadline_s,
        probability=probability,
        draws=draws,
        seed=seed,
        tasks=chosen,
        settings=resolved_settings({} if workload is None else workload.settings, (), (chosen,)),
    )
    sizes = []
    for machine in machines_of(workload, runs, terms):
        points = _searched(question, machine, nodes_max, on_progress or (lambda _: None))
        more = []
        if machine.name is None:
            more = [f"a node has {machine.shape.slots} slots; --vm-type chooses another"]
        sizes.append(
            ClusterSize(
                probability_wanted=probability,
                points=tuple(points[nodes] for nodes in sorted(points)),
                vm_type=machine.name,
                one_night=None if workload is not None else mode.value,
                notes=(*notes, *more),
            )
        )
    return cheapest(sizes)


# --- what is asked --------------------------------------------------------------------------------


def _check(
    source: object,
    from_log: Sequence[str | Path],
    deadline_s: float | None,
    probability: float,
    nodes_max: int,
    draws: int,
    cut_gaps_days: float | None,
) -> None:
    if source is not None and from_log:
        raise InvalidInput(
            "it is given together with FILE", where="--from-log", hint="give one of the two"
        )
    if source is None and not from_log:
        raise InvalidInput(
            "FILE is missing",
            where="sluice size",
            hint="name a workload file, or logs with --from-log",
        )
    for flag, number in (("--deadline-s", deadline_s), ("--cut-gaps-days", cut_gaps_days)):
        if number is not None and not 0 < number < float("inf"):
            raise InvalidInput(f"it is {number}", where=flag, hint="give a number above 0")
    if not 0 < probability < 1:
        raise InvalidInput(
            f"probability is {probability}",
            where="--probability",
            hint="give a share above 0 and below 1, such as 0.95",
        )
    for flag, whole in (("--nodes-max", nodes_max), ("--draws", draws)):
        if whole < 1:
            raise InvalidInput(f"it is {whole}", where=flag, hint="give 1 or more")


def _has_deadline(workload: Workload | None) -> bool:
    return workload is not None and any(job.deadline_at_s is not None for job in workload.jobs)


# --- search ---------------------------------------------------------------------------------------


def _searched(
    question: _Question, machine: Machine, nodes_max: int, on_progress: Callable[[str], None]
) -> dict[int, SizePoint]:
    """The sizes that were tried; the smallest that does is among them, with those next to it."""
    points: dict[int, SizePoint] = {}

    def does(nodes: int) -> bool:
        if nodes not in points:
            kind = "" if machine.name is None else f" ({machine.name})"
            on_progress(f"simulating {question.draws} nights on {nodes} nodes{kind}")
            points[nodes] = _point(question, machine, nodes)
        return points[nodes].probability >= question.probability

    low, high = 0, 1
    while not does(high):
        if high == nodes_max:
            return points
        low, high = high, min(2 * high, nodes_max)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle) else (middle, high)
    if high < nodes_max:
        does(high + 1)  # what one more node is worth
    return points


def _point(question: _Question, machine: Machine, nodes: int) -> SizePoint:
    cluster = machine.shape.cluster(nodes)
    met = 0
    nights: list[SimulatedNight] = []
    for draw in range(question.draws):
        rng = random.Random(f"{question.seed}/{draw}")
        night = question.night(rng)
        drawn = drawn_jobs(night, rng, machine.shape.speed)
        found = simulated_night(
            (*drawn, *question.fixed), cluster, question.tasks, question.settings
        )
        nights.append(found)
        in_time = question.deadline_s is None or found.span_s <= question.deadline_s
        met += in_time and not found.late
        if draw + 1 == FIRST_DRAWS and _is_hopeless(met, FIRST_DRAWS, question.probability):
            break
    low, high = wilson_interval(met, len(nights))
    spans_s = [night.span_s for night in nights]
    costs = [machine.cost_usd(nodes, span_s) for span_s in spans_s]
    known = [cost for cost in costs if cost is not None]
    reserved_vms, on_demand_vms = machine.split(nodes)
    return SizePoint(
        nodes=nodes,
        slots=nodes * machine.shape.slots,
        probability=met / len(nights),
        low=low,
        high=high,
        cost_usd=sum(known) / len(known) if known else None,
        span_s=sum(spans_s) / len(spans_s),
        draws=len(nights),
        reserved_vms=reserved_vms,
        on_demand_vms=on_demand_vms,
    )


def _is_hopeless(met: int, draws: int, probability: float) -> bool:
    return wilson_interval(met, draws, deviations=4.0)[1] < probability
