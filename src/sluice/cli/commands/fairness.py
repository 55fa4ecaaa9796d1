"""`fairness`: who paid for what, used, lent, borrowed, and is owed."""

from __future__ import annotations

from typing import Annotated

from sluice.api.options.fairness import AllRuns, FairnessOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.flattened import GivenNames, flattened
from sluice.cli.given_workload import Logs, simulated_workload
from sluice.cli.hints import talk_note
from sluice.cli.run_or_file import OfFile, subject_of
from sluice.cli.tables import Tables
from sluice.model.errors import InvalidInput


@app.command()
@flattened
def fairness(
    run: Annotated[
        str | None, given.argument("Id of a recorded run (default: the newest).", metavar="RUN")
    ] = None,
    *,
    runs: AllRuns,
    simulated: OfFile,
    logs: Logs,
    options: FairnessOptions,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
    tables: Tables,
    names: GivenNames,
) -> int:
    """Report who paid for what, used, lent, borrowed and is owed, per tenant and period.

    Example: sluice fairness --file jobs.yaml --tasks ltyarn --plot ledger.html
    """
    from sluice.api import fairness as api
    from sluice.cli.progress import steps
    from sluice.reporting.fairness import tables as views

    workload = simulated_workload("fairness", simulated.file, logs, tables)
    about = subject_of(options, names, workload, run, run_name="RUN")
    if runs.all_runs and (run is not None or workload is not None):
        raise InvalidInput(
            "it is given together with a run or a workload",
            where="--all-runs",
            hint="give one of them",
        )
    files = Files.checked(workload.kept if workload else "-", plot=plot)
    with steps("simulating"):
        result = api.fairness(**about.arguments, all_runs=runs.all_runs, on_message=talk_note)
    files.draw(result.plot)
    if as_json:
        print_document(about.noted(result.document()))
        return DONE
    print_views(views.tenants_table(result), views.periods_table(result))
    if options.misreports:
        print_views(views.misreports_table(result))
    print_views(views.fairness_panel(result))
    about.talk()
    return DONE
