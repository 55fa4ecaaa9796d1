"""In which order jobs, or the stages of jobs, get the slots of a cluster.

There are three models, of which the workload and the options choose one. Jobs of maps and reduces
are searched over their orders; jobs in containers are scheduled stage by stage; with slots for each
stage, jobs pass a chain of stages. Each model leaves out something of a workload, which `_notes`
says, and each answer is a `FoundOrder`.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.planning import OrderOptions
from sluice.api.sources import documented
from sluice.bootstrap.forecasts.job_forecasts import ProfileForecasts
from sluice.bootstrap.planners.cp_sat_process import cp_least_apart, cp_proof_apart
from sluice.bootstrap.planners.kernel_loader import BackgroundLoader
from sluice.bootstrap.preparation.facts import ON_MESSAGE, WORKLOAD
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.bootstrap.simulations.simulation import log_replays
from sluice.estimate.job_forecasts import JobForecast
from sluice.ingest.suggestions import known_choice
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.planning.flow_shops.problem import flow_problem
from sluice.planning.flow_shops.solver import FlowMethod, solve_flow_shop
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.problem import OrderingProblem, problem_of
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import SearchContext
from sluice.planning.ordering.solver import OrderingMethod, solve
from sluice.planning.pools import cp_sat
from sluice.planning.stages.problem import stage_problem
from sluice.planning.stages.solver import StageMethod, solve_stages
from sluice.reporting.order.flow_shops import FlowShopResult
from sluice.reporting.order.result import OrderResult
from sluice.reporting.order.stages import StageOrderResult

SECONDS = 10.0
OnProgress = Callable[[str], None]
_Named = TypeVar("_Named", bound=Enum)


@dataclass(frozen=True)
class OrderCall(OrderOptions):
    """Arguments of `order`."""

    source: Source
    _: KW_ONLY
    on_message: OnProgress = lambda _: None
    on_progress: OnProgress | None = None


@called_with(OrderCall)
def order(given: OrderCall) -> OrderResult | StageOrderResult | FlowShopResult:
    """An order of the workload's jobs for a cluster that runs them first in, first out.

    Where jobs run in containers, as those of `phases` do, an order of their stages instead. With
    stage_slots an order of jobs that pass a chain of stages.

    method: input, reverse, mk-jr, mk-tct-jr, tct, sweep, exact, search, or auto, which picks; for
        stages critical-path, search, exact or auto; with stage_slots input, neh, search, exact or
        auto.
    objective: makespan, tct or both; for stages makespan.
    seconds: limit of exact, search and auto; by default 10, or none if evaluations are limited.
    evaluations: orders to look at; with the same seed they lead to the same answer.
    map_slots, reduce_slots: instead of those of the workload's cluster.
    stage_slots: slots of each stage by its name, or one number for all.
    on_message: called with a note if measurements of past runs could not be read.
    on_progress: called with the name of each step as it starts.
    All jobs count as submitted at 0. Raises InvalidInput naming job and field.

    >>> import sluice
    >>> workload = sluice.parse_workload(
    ...     "{version: 1, cluster: {map_slots: 1, reduce_slots: 1}, jobs: ["
    ...     "{id: a, maps: {tasks: 1, avg_s: 5}, reduces: {tasks: 1, avg_s: 2}},"
    ...     "{id: b, maps: {tasks: 1, avg_s: 1}, reduces: {tasks: 1, avg_s: 6}}]}"
    ... )
    >>> found = order(workload)
    >>> found.order, found.makespan_s, found.is_proved
    (('b', 'a'), 9.0, True)
    """
    aim = known_choice("--objective", given.objective, Objective)
    seconds = given.seconds
    if seconds is None and given.evaluations is None:
        seconds = SECONDS
    _check_limits(seconds, given.evaluations)
    raw, workload = _read(given.source, given.on_message)
    if not workload.jobs:
        raise InvalidInput("jobs is empty", where=workload.source, hint="add a job")
    budget = SearchBudget(time.perf_counter, seconds=seconds, evaluations=given.evaluations)
    if given.stage_slots is not None:
        return _flow_order(raw, workload, given, aim, budget)
    if _runs_in_containers(workload, given.map_slots or given.reduce_slots):
        return _stage_order(raw, workload, given, aim, budget)
    if given.method == StageMethod.CRITICAL_PATH.value:
        raise InvalidInput(
            "'critical-path' is for jobs of stages",
            where="--method",
            hint="take mk-jr for maps and reduces, or auto",
        )
    how = known_choice("--method", given.method, OrderingMethod)
    is_given = None not in (given.map_slots, given.reduce_slots)
    if workload.cluster is None and not is_given:
        raise InvalidInput(
            "cluster is missing",
            where=workload.source,
            hint="add `cluster: {map_slots: ..., reduce_slots: ...}`, or give --map-slots and"
            " --reduce-slots",
        )
    problem = problem_of(workload, map_slots=given.map_slots, reduce_slots=given.reduce_slots)
    with BackgroundLoader(seconds) as loader:
        context = SearchContext(problem, budget, loader=loader, on_progress=given.on_progress)
        answer = solve(context, how, aim, random.Random(given.seed))
    known = ProfileForecasts(workload)
    found = OrderResult(
        **_found(raw, workload, given.seed, budget, is_given=is_given),
        problem=problem,
        loads=context.loads,
        answer=answer,
        forecasts=_forecasts(workload, problem, known),
    )
    return replace(found, notes=(*found.notes, *known.change_notes()))


def _found(
    raw: Mapping[str, Any] | None,
    workload: Workload,
    seed: int,
    budget: SearchBudget,
    *,
    is_given: bool,
) -> dict[str, Any]:
    """The fields that all results have. is_given: whether options say the slots."""
    return {
        "workload": workload,
        "seed": seed,
        "search_s": budget.elapsed_s,
        "evaluations": budget.evaluations,
        "raw": raw,
        "notes": tuple(_notes(workload, is_given=is_given)),
        "replays": log_replays(workload),
    }


# --- stages ---------------------------------------------------------------------------------------


def _runs_in_containers(workload: Workload, given_slots: int | None) -> bool:
    """Whether its tasks share containers, of which ordering by maps and reduces knows nothing."""
    if any(phase.kind is SlotKind.CONTAINER for job in workload.jobs for phase in job.phases):
        return True
    cluster = workload.cluster
    if cluster is None or given_slots:
        return False
    return cluster.slots(SlotKind.CONTAINER) > 0 and not cluster.slots(SlotKind.MAP)


def _method(
    given: OrderCall, aim: Objective, kind: type[_Named], others: str, slots: tuple[str, str]
) -> _Named:
    """The method for jobs of stages. Raises InvalidInput.

    others: what methods of other jobs are not for.  slots: what is wrong with slots of maps and
    reduces, and what to do.
    """
    names = [one.value for one in kind]
    known = (one.value for each in (OrderingMethod, StageMethod, FlowMethod) for one in each)
    if given.method not in names and given.method in known:
        raise InvalidInput(
            f"{given.method!r} {others}", where="--method", hint=f"take one of {', '.join(names)}"
        )
    how = known_choice("--method", given.method, kind)
    if aim is not Objective.MAKESPAN:
        raise InvalidInput(
            f"{aim.value!r} is not for jobs of stages", where="--objective", hint="take makespan"
        )
    if given.map_slots or given.reduce_slots:
        raise InvalidInput(slots[0], where="--map-slots, --reduce-slots", hint=slots[1])
    return how


def _stage_order(
    raw: Mapping[str, Any] | None,
    workload: Workload,
    given: OrderCall,
    aim: Objective,
    budget: SearchBudget,
) -> StageOrderResult:
    wrong = "the jobs have stages, which run in containers"
    hint = "leave them out, and give `cluster: {containers: ...}`"
    others = "orders maps and reduces, and the jobs have stages"
    method = _method(given, aim, StageMethod, others, (wrong, hint))
    slots = workload.required_cluster().slots(SlotKind.CONTAINER)
    if slots < 1:
        raise InvalidInput(
            "the jobs have stages, and the cluster has no containers",
            where=workload.source,
            hint="give `cluster: {containers: ...}`",
        )
    problem = stage_problem(_without_drivers(workload), slots, workload.source)
    prover = cp_proof_apart if cp_sat.is_available() else None
    return StageOrderResult(
        problem=problem,
        answer=solve_stages(problem, method, budget, random.Random(given.seed), prover),
        **_found(raw, workload, given.seed, budget, is_given=False),
    )


def _without_drivers(workload: Workload) -> list[Job]:
    """The jobs; those of logs without the time of their drivers."""
    return [
        replace(job, driver_s=0.0) if job.job_id in workload.recorded else job
        for job in workload.jobs
    ]


# --- chains of stages -----------------------------------------------------------------------------


def _flow_order(
    raw: Mapping[str, Any] | None,
    workload: Workload,
    given: OrderCall,
    aim: Objective,
    budget: SearchBudget,
) -> FlowShopResult:
    wrong = ("--stage-slots says the slots of all stages", "leave them out")
    method = _method(given, aim, FlowMethod, "is not for --stage-slots", wrong)
    slots = given.stage_slots
    assert slots is not None
    counts: Iterable[object] = [slots] if isinstance(slots, int) else slots.values()
    for count in counts:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise wrong_value("slots", count, "--stage-slots", "give whole numbers of at least 1")
    problem = flow_problem(_without_drivers(workload), slots, workload.source)
    bounder = cp_least_apart if cp_sat.is_available() else None
    draw = random.Random(given.seed)
    return FlowShopResult(
        problem=problem,
        answer=solve_flow_shop(problem.shop, method, budget, draw, bounder),
        **_found(raw, workload, given.seed, budget, is_given=True),
    )


# --- maps and reduces -----------------------------------------------------------------------------


def _forecasts(
    workload: Workload, problem: OrderingProblem, known: ProfileForecasts
) -> dict[str, JobForecast]:
    forecast = known.on_slots
    slots = problem.map_slots, problem.reduce_slots
    found = {str(job.job_id): forecast(str(job.job_id), *slots, 1.0) for job in workload.jobs}
    return {job: one for job, one in found.items() if one is not None}


def _check_limits(seconds: float | None, evaluations: int | None) -> None:
    if seconds is not None and not 0 < seconds < math.inf:
        raise wrong_value("seconds", seconds, "--seconds", "give a finite number above 0")
    if evaluations is not None and (isinstance(evaluations, bool) or evaluations < 1):
        raise wrong_value(
            "evaluations", evaluations, "--evaluations", "give a whole number of at least 1"
        )


def _read(source: Source, on_message: OnProgress) -> tuple[Mapping[str, Any] | None, Workload]:
    """The plain value, where there is one, and the workload with all lengths that are known."""
    document, workload = documented(source)
    raw = None if document is None else document.value
    assert raw is None or isinstance(raw, dict), "a workload was read from it"
    return raw, prepared(Goal.ORDER, {WORKLOAD: workload, ON_MESSAGE: on_message})[WORKLOAD]


def _notes(workload: Workload, *, is_given: bool) -> list[str]:
    """Return what of the workload the model leaves out."""
    notes = []
    cluster = workload.cluster
    if cluster is not None and len(cluster.nodes) > 1 and not cluster.is_totals and not is_given:
        notes.append(
            f"the slots of {len(cluster.nodes)} nodes are taken together: where a task runs"
            " does not count here"
        )
    if any(job.submitted_at_s > 0 for job in workload.jobs):
        notes.append("submitted_at_s is left out: all jobs count as submitted at 0")
    if any(phase.fetch is not None for job in workload.jobs for phase in job.phases):
        notes.append("shuffle lengthens every reduce, as in simulate")
    return notes
