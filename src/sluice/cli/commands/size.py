"""`size`: the smallest cluster that meets the deadlines."""

from __future__ import annotations

from typing import Annotated

from sluice.cli import completion, history_options
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.given_workload import of_table
from sluice.cli.tables import check_unused, takes_tables

_HISTORY = "History"
_NODES_MAX = 10**5
_DRAWS_MAX = 10**5


@app.command()
@takes_tables
def size(
    file: given.FileOrLog = None,
    *,
    from_log: history_options.RunsFromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    deadline_s: Annotated[
        float | None,
        given.option("Seconds from the first submission to the last end of a night.", metavar="S"),
    ] = None,
    probability: Annotated[
        float, given.option("Share of nights that meet all deadlines.", metavar="SHARE")
    ] = 0.95,
    one_night: Annotated[
        str,
        given.choice(
            "Which jobs make up a night: newest runs, typical ones, or a night drawn whole.",
            "newest|typical|drawn",
            metavar="WHICH",
            panel=_HISTORY,
        ),
    ] = "newest",
    cut_gaps_days: Annotated[
        float | None,
        given.option(
            "Ignore runs before the last gap of DAYS days.", metavar="DAYS", panel=_HISTORY
        ),
    ] = None,
    vm_type: Annotated[
        str | None,
        given.option(
            "Type of the nodes in the price list, or any (default: the node or VM of FILE).",
            metavar="TYPE",
            completes=completion.vm_types,
            panel=history_options.MACHINES,
        ),
    ] = None,
    prices: history_options.Prices = None,
    rent: history_options.RentTerm = "on-demand",
    reserved_vms: Annotated[
        int | None,
        given.count(
            "Reserved VMs; the others are on demand (default: prices.reserved_vms of FILE).",
            "--reserved-vms",
            low=0,
            high=_NODES_MAX,
            panel=history_options.MACHINES,
        ),
    ] = None,
    nodes_max: Annotated[
        int,
        given.count(
            "The largest size to try.",
            "--nodes-max",
            low=1,
            high=_NODES_MAX,
            panel=history_options.MACHINES,
        ),
    ] = 1000,
    tasks: given.Tasks = None,
    draws: Annotated[
        int, given.count("Nights to simulate for each size.", "--draws", low=1, high=_DRAWS_MAX)
    ] = 100,
    seed: given.Seed = 0,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Find the smallest cluster that meets the deadlines with a probability.

    Nights are drawn from history and simulated on clusters of different sizes.

    Example: sluice size --from-log history/ --deadline-s 7200 --vm-type medium-4

    Example: sluice size jobs.yaml --probability 0.99
    """
    from sluice.api import size as api
    from sluice.cli.progress import steps
    from sluice.reporting.size.tables import views

    files = Files.checked("-" if file is None else file, plot=plot)
    table = None if file is None else of_table(file)
    if table is None:
        check_unused()
    with steps("sizing") as shown:
        result = api.size(
            file if table is None else table.source,
            from_log=from_log or (),
            deadline_s=deadline_s,
            probability=probability,
            one_night=one_night,
            vm_type=vm_type,
            prices=prices,
            rent=rent,
            reserved_vms=reserved_vms,
            nodes_max=nodes_max,
            cut_gaps_days=cut_gaps_days,
            tasks=tasks,
            draws=draws,
            seed=seed,
            format=from_log_format or "auto",
            settings=from_log_set or (),
            on_progress=shown.on_progress,
            on_fraction=shown.on_fraction,
        )
    files.draw(result.plot)
    if as_json:
        print_document(result.document())
    else:
        print_views(*views(result))
        if table is not None:
            table.talk()
    return NO if result.is_no else DONE
