"""`pools`: which VMs each job gets from the pools, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from sluice.api.options.fields import keywords, option, switch
from sluice.api.options.planning import PoolsOptions, Tick
from sluice.cli import options as given
from sluice.cli.answers import print_answer, print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.model.errors import InvalidInput
from sluice.reporting.formatting import visible

if TYPE_CHECKING:
    from sluice.reporting.pools.deadlines import DeadlinePricesResult
    from sluice.reporting.pools.result import PoolsResult


class _View(Protocol):
    """Prints one view of a file, and returns the exit code."""

    def __call__(self, file: str, tick_s: float, *, as_json: bool) -> int: ...


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PoolsViews:
    """The views that are printed in place of the schedule."""

    grid: bool = switch("Print only how long each job takes on every cluster of the pools.")
    pair_costs: bool = switch("Print only what two jobs cost together, by which is first.")
    least_servers: bool = switch("Find the least servers that meet all deadlines, with a proof.")
    optimum: bool = switch("Find the least cost with all arrivals known beforehand.")
    prices: str | None = option(
        "Print only what this job costs by its deadline, next to the others.", metavar="JOB"
    )


@app.command()
@flattened
def pools(
    file: given.File,
    *,
    options: PoolsOptions,
    views: PoolsViews,
    tick: Tick,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Choose VM type, number of VMs and start of each job, so that all deadlines are met cheaply.

    Example: sluice pools examples/vm-pools.yaml --reconfigure
    """
    from sluice.api import pools as api
    from sluice.cli.progress import steps

    chosen: dict[str, tuple[bool, _View]] = {
        "--grid": (views.grid, _print_grid),
        "--pair-costs": (views.pair_costs, _print_pair_costs),
        "--least-servers": (views.least_servers, _print_least_servers),
        "--optimum": (views.optimum, _print_optimum),
        "--prices": (views.prices is not None, partial(_print_prices, views.prices or "")),
    }
    wanted = [flag for flag, (is_given, _) in chosen.items() if is_given]
    if wanted:
        flag = wanted[0]
        changed = [f"--{name}" for name, value in keywords(options).items()
                   if value != getattr(PoolsOptions, name)]  # fmt: skip
        _refuse(
            flag,
            {
                **dict.fromkeys(wanted[1:], True),
                "--plot": plot is not None,
                "--reconfigure": options.reconfigure,
                **dict.fromkeys(changed, True),
            },
        )
        return chosen[flag][1](file, tick.tick_s, as_json=as_json)
    files = Files.checked(file, plot=plot)
    with steps("planning"):
        result = api.pools(file, **keywords(options, tick))
    files.draw(result.plot)
    if as_json:
        print_document(result.document())
    else:
        _print_schedule(result)
    return NO if result.missed else DONE


def _refuse(flag: str, others: Mapping[str, bool]) -> None:
    """Refuse options that have no effect with a flag."""
    for other, is_given in others.items():
        if is_given:
            raise InvalidInput(
                f"it has no effect with {flag}", where=other, hint="leave one of them out"
            )


def _print_least_servers(file: str, tick_s: float, *, as_json: bool) -> int:
    from sluice.api import pools as api
    from sluice.cli.progress import steps
    from sluice.reporting.pools.tables import least_servers_panel

    with steps("searching for the least servers") as shown:
        result = api.least_servers(file, tick_s=tick_s, on_progress=shown.on_progress)
    print_answer(result.document, lambda: [least_servers_panel(result)], as_json=as_json)
    return NO if result.servers is None else DONE


def _print_grid(file: str, tick_s: float, *, as_json: bool) -> int:
    from sluice.api import pools as api
    from sluice.cli.progress import steps
    from sluice.reporting.pools.grid import grid_table

    with steps("planning"):
        result = api.pool_grid(file, tick_s=tick_s)
    print_answer(result.document, lambda: [grid_table(result)], as_json=as_json)
    return DONE


def _print_prices(job: str, file: str, tick_s: float, *, as_json: bool) -> int:
    from sluice.api import pools as api
    from sluice.cli.progress import steps

    with steps("planning"):
        result = api.deadline_prices(file, job, tick_s=tick_s)
    return print_deadline_prices(result, as_json=as_json)


def print_deadline_prices(result: DeadlinePricesResult, *, as_json: bool) -> int:
    """Print the prices of a job by its deadline; NO if it can meet none."""
    from sluice.reporting.pools.deadlines import prices_sentence, prices_table

    if as_json:
        print_document(result.document())
    elif result.prices:
        print_views(prices_sentence(result), prices_table(result))
    else:
        print_views(f"job {visible(result.job.job_id)} can meet no deadline next to the others")
    return DONE if result.prices else NO


def _print_optimum(file: str, tick_s: float, *, as_json: bool) -> int:
    from sluice.api import pools as api
    from sluice.cli.progress import steps
    from sluice.reporting.pools.optimum import optimum_panel, optimum_table

    with steps("searching for the optimum"):
        result = api.offline_optimum(file, tick_s=tick_s)
    if as_json:
        print_document(result.document())
    else:
        table = optimum_table(result)
        print_views(*([] if table is None else [table]), optimum_panel(result))
    return DONE if result.is_feasible else NO


def _print_pair_costs(file: str, tick_s: float, *, as_json: bool) -> int:
    from sluice.api import pools as api
    from sluice.cli.progress import steps
    from sluice.reporting.pools.tables import pair_costs_table

    with steps("planning"):
        costs = api.pair_costs(file, tick_s=tick_s)
    print_answer(lambda: {"pair_costs": costs}, lambda: [pair_costs_table(costs)], as_json=as_json)
    return DONE


def _print_schedule(result: PoolsResult) -> None:
    from sluice.reporting.pools import tables
    from sluice.reporting.pools.deadlines import earlier_notes
    from sluice.reporting.table_style import plain_text

    views = [
        plain_text(tables.pools_sentence(result)),
        tables.jobs_table(result),
        tables.forecasts_table(result),
        tables.missed_table(result),
        tables.changes_table(result),
    ]
    print_views(*(view for view in views if view is not None), tables.pools_panel(result))
    for note in earlier_notes(result.schedule, result.earlier):
        talk(f"note: {note}")
