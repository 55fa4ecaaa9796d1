"""`pools`: which VMs each job gets from the pools, and when."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Protocol

from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.model.errors import InvalidInput
from sluice.reporting.formatting import visible

if TYPE_CHECKING:
    from sluice.reporting.pools.deadlines import DeadlinePricesResult
    from sluice.reporting.pools.result import PoolsResult


_TICK_MAX_S = 1e6  # far beyond any use
_TICK = given.instant("--tick", high=_TICK_MAX_S, hint="give seconds, or 0 for exact times")


class _View(Protocol):
    """Prints one view of a file, and returns the exit code."""

    def __call__(self, file: str, tick_s: float, *, as_json: bool) -> int: ...


@app.command()
def pools(
    file: given.File,
    *,
    policy: Annotated[
        str,
        given.option(
            "How jobs get their VMs: vm-aware, instant-opt, per-job or dedicated.", metavar="NAME"
        ),
    ] = "vm-aware",
    reconfigure: Annotated[
        bool, given.option("Also change the pool sizes where that saves enough.", "--reconfigure")
    ] = False,
    service: Annotated[
        str,
        given.option(
            "delayed: a job may wait for VMs after its arrival; immediate: it may not.",
            metavar="NAME",
        ),
    ] = "delayed",
    grid: Annotated[
        bool,
        given.option("Print only how long each job takes on every cluster of the pools.", "--grid"),
    ] = False,
    pair_costs: Annotated[
        bool,
        given.option("Print only what two jobs cost together, by which is first.", "--pair-costs"),
    ] = False,
    least_servers: Annotated[
        bool,
        given.option(
            "Find the least servers that meet all deadlines, with a proof.", "--least-servers"
        ),
    ] = False,
    optimum: Annotated[
        bool, given.option("Find the least cost with all arrivals known beforehand.", "--optimum")
    ] = False,
    prices: Annotated[
        str | None,
        given.option(
            "Print only what this job costs by its deadline, next to the others.", metavar="JOB"
        ),
    ] = None,
    tick: Annotated[
        float, given.option("Length of a tick; 0 for exact seconds.", metavar="S", parser=_TICK)
    ] = 1.0,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Choose VM type, number of VMs and start of each job, so that all deadlines are met cheaply.

    Example: sluice pools examples/vm-pools.yaml --reconfigure
    """
    from sluice.api import pools as api
    from sluice.cli.progress import steps

    views: dict[str, tuple[bool, _View]] = {
        "--grid": (grid, _print_grid),
        "--pair-costs": (pair_costs, _print_pair_costs),
        "--least-servers": (least_servers, _print_least_servers),
        "--optimum": (optimum, _print_optimum),
        "--prices": (prices is not None, partial(_print_prices, prices or "")),
    }
    wanted = [flag for flag, (is_given, _) in views.items() if is_given]
    if wanted:
        flag = wanted[0]
        _refuse(
            flag,
            {
                **dict.fromkeys(wanted[1:], True),
                "--plot": plot is not None,
                "--reconfigure": reconfigure,
                "--policy": policy != api.VM_AWARE,
                "--service": service != "delayed",
            },
        )
        return views[flag][1](file, tick, as_json=as_json)
    files = Files.checked(file, plot=plot)
    with steps("planning"):
        result = api.pools(
            file, policy=policy, reconfigure=reconfigure, service=service, tick_s=tick
        )
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
    if as_json:
        print_document(result.document())
    else:
        print_views(least_servers_panel(result))
    return NO if result.servers is None else DONE


def _print_grid(file: str, tick_s: float, *, as_json: bool) -> int:
    from sluice.api import pools as api
    from sluice.cli.progress import steps
    from sluice.reporting.pools.grid import grid_table

    with steps("planning"):
        result = api.pool_grid(file, tick_s=tick_s)
    if as_json:
        print_document(result.document())
    else:
        print_views(grid_table(result))
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
    if as_json:
        print_document({"pair_costs": costs})
    else:
        print_views(pair_costs_table(costs))
    return DONE


def _print_schedule(result: PoolsResult) -> None:
    from sluice.reporting.pools import tables
    from sluice.reporting.pools.deadlines import earlier_notes

    views = [
        tables.jobs_table(result),
        tables.forecasts_table(result),
        tables.missed_table(result),
        tables.changes_table(result),
    ]
    print_views(*(view for view in views if view is not None), tables.pools_panel(result))
    for note in earlier_notes(result.schedule, result.earlier):
        talk(f"note: {note}")
