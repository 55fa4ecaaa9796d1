"""Tables of schedules on VM pools. Rich is imported when a table is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.model.vm_pools import PoolChange
from sluice.planning.pools.schedule import PoolOutcome
from sluice.planning.pools.server_power import PowerUse
from sluice.reporting.columns import Column, column_table
from sluice.reporting.formatting import count, counted, duration, hundredths, listed, share, tenths
from sluice.reporting.pools.result import LeastServersResult, PoolsResult
from sluice.reporting.run.outcomes import ResponseForecast
from sluice.reporting.table_style import Panel, Table, framed, left_out, name_cell, plain_table

ROWS_MAX = 50


def jobs_table(result: PoolsResult) -> Table:
    """One row for each job: its VMs, its times and its cost. Missed jobs come first."""
    outcomes = sorted(result.schedule.outcomes, key=lambda one: one.met)
    if len(outcomes) <= ROWS_MAX:
        outcomes = list(result.schedule.outcomes)
    jobs = {one.job.job_id: one for one in outcomes}
    return column_table(result.columns(), jobs, key="job", rows_max=ROWS_MAX)


_FORECASTS: Sequence[Column[tuple[PoolOutcome, ResponseForecast]]] = (
    Column("", "predicted", duration, lambda one: one[1].predicted_s),
    Column("", "may end", of=lambda one: one[1].text(one[0].job.submitted_at_s)),
)


def forecasts_table(result: PoolsResult) -> Table | None:
    """Jobs predicted from past runs: the interval in which each may end; None without any."""
    found = [(one, result.forecast(one)) for one in result.schedule.outcomes]
    known = {one.job.job_id: (one, forecast) for one, forecast in found if forecast is not None}
    return column_table(_FORECASTS, known, key="job", rows_max=ROWS_MAX) if known else None


_MISSED: Sequence[Column[PoolOutcome]] = (
    Column("least_deadline_at_s", "least deadline s", tenths),
    Column("", "reason", of=lambda one: one.why or "", is_left=True, wraps=True),
)


def missed_table(result: PoolsResult) -> Table | None:
    """Jobs that never ran: the reason, and the deadline that would have been accepted."""
    lost = {one.job.job_id: one for one in result.schedule.outcomes if one.option is None}
    return column_table(_MISSED, lost, key="job", rows_max=ROWS_MAX) if lost else None


_CHANGES: Sequence[Column[PoolChange]] = (
    Column("at_s", "check at s", tenths, is_left=True),
    Column("benefit_server_s", "saves server-s", hundredths),
    Column("change_server_s", "costs server-s", hundredths),
    Column(
        "", "VMs", is_left=True,
        of=lambda one: ", ".join(f"{name} {vms}" for name, vms in one.sizes.items()),
    ),
    Column(
        "", "decision", is_left=True, wraps=True,
        of=lambda one: f"{'changed' if one.done else 'kept'}: {one.why}",
    ),
)  # fmt: skip


def changes_table(result: PoolsResult) -> Table | None:
    """One row for each check of the pool sizes; None without any."""
    changes = result.schedule.changes
    return column_table(_CHANGES, changes, rows_max=ROWS_MAX) if changes else None


def pools_sentence(result: PoolsResult) -> str:
    """The answer in one sentence: which jobs miss their deadline, and what the others cost."""
    schedule = result.schedule
    missed, jobs = schedule.missed, counted(len(schedule.outcomes), "job")
    cost = f"{hundredths(schedule.total_cost_server_s)} server-seconds"
    if missed:
        return f"{count(len(missed))} of {jobs} missed ({listed(missed)}); cost: {cost}."
    return f"{jobs}, each in time, for {cost}."


def pools_panel(result: PoolsResult) -> Panel:
    """A summary of the schedule."""
    schedule = result.schedule
    names = [one.type_id for one in schedule.problem.types]
    missed = len(schedule.missed)
    jobs = counted(len(schedule.outcomes), "job")
    rows = [
        ("policy", schedule.policy),
        ("jobs", f"{jobs}, {count(missed)} missed" if missed else f"{jobs}, all deadlines met"),
        ("cost", f"{hundredths(schedule.total_cost_server_s)} server-seconds"),
        ("mean response", duration(schedule.mean_response_s)),
        ("servers", f"{count(schedule.servers)}, {share(schedule.effective_utilisation)} used"),
        ("peak VMs", _peaks(dict(zip(names, schedule.peak_vms(), strict=True)))),
    ]
    if schedule.power is not None:
        rows.append(("power", power_text(schedule.power)))
    return framed("pools", rows)


def power_text(power: PowerUse) -> str:
    """The server-seconds that shutting down servers has saved."""
    off, part = hundredths(power.off_server_s), share(power.off_server_s / (power.server_s or 1.0))
    return f"{off} server-seconds off ({part}), {counted(power.starts, 'server start')}"


def _peaks(peaks: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count(vms)}" for name, vms in peaks.items())


def least_servers_panel(result: LeastServersResult) -> Panel:
    """The least number of servers, and why one less is not enough."""
    answer = result.answer
    if answer.servers is None:
        return framed("servers", [("least", "no number of servers meets all deadlines")])
    names = [one.type_id for one in result.problem.types]
    rows = [
        ("least", count(answer.servers)),
        ("VMs", _peaks(dict(zip(names, answer.sizes, strict=True)))),
    ]
    bound = answer.bound
    if bound is not None and bound.servers > 1:
        work = f"{hundredths(bound.work_server_s)} server-seconds of work"
        span = f"between {tenths(bound.from_s)} s and {tenths(bound.until_s)} s"
        rows.append(("at least", f"{count(bound.servers)}, for {work} {span}"))
    if answer.smaller:
        servers, job = answer.smaller[-1]
        rows.append(("fewer", f"with {counted(servers, 'server')} job {job} misses its deadline"))
        tried = f"{counted(len(answer.smaller), 'smaller number')} tried"
        rows.append(("proof", f"{tried}, a deadline missed each time"))
    return framed("servers", rows)


def pair_costs_table(costs: Mapping[str, Mapping[str, float]]) -> Table:
    """One row for each job that is reserved first, a column for each other job."""
    firsts = list(costs)[:ROWS_MAX]
    return plain_table(
        left_out(len(costs) - len(firsts)),
        names=("first",),
        numbers=firsts,
        rows=(
            (name_cell(name), *(hundredths(costs[name].get(other)) for other in firsts))
            for name in firsts
        ),
    )
