"""`fairness`: who paid for what, used, lent, borrowed, and is owed."""

from __future__ import annotations

from typing import Annotated

from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.given_workload import simulated_workload
from sluice.cli.hints import talk_note
from sluice.cli.run_or_file import subject_of
from sluice.cli.tables import takes_tables
from sluice.model.errors import InvalidInput


@app.command()
@takes_tables
def fairness(
    run: Annotated[
        str | None, given.argument("Id of a recorded run (default: the newest).", metavar="RUN")
    ] = None,
    *,
    all_runs: Annotated[
        bool, given.option("Join all recorded runs, without the time between them.", "--all-runs")
    ] = False,
    file: given.OfFile = None,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    period_s: Annotated[
        float | None,
        given.option(
            "Length of a period in seconds (default: about a twelfth of the time).",
            "--period-s",
            metavar="T",
            parser=given.instant("--period-s"),
        ),
    ] = None,
    misreports: Annotated[
        bool,
        given.option("Search for what tenants could have gained by false demands.", "--misreports"),
    ] = False,
    tasks: given.TasksOrNone = None,
    release: given.ReleaseOrNone = None,
    admission: given.AdmissionOrNone = None,
    settings: given.SetOrNone = None,
    seed: given.SeedOrNone = None,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Report who paid for what, used, lent, borrowed and is owed, per tenant and period.

    Example: sluice fairness --file jobs.yaml --tasks ltyarn --plot ledger.html
    """
    from sluice.api import fairness as api
    from sluice.cli.progress import steps
    from sluice.reporting.fairness import tables

    simulation = {
        "tasks": tasks, "release": release, "admission": admission, "set": settings, "seed": seed,
    }  # fmt: skip
    workload = simulated_workload("fairness", file, from_log, from_log_format, from_log_set)
    about = subject_of(run=run, workload=workload, at_s=None, run_name="RUN", simulation=simulation)
    if all_runs and (run is not None or workload is not None):
        raise InvalidInput(
            "it is given together with a run or a workload",
            where="--all-runs",
            hint="give one of them",
        )
    files = Files.checked(workload.kept if workload else "-", plot=plot)
    arguments = {name: value for name, value in about.arguments.items() if name != "at_s"}
    with steps("simulating"):
        result = api.fairness(
            **arguments,
            all_runs=all_runs,
            period_s=period_s,
            misreports=misreports,
            on_message=talk_note,
        )
    files.draw(result.plot)
    if as_json:
        print_document(about.noted(result.document()))
        return DONE
    print_views(tables.tenants_table(result), tables.periods_table(result))
    if misreports:
        print_views(tables.misreports_table(result))
    print_views(tables.fairness_panel(result))
    about.talk()
    return DONE
