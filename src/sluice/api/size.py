"""The smallest cluster that meets the deadlines with a probability, by simulation of drawn nights.

The same draws are used for every size, so that sizes differ by their slots and not by luck. A size
that clearly fails is given up after FIRST_DRAWS. More nodes are taken to be no worse, so the sizes
are searched by doubling and halving.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.api.sources import read_workload
from sluice.bootstrap.job_forecasts import logged_histories
from sluice.bootstrap.night_history import NightDraw, night_of, stored_runs, usable_history
from sluice.bootstrap.night_simulation import (
    NodeShape,
    SimulatedNight,
    drawn_jobs,
    simulated_night,
)
from sluice.bootstrap.policy_classes import ChosenPolicy, Spec, chosen_policy
from sluice.bootstrap.settings import resolved_settings
from sluice.estimate.nights import OneNight
from sluice.ingest.logs.formats import AUTO
from sluice.ingest.price_lists import EXAMPLE, load_price_list
from sluice.ingest.settings import Settings
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun
from sluice.model.job import Job, SlotKind
from sluice.model.machines import PriceList, Rent, VmOffer
from sluice.model.name_types import LogFormatName, OneNightName, RentName, TaskPolicyName
from sluice.model.prices import Prices
from sluice.model.workload import Workload
from sluice.reporting.size.result import ClusterSize, SizePoint, wilson_interval

DRAWS = 100
FIRST_DRAWS = 20
NODES_MAX = 1000
SLOTS_PER_NODE = 4  # where neither a VM type nor the file says
_SHARED_SLOTS = frozenset({"spark"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machine:
    """A node to rent: its slots, and its price if it is known."""

    shape: NodeShape
    prices: Prices | None
    name: str | None = None

    def cost_usd(self, nodes: int, seconds: float) -> float | None:
        return None if self.prices is None else nodes * self.prices.rent_usd(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What is asked of each size. fixed: jobs whose lengths are those of the file."""

    night: NightDraw
    fixed: tuple[Job, ...]
    machine: _Machine
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
    vm_type: type of the nodes in the price list; else the VM or node of the file, else nodes of
    SLOTS_PER_NODE slots.  prices, rent: as for `predict`.  nodes_max: largest size to try.
    cut_gaps_days: leave out runs before the last gap of that many days.
    tasks: the task policy of the cluster.  draws: nights for each size.  seed: of the draws.
    on_progress: called with a sentence before each size is simulated.
    Raises InvalidInput.
    """
    _check(source, from_log, deadline_s, probability, nodes_max, draws, cut_gaps_days)
    mode = OneNight(_known("--one-night", one_night, [one.value for one in OneNight]))
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
    machine = _machine(workload, vm_type, prices, _known("--rent", rent, _rents()), runs)
    chosen = chosen_policy("tasks", tasks)
    question = _Question(
        night=night,
        fixed=fixed,
        machine=machine,
        deadline_s=deadline_s,
        probability=probability,
        draws=draws,
        seed=seed,
        tasks=chosen,
        settings=resolved_settings({} if workload is None else workload.settings, (), (chosen,)),
    )
    points = _searched(question, nodes_max, on_progress or (lambda _: None))
    if machine.name is None:
        notes.append(f"a node has {machine.shape.slots} slots; --vm-type chooses another")
    return ClusterSize(
        probability_wanted=probability,
        points=tuple(points[nodes] for nodes in sorted(points)),
        vm_type=machine.name,
        one_night=None if workload is not None else mode.value,
        notes=tuple(notes),
    )


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


def _known(flag: str, word: str, known: Sequence[str]) -> str:
    if word not in known:
        raise InvalidInput(f"{word!r} is not known", where=flag, hint=suggestion(word, known))
    return word


def _rents() -> list[str]:
    return [one.value for one in Rent]


def _has_deadline(workload: Workload | None) -> bool:
    return workload is not None and any(job.deadline_at_s is not None for job in workload.jobs)


# --- machines -------------------------------------------------------------------------------------


def _machine(
    workload: Workload | None,
    vm_type: str | None,
    prices: str | PriceList | None,
    rent: str,
    runs: Sequence[PastRun],
) -> _Machine:
    has_containers = _has_containers(workload, runs)
    if vm_type is not None:
        listed = load_price_list(prices or EXAMPLE) if not isinstance(prices, PriceList) else prices
        return _offered(vm_type, listed, Rent(rent), has_containers=has_containers)
    own = None if workload is None else workload.prices
    if workload is not None and workload.vm is not None:
        slots = workload.vm.map_slots, workload.vm.reduce_slots
        return _Machine(shape=_shape(*slots, 1.0, has_containers), prices=own, name="vm")
    cluster = None if workload is None else workload.cluster
    if cluster is not None and not cluster.is_totals:
        node = cluster.nodes[0]
        if node.containers:
            shape = NodeShape(containers=node.containers)
        else:
            shape = _shape(node.map_slots, node.reduce_slots, 1.0, has_containers)
        return _Machine(shape=shape, prices=own, name="node of the file")
    slots_per_node = (SLOTS_PER_NODE, SLOTS_PER_NODE)
    return _Machine(shape=_shape(*slots_per_node, 1.0, has_containers), prices=own)


def _has_containers(workload: Workload | None, runs: Sequence[PastRun]) -> bool:
    """Whether tasks take any slot: those of Spark do, and stages of a file."""
    fixed = () if workload is None else workload.jobs
    return any(run.source in _SHARED_SLOTS for run in runs) or any(
        phase.kind is SlotKind.CONTAINER for job in fixed for phase in job.phases
    )


def _shape(map_slots: int, reduce_slots: int, speed: float, has_containers: bool) -> NodeShape:  # noqa: FBT001  # a fact about the jobs, not a switch
    if has_containers:
        return NodeShape(containers=max(map_slots, reduce_slots), speed=speed)
    return NodeShape(map_slots=map_slots, reduce_slots=reduce_slots, speed=speed)


def _offered(vm_type: str, listed: PriceList, rent: Rent, *, has_containers: bool) -> _Machine:
    offers = {str(offer.vm_type): offer for offer in listed.on_terms((rent,))}
    offer: VmOffer = offers[_known("--vm-type", vm_type, list(offers))]
    prices = Prices(vm_hour_usd=offer.hour_usd)
    if listed.billing_s is not None:
        prices = replace(prices, billing_s=listed.billing_s)
    shape = _shape(offer.shape.map_slots, offer.shape.reduce_slots, offer.speed, has_containers)
    return _Machine(shape=shape, prices=prices, name=vm_type)


# --- search ---------------------------------------------------------------------------------------


def _searched(
    question: _Question, nodes_max: int, on_progress: Callable[[str], None]
) -> dict[int, SizePoint]:
    """The sizes that were tried; the smallest that does is among them, with those next to it."""
    points: dict[int, SizePoint] = {}

    def does(nodes: int) -> bool:
        if nodes not in points:
            on_progress(f"simulating {question.draws} nights on {nodes} nodes")
            points[nodes] = _point(question, nodes)
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


def _point(question: _Question, nodes: int) -> SizePoint:
    cluster = question.machine.shape.cluster(nodes)
    met = 0
    nights: list[SimulatedNight] = []
    for draw in range(question.draws):
        rng = random.Random(f"{question.seed}/{draw}")
        night = question.night(rng)
        drawn = drawn_jobs(night, rng, question.machine.shape.speed)
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
    costs = [question.machine.cost_usd(nodes, span_s) for span_s in spans_s]
    known = [cost for cost in costs if cost is not None]
    return SizePoint(
        nodes=nodes,
        slots=nodes * question.machine.shape.slots,
        probability=met / len(nights),
        low=low,
        high=high,
        cost_usd=sum(known) / len(known) if known else None,
        span_s=sum(spans_s) / len(spans_s),
        draws=len(nights),
    )


def _is_hopeless(met: int, draws: int, probability: float) -> bool:
    return wilson_interval(met, draws, deviations=4.0)[1] < probability
