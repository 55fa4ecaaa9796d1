"""Tables of plans, for 80 columns. Rich is imported when a table is made.

Two tables: the plans, and the jobs of one of them. Which columns the second has depends on what the
plan decides (slots or containers, VM types, waves, buffers), so its columns are made for a plan,
each with the rule when it is shown. A sentence before them gives the answer, and a panel after them
says what the limits do, or which of them is in the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sluice.model.limits import PlanLimits
from sluice.planning.pareto.frontier import Plan
from sluice.planning.pareto.plan_search import ParetoResult, PlanStatus, late_in_each, unreachable
from sluice.planning.pareto.pricing import JobChoice, PlanEntry
from sluice.planning.pareto.problem import TaskTuning
from sluice.planning.pareto.tradeoff import hour_saved_usd
from sluice.reporting.columns import Column, column_table
from sluice.reporting.formatting import (
    NOTHING,
    billing_words,
    count,
    counted,
    duration,
    duration_tight,
    listed,
    money,
    money_enough,
    share,
    shortened,
    signed,
    size,
)
from sluice.reporting.picking import picked_evenly
from sluice.reporting.plan.result import Off, PlanResult
from sluice.reporting.run.outcomes import ResponseForecast
from sluice.reporting.table_style import (
    Panel,
    Table,
    Text,
    framed,
    left_out,
    plain_table,
    plain_text,
)

PLANS_MAX = 20
JOBS_MAX = 50
_MIXED = "slots"  # of maps and of reduces, or containers
_JOB_LETTERS, _TYPE_LETTERS = 16, 12
_LATE_NAMED = 2


def plans_table(result: PlanResult) -> Table:
    """One row for each plan. If there are too many: both ends, the knee and evenly picked ones."""
    shown = _shown(result)
    within = len(result.answer.plans)
    hidden = (within or len(result)) - len(shown)
    slopes = [
        *hour_saved_usd(list(result.answer.plans.points())),
        *hour_saved_usd(list(result.answer.below_budget_min.points())),
    ]
    table = plain_table(
        _caption(result, hidden),
        numbers=("plan", "makespan", "budget", "VMs", "cost per hour saved"),
    )
    table.add_column("", no_wrap=True)
    plans = [result.plan(number) for number in shown]  # each is a walk over all jobs
    misses = [result.misses(plan) for plan in plans]
    if any(misses):
        table.add_column("misses the deadline of")
    for number, plan, late in zip(shown, plans, misses, strict=True):
        slope = slopes[number - 1]
        mark = "knee" if number == result.knee else ""
        table.add_row(
            plain_text(str(number), "bold"),
            duration(plan.makespan_s),
            money(plan.budget_usd),
            count(plan.vms),
            plain_text(NOTHING if slope is None else money(slope), "dim" if slope is None else ""),
            plain_text(mark, "green"),
            *([_named(late)] if any(misses) else []),
        )
    return table


def _named(late: Sequence[str]) -> Text:
    """The first jobs that are late, and how many more there are."""
    return plain_text(_late_names(late), "red")


def _late_names(late: Sequence[str]) -> str:
    return listed(late, _LATE_NAMED, _JOB_LETTERS)


def _caption(result: PlanResult, hidden: int) -> str:
    within, below = len(result.answer.plans), len(result.answer.below_budget_min)
    knee = "knee: beyond it a higher budget saves little time" if result.knee else ""
    cheaper = f"{count(below)} cheaper plans are below budget_usd_min" if within and below else ""
    return "; ".join(part for part in (knee, cheaper, left_out(hidden)) if part)


def _shown(result: PlanResult) -> Sequence[int]:
    """Numbers of plans: within the limits if there are any, else cheaper plans."""
    total = len(result.answer.plans) or len(result)
    shown = {1 + place for place in picked_evenly(total, PLANS_MAX)}
    return sorted(shown | ({result.knee} if result.knee else set()))


def allocation_table(result: PlanResult, number: int) -> Table:
    """One plan: one row for each job, with its allocation and its cost."""
    plan = result.plan(number)
    has_typed = any(entry.choice.map_slots for entry in plan.entries)
    has_containers = any(entry.choice.containers for entry in plan.entries)
    about = f"plan {number}" + (f"; maps and reduces: {_counted(result)}" if has_typed else "")
    if has_typed and has_containers:
        about = f"plan {number}; slots: of maps + reduces, or containers"
    rows = {
        str(job.job_id): _JobRow(place, entry, _may_take(result.forecast(job, entry)))
        for place, (job, entry) in enumerate(zip(result.problem.jobs, plan.entries, strict=True))
        if place < JOBS_MAX
    }
    hidden = left_out(len(plan.entries) - len(rows))
    caption = "; ".join(part for part in (about, hidden) if part)
    return column_table(_columns(result, plan), rows, caption, key="job")


class _JobRow(NamedTuple):
    """A job of a plan. may_take: the interval of its time; "" if not known."""

    place: int
    entry: PlanEntry
    may_take: str


def _columns(result: PlanResult, plan: Plan) -> Sequence[Column[_JobRow]]:
    choices = [entry.choice for entry in plan.entries]
    is_cut = result.problem.options.tasks is not TaskTuning.FIXED
    has_containers = any(choice.containers for choice in choices)
    has_typed = any(choice.map_slots for choice in choices) or not has_containers
    has_types = result.problem.has_types
    has_buffer = not has_types and any(choice.buffer for choice in choices)
    has_io = any(entry.io_usd for entry in plan.entries)

    def maps(choice: JobChoice) -> str:
        return _phase(choice.map_tasks, choice.map_slots, is_cut=is_cut)

    def reduces(choice: JobChoice) -> str:
        return _phase(choice.reduce_tasks, choice.reduce_slots, is_cut=is_cut)

    def containers(choice: JobChoice) -> str:
        if choice.containers:
            return count(choice.containers)
        return f"{maps(choice)} + {reduces(choice)}" if has_typed else NOTHING

    def wave(place: int) -> str:
        found = (str(wave + 1) for wave, jobs in enumerate(plan.waves or ()) if place in jobs)
        return next(found, NOTHING)

    starts_s = plan.starts_s()

    def offer(choice: JobChoice) -> str:
        return f"{shortened(choice.offer.vm_type, _TYPE_LETTERS)}, {choice.offer.rent.value}"

    return (
        Column("entry.vms", "VMs", count),
        Column("entry.choice", "maps", maps, is_shown=lambda _: not has_containers),
        Column("entry.choice", "reduces", reduces, is_shown=lambda _: not has_containers),
        Column(
            "entry.choice", _MIXED if has_typed else "containers", containers,
            is_shown=lambda _: has_containers,
        ),
        Column("entry.choice", "type", offer, is_shown=lambda _: has_types),
        Column("place", "wave", wave, is_shown=lambda _: bool(plan.waves)),
        Column(
            "entry.choice.buffer", "buffer", lambda setting: size(setting.bytes),
            is_shown=lambda _: has_buffer,
        ),
        Column(
            "place", "starts", lambda place: duration_tight(starts_s[place]),
            is_shown=lambda _: bool(plan.precedence),
        ),
        Column("entry.time_s", "time", duration_tight),
        Column("entry.vm_usd", "rent", money),
        Column("entry.io_usd", "I/O", money, is_shown=lambda _: has_io),
        Column(
            "may_take", "may take", lambda text: text or NOTHING,
            is_shown=lambda rows: any(row.may_take for row in rows),
        ),
    )  # fmt: skip


def _may_take(found: ResponseForecast | None) -> str:
    """The interval of its time, and the probability to meet its deadline; "" if not known."""
    if found is None or found.low_s is None or found.high_s is None:
        return ""
    met = found.deadline_probability
    span = f"{duration_tight(found.low_s)}–{duration_tight(found.high_s)}"
    return span + ("" if met is None else f", {share(met)}")


def _counted(result: PlanResult) -> str:
    """Unit of the columns of maps and reduces."""
    is_cut = result.problem.options.tasks is not TaskTuning.FIXED
    return "tasks on slots" if is_cut else "slots"


def _phase(tasks: int, slots: int, *, is_cut: bool) -> str:
    """Slots, and the tasks on them if task counts were tuned."""
    if not slots:
        return NOTHING
    return f"{count(tasks)} on {count(slots)}" if is_cut else count(slots)


def plan_sentence(result: PlanResult) -> str:
    """The answer in one sentence: the plan to look at first, between the fastest and the cheapest.

    Without a plan, what prevents one.
    """
    if not len(result):
        verdict = _verdict(result, result.problem.limits)
        return f"No plan: {verdict}."
    chosen = result.knee or 1
    plan, fastest, cheapest = (result.plan(one) for one in (chosen, 1, len(result)))
    text = (
        f"Plan {chosen} ends in {duration(plan.makespan_s)} for {money(plan.budget_usd)} on"
        f" {counted(plan.vms, 'VM')}"
    )
    others = [
        f"the {name} takes {duration(one.makespan_s)} for {money(one.budget_usd)}"
        for name, one in (("fastest", fastest), ("cheapest", cheapest))
        if one.makespan_s != plan.makespan_s
    ]
    late = result.misses(plan)
    missing = f", and misses the deadline of {_late_names(late)}" if late else ""
    return "; ".join((text + missing, *others)) + "."


def plan_panel(result: PlanResult) -> Panel:
    """A summary of the answer."""
    answer, limits = result.answer, result.problem.limits
    rows = [("answer", _verdict(result, limits))]
    late = _lateness(result)
    if late:
        rows.append(("deadlines", late))
    rows.append(("rent", billing_words(result.problem.prices.billing_s)))
    if answer.fastest_makespan_s is not None:
        rows.append(("possible", _possible(answer, answer.fastest_makespan_s)))
    if result.off:
        rows.append(("last time", _last_time(result.off)))
    return framed("plan", rows)


def _lateness(result: PlanResult) -> str:
    """How many plans miss a deadline of a job, and the option that leaves them out."""
    if not any(job.deadline_s is not None for job in result.problem.jobs):
        return ""
    found = (result.answer.plans, result.answer.below_budget_min)
    late = sum(any(jobs) for one in found for jobs in late_in_each(result.problem, one))
    if not late:
        return ""
    verb = "miss" if late > 1 else "misses"
    return (
        f"{count(late)} of {counted(len(result), 'plan')} {verb} a job's deadline; --meet-deadlines"
        " drops them"
    )


def _last_time(off: Sequence[Off]) -> str:
    """The largest error of the last predictions."""
    worst = max(off, key=lambda one: (abs(one.error), one.job))
    return (
        f"largest prediction error {signed(worst.error)}: {shortened(worst.job, _JOB_LETTERS)} took"
        f" {duration(worst.measured_s)} instead of {duration(worst.predicted_s)}"
    )


def _possible(answer: ParetoResult, fastest_s: float) -> str:
    """The limits that would do, each alone; after too small a budget one that is enough."""
    is_offer = answer.status is PlanStatus.BUDGET_UNREACHABLE
    budget = (money_enough if is_offer else money)(answer.least_budget_usd)
    return f"{duration(fastest_s)} fastest, {budget} cheapest"


def _verdict(result: PlanResult, limits: PlanLimits) -> str:
    """The meaning of the status, with its figures."""
    answer = result.answer
    if answer.missed:
        return "this search found no plan within the limits; --search exact finds some"
    if answer.status is PlanStatus.CONFLICT:
        return _conflict(result, limits)
    if answer.status is PlanStatus.JOB_DEADLINE_UNREACHABLE:
        return _job_too_late(result)
    return {
        PlanStatus.OK: counted(len(answer.plans), "Pareto-optimal plan")
        + ("; there may be more between them" if answer.plans.is_sample else ""),
        PlanStatus.BELOW_BUDGET_MIN: (
            f"every plan costs less than {money(limits.budget_usd_min)}; nothing is wrong"
        ),
        PlanStatus.DEADLINE_UNREACHABLE: (
            f"no plan meets the deadline of {duration(limits.deadline_s)}"
        ),
        PlanStatus.BUDGET_UNREACHABLE: f"no plan costs {money(limits.budget_usd_max)} or less",
        PlanStatus.VM_CAP_UNREACHABLE: (
            f"the jobs that may run at once do not fit into {counted(limits.vms_max or 0, 'VM')}"
            if result.problem.precedence
            else f"the jobs do not fit into {count(limits.vms_max or 0)} VMs at once; see --waves"
        ),
    }[answer.status]


def _job_too_late(result: PlanResult) -> str:
    found = unreachable(result.problem)
    if found is None:
        return "no plan found meets the deadlines of all jobs"
    job_id = shortened(str(found.job.job_id), _JOB_LETTERS)
    at_least = "ends no sooner than after" if found.job.after else "takes at least"
    return (
        f"{job_id} {at_least} {duration(found.least_s)}, and its deadline is"
        f" {duration(found.job.deadline_s)}"
    )


def _conflict(result: PlanResult, limits: PlanLimits) -> str:
    points = list(result.answer.frontier.points())
    in_time = min(usd for time_s, usd in points if time_s <= (limits.deadline_s or 0) * (1 + 1e-12))
    payable = min(
        time_s for time_s, usd in points if usd <= (limits.budget_usd_max or 0) * (1 + 1e-12)
    )
    return (
        f"in {duration(limits.deadline_s)} it costs at least {money(in_time)}; for"
        f" {money(limits.budget_usd_max)} it takes {duration(payable)}"
    )
