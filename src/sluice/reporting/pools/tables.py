"""Tables of schedules on VM pools. Rich is imported when a table is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sluice.planning.pools.schedule import PoolOutcome
from sluice.planning.pools.server_power import PowerUse
from sluice.reporting.formatting import NOTHING, count, counted, duration, hundredths, share, tenths
from sluice.reporting.pools.result import LeastServersResult, PoolsResult, finite
from sluice.reporting.table_style import framed, left_out, name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

ROWS_MAX = 50


def jobs_table(result: PoolsResult) -> Table:
    """One row for each job: its VMs, its times and its cost. Missed jobs come first."""
    outcomes = sorted(result.schedule.outcomes, key=lambda one: one.met)
    if len(outcomes) <= ROWS_MAX:
        outcomes = list(result.schedule.outcomes)
    shown = outcomes[:ROWS_MAX]
    table = plain_table(
        left_out(len(outcomes) - len(shown)),
        names=("job", "VM type"),
        numbers=("VMs", "start s", "end s", "deadline s", "server-s"),
    )
    table.add_column("deadline", no_wrap=True)
    for one in shown:
        table.add_row(name_cell(one.job.job_id), *_cells(one, result))
    return table


def _cells(one: PoolOutcome, result: PoolsResult) -> list[Text]:
    option = one.option
    state = "met" if one.met else "refused" if one.is_refused else "missed"
    return [
        plain_text(result.type_of(one) or NOTHING),
        plain_text(NOTHING if option is None else count(option.vms)),
        plain_text(tenths(one.started_at_s)),
        plain_text(tenths(one.finished_at_s)),
        plain_text(tenths(finite(one.job.deadline_at_s))),
        plain_text(NOTHING if option is None else hundredths(one.cost_server_s)),
        plain_text(state, "" if one.met else "red"),
    ]


def forecasts_table(result: PoolsResult) -> Table | None:
    """Jobs predicted from past runs: the interval in which each may end; None without any."""
    found = [(one, result.forecast(one)) for one in result.schedule.outcomes]
    known = [(one, forecast) for one, forecast in found if forecast is not None]
    if not known:
        return None
    table = plain_table(left_out(max(0, len(known) - ROWS_MAX)))
    table.add_column("job", no_wrap=True)
    for name in ("predicted", "may end"):
        table.add_column(name, justify="right", no_wrap=True)
    for one, forecast in known[:ROWS_MAX]:
        times = duration(forecast.predicted_s), forecast.text(one.job.submitted_at_s)
        table.add_row(name_cell(one.job.job_id), *map(plain_text, times))
    return table


def missed_table(result: PoolsResult) -> Table | None:
    """Jobs that never ran: the reason, and the deadline that would have been accepted."""
    lost = [one for one in result.schedule.outcomes if one.option is None]
    if not lost:
        return None
    table = plain_table(
        left_out(len(lost) - ROWS_MAX if len(lost) > ROWS_MAX else 0),
        names=("job",),
        numbers=("least deadline s",),
    )
    table.add_column("reason")
    for one in lost[:ROWS_MAX]:
        table.add_row(name_cell(one.job.job_id), tenths(one.least_deadline_at_s), one.why or "")
    return table


def changes_table(result: PoolsResult) -> Table | None:
    """One row for each check of the pool sizes; None without any."""
    changes = result.schedule.changes
    if not changes:
        return None
    table = plain_table(
        left_out(max(0, len(changes) - ROWS_MAX)),
        names=("check at s",),
        numbers=("saves server-s", "costs server-s"),
    )
    table.add_column("VMs", no_wrap=True)
    table.add_column("decision")
    for one in changes[:ROWS_MAX]:
        sizes = ", ".join(f"{name} {vms}" for name, vms in one.sizes.items())
        table.add_row(
            tenths(one.at_s),
            hundredths(one.benefit_server_s),
            hundredths(one.change_server_s),
            sizes,
            f"{'changed' if one.done else 'kept'}: {one.why}",
        )
    return table


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
    table = plain_table(left_out(len(costs) - len(firsts)), names=("first",), numbers=firsts)
    for name in firsts:
        cells = [plain_text(hundredths(costs[name].get(other))) for other in firsts]
        table.add_row(name_cell(name), *cells)
    return table
