"""Plans for a budget and a deadline: which slots, machines and settings each job should get.

A workload becomes a `ParetoProblem` in three steps: lengths of tasks from the file or from stored
profiles, prices from the file or from a list, and what may be tuned, as the words of `--tune` say.
The search then finds all plans that no other beats. The limits of the file are held against them
afterwards, so that the answer can say which limit is in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.planning import PlanModel, PlanSearched
from sluice.api.options.scheduling import Seeded
from sluice.api.sources import documented
from sluice.api.tables import needs_of
from sluice.bootstrap.forecasts.job_forecasts import ProfileForecasts
from sluice.bootstrap.forecasts.plan_inputs import last_prediction_error
from sluice.bootstrap.preparation.facts import ON_MESSAGE, PROFILES, WORKLOAD
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.bootstrap.simulations.simulation import log_replays
from sluice.estimate.bounds import SingleWave
from sluice.ingest.document import Document
from sluice.ingest.price_lists import load_price_list
from sluice.ingest.suggestions import known_choice, known_word
from sluice.model.errors import InvalidInput
from sluice.model.limits import PlanLimits
from sluice.model.machines import PriceList, Rent, VmOffer
from sluice.model.prices import Prices
from sluice.model.workload import Workload
from sluice.planning.pareto.plan_search import PlanSearch, solve_plans
from sluice.planning.pareto.problem import (
    BufferTuning,
    IoModel,
    ParetoProblem,
    PlannedJob,
    PlanOptions,
    TaskTuning,
)
from sluice.reporting.plan.result import Off, PlanResult

_TASKS = {"tasks": TaskTuning.SCAN, "tasks-hill": TaskTuning.HILL}
_BUFFERS = {
    "buffers": BufferTuning.CLOSED_FORM,
    "buffers-random": BufferTuning.RANDOM,
    "buffers-rrs": BufferTuning.RECURSIVE_RANDOM,
}
TUNINGS = (*_TASKS, *_BUFFERS)


@dataclass(frozen=True)
class PlanCall(Seeded, PlanModel, PlanSearched):
    """Arguments of `plan`."""

    source: Source
    _: KW_ONLY
    on_message: Callable[[str], None] = lambda _: None


@called_with(PlanCall)
def plan(given: PlanCall) -> PlanResult:
    """The plans that no other beats in makespan and budget, held against the file's limits.

    search: exact, or the paper's greedy slots, slots-printed, vms.
    tune: any of tasks or tasks-hill, and buffers, buffers-random or buffers-rrs.
    waves: under `limits.vms_max` let jobs wait for each other.
    prices: a price list, its file or table, or "example"; each job then picks a type of VM on one
    of these rents: reserved, on-demand, spot.
    single_wave: "exact" takes a phase that fits its slots for as long as its longest task.
    meet_deadlines: leave out plans in which a job misses its own deadline.
    io_model: "merge" charges the merging of spills.  seed: of random searches for buffers.
    on_message: called with a note if measurements of past runs could not be read.
    Raises InvalidInput naming job and field.

    >>> import sluice
    >>> workload = sluice.parse_workload(
    ...     '''{version: 1, cluster: {map_slots_per_vm: 2, reduce_slots_per_vm: 2},
    ...     prices: {vm_hour_usd: 1.0, billing_s: 3600},
    ...     jobs: [{id: A, maps: {tasks: 5, avg_s: 600, max_s: 900},
    ...     reduces: {tasks: 4, avg_s: 1200, max_s: 1500}}]}'''
    ... )
    >>> found = plan(workload)
    >>> [(plan["makespan_s"], plan["budget_usd"]) for plan in found.document()["plans"]]
    [(3000.0, 3.0), (3300.0, 2.0)]
    >>> sluice.simulate(found.chosen(2), tasks="fair").makespan_s
    2400.0
    """
    tasks, buffers = _tuning(given.tune)
    options = PlanOptions(
        tasks=tasks,
        buffers=buffers,
        single_wave=known_choice("--single-wave", given.single_wave, SingleWave),
        io_model=known_choice("--io-model", given.io_model, IoModel),
        seed=given.seed,
        meet_deadlines=given.meet_deadlines,
    )
    how = known_choice("--search", given.search, PlanSearch)
    document, workload, forecasts = _read(given.source, given.on_message)
    listed = _price_list(given.prices, workload)
    problem = problem_of(workload, options, prices=listed, rents=_rents(given.rents))
    if given.waves and problem.limits.vms_max is None:
        raise InvalidInput(
            "jobs need not wait, for limits.vms_max is not given",
            where="--waves",
            hint="give limits: {vms_max: ...} in the file",
        )
    return PlanResult(
        problem=problem,
        answer=solve_plans(problem, how, in_waves=given.waves),
        search=how,
        workload=workload,
        raw=None if document is None else _members(document),
        off=tuple(
            Off(one.job_id, one.predicted_s, one.measured_s, one.error)
            for one in last_prediction_error(workload, given.on_message)
        ),
        forecast_on_slots=forecasts.on_slots,
        replays=log_replays(workload),
    )


def problem_of(
    workload: Workload,
    options: PlanOptions,
    *,
    prices: PriceList | None = None,
    rents: Sequence[Rent] = (Rent.ON_DEMAND,),
) -> ParetoProblem:
    """The planning problem of a workload. Raises InvalidInput naming what is missing."""
    if not workload.jobs:
        raise InvalidInput(
            "jobs is missing or empty", where=workload.source, hint="give at least one job"
        )
    offers, charged = _offered(workload, prices, rents)
    in_containers = not any(offer.shape.has_typed_slots for offer in offers)
    jobs = []
    for job in workload.jobs:
        try:
            jobs.append(PlannedJob.of(job, in_containers=in_containers))
        except InvalidInput as error:
            if workload.is_from_logs:
                error = InvalidInput(
                    error.what, where=error.where, hint="take --from-log-set shape=map-reduce"
                )
            raise error.within(workload.source) from None
    try:
        return ParetoProblem(
            jobs=tuple(jobs),
            offers=offers,
            prices=charged,
            limits=workload.limits or PlanLimits(),
            options=options,
            has_types=prices is not None,
        )
    except InvalidInput as error:
        raise error.within(workload.source) from None


def _offered(
    workload: Workload, listed: PriceList | None, rents: Sequence[Rent]
) -> tuple[tuple[VmOffer, ...], Prices]:
    """The VMs to choose from, and what else is charged."""
    if listed is not None:
        offers = listed.on_terms(tuple(rents))
        if not offers:
            known = dict.fromkeys(offer.rent.value for offer in listed.offers)
            raise InvalidInput(
                f"the price list has no VM on {' or '.join(rent.value for rent in rents)} terms",
                where="--rent",
                hint=f"it has {', '.join(known)}",
            )
        return offers, _listed_prices(workload.prices, listed)
    missing = _missing(workload)
    if missing:
        raise InvalidInput(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
            where=workload.source,
            hint="give them by --from-log-set, or give --prices"
            if workload.is_from_logs
            else "say what a VM holds and costs, or give --prices",
        )
    assert workload.vm is not None, "it is not missing"
    assert workload.prices is not None, "they are not missing"
    offer = VmOffer(
        vm_type="vm", rent=Rent.ON_DEMAND, shape=workload.vm, hour_usd=workload.prices.vm_hour_usd
    )
    return (offer,), workload.prices


def _missing(workload: Workload) -> list[str]:
    missing = []
    if workload.vm is None and any(job.has_stages for job in workload.jobs):
        missing.append("cluster.containers_per_vm")
    elif workload.vm is None:
        missing.append("cluster.map_slots_per_vm or cluster.reduce_slots_per_vm")
    if workload.prices is None:
        missing.append("prices.vm_hour_usd")
    return missing


def _listed_prices(given: Prices | None, listed: PriceList) -> Prices:
    """The prices of the list, and those of the file that the list lacks."""
    listed_values = {
        name: value
        for name in ("billing_s", "io_op_usd", "io_bytes_per_op")
        if (value := getattr(listed, name)) is not None
    }
    return replace(given or Prices(vm_hour_usd=0.0), **listed_values)


def _read(
    source: Source, on_message: Callable[[str], None]
) -> tuple[Document | None, Workload, ProfileForecasts]:
    """The document, where there is one, and the workload with all lengths that are known."""
    document, given = documented(source)
    facts = prepared(Goal.PLAN, {WORKLOAD: given, ON_MESSAGE: on_message})
    return document, facts[WORKLOAD], facts[PROFILES]


def _members(document: Document) -> dict[str, object]:
    assert isinstance(document.value, dict), "a workload was read from it"
    return document.value


def _price_list(prices: object, workload: Workload) -> PriceList | None:
    if prices is None or isinstance(prices, PriceList):
        return prices
    return load_price_list(prices, needs_of(workload))


def _rents(names: Sequence[str]) -> tuple[Rent, ...]:
    chosen = tuple(dict.fromkeys(known_choice("--rent", name, Rent) for name in names))
    if not chosen:
        known = ", ".join(one.value for one in Rent)
        raise InvalidInput("no terms are named", where="--rent", hint=f"give {known}")
    return chosen


def _tuning(words: Collection[str]) -> tuple[TaskTuning, BufferTuning]:
    """The options that the words of --tune select."""
    for word in words:
        known_word("--tune", word, TUNINGS)
    for kind in (_TASKS, _BUFFERS):
        both = [word for word in kind if word in words]
        if len(both) > 1:
            raise InvalidInput(
                f"{both[1]} cannot be combined with {both[0]}",
                where="--tune",
                hint="give one of the two",
            )
    tasks = next((_TASKS[word] for word in _TASKS if word in words), TaskTuning.FIXED)
    buffers = next((_BUFFERS[word] for word in _BUFFERS if word in words), BufferTuning.DEFAULT)
    return tasks, buffers
