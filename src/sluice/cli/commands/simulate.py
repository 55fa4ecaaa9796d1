"""`simulate` and `compare`: a workload in virtual time, under one scheduler or several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from sluice.cli import completion
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views
from sluice.cli.application import WithSettings, app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.given_workload import given_workload, talk_of_replays
from sluice.cli.hints import talk_about, talk_note
from sluice.cli.parts import takes_parts
from sluice.cli.queues import Config, mapping_for
from sluice.cli.tables import takes_tables

if TYPE_CHECKING:
    from sluice.reporting.run.result import RunResult


@app.command(cls=WithSettings)
@takes_parts
@takes_tables
def simulate(
    file: given.FileOrLog = None,
    *,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    tasks: given.Tasks = None,
    release: given.Release = None,
    admission: given.Admission = None,
    settings: given.Set = None,
    seed: given.Seed = 0,
    lengths_from: given.LengthsFrom = None,
    config: Config = None,
    trace: given.Trace = None,
    plot: given.RunPlot = None,
    as_json: given.AsJson = False,
) -> int:
    """Simulate a workload: when each job starts and ends, and how busy the slots are.

    Example: sluice simulate jobs.yaml --tasks fair --set jitter=0.1 --plot a.html

    Example: sluice simulate --from-log history/ --tasks fair
    """
    from sluice.api import simulate as api
    from sluice.cli.progress import steps

    mapping = mapping_for(config)
    workload = given_workload("simulate", file, from_log, from_log_format, from_log_set)
    files = Files.checked(workload.kept, trace=trace, plot=plot)
    notes: list[str] = []
    with steps("simulating") as shown:
        result = api.simulate(
            workload.source,
            tasks=tasks,
            release=release,
            admission=admission,
            settings=settings or [],
            seed=seed,
            lengths_from=lengths_from,
            config=config,
            mapping=mapping,
            on_progress=shown.on_simulated,
            on_message=notes.append,
        )
    for note in notes:
        talk_note(note)
    files.write(result)
    if as_json:
        print_document(workload.noted(result.document()))
        return DONE
    print_result(result)
    workload.talk()
    flags = {"tasks": tasks, "release": release, "admission": admission, "seed": seed}
    talk_about(result, workload.file, flags, settings or [])
    return DONE


@app.command(cls=WithSettings)
@takes_tables
def compare(
    file: given.FileOrLog = None,
    *,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    schedulers: Annotated[
        str | None,
        given.option(
            "Schedulers: names, FILE.py:Class, or all; or parts, as in mrorder+fair+copies=late"
            " (default: that of the file, if it names one, and fifo,fair).",
            metavar="A,B,...",
            completes=completion.schedulers,
        ),
    ] = None,
    ablate: Annotated[
        str | None,
        given.option(
            "Compare this scheduler, and it without each of its parts.",
            metavar="PRESET",
            completes=completion.task_policies,
        ),
    ] = None,
    seeds: given.Seeds = 10,
    settings: given.Set = None,
    ledger: Annotated[
        bool, given.option("Also report what each tenant got under each scheduler.", "--ledger")
    ] = False,
    config: Config = None,
    processes: given.Processes = None,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Simulate a workload under several schedulers and compare the results.

    Example: sluice compare jobs.yaml --schedulers fifo,fair --set jitter=0.1
    """
    from sluice.api import simulate as api
    from sluice.api.sources import read_workload
    from sluice.bootstrap.presets import row_in
    from sluice.bootstrap.scheduler_rows import ablated, rows_in
    from sluice.cli.progress import steps
    from sluice.reporting.compare.tables import comparison_tables

    workload = given_workload("compare", file, from_log, from_log_format, from_log_set)
    files = Files.checked(workload.kept, plot=plot)
    names = rows_in(schedulers or "")
    if ablate is not None:
        names = list(ablated(ablate))
    elif schedulers is None:
        loaded = read_workload(workload.source)
        workload = replace(workload, source=loaded)
        names = list(filter(None, [row_in(loaded), "fifo", "fair"]))
    notes: list[str] = []
    mapping = mapping_for(config)
    rows = len(names) + (config is not None)
    with steps(f"simulating {rows} schedulers, {seeds} seeds each") as shown:
        comparison = api.compare(
            workload.source,
            names,
            seeds=seeds,
            settings=settings or [],
            ledger=ledger,
            config=config,
            mapping=mapping,
            processes=processes,
            on_progress=lambda scheduler, seed: shown.on_progress(scheduler, f"seed {seed}"),
            on_fraction=shown.on_fraction,
            on_message=notes.append,
        )
    for note in notes:
        talk_note(note)
    if plot is not None:
        from sluice.reporting.compare.chart import schedulers_chart

        files.save(schedulers_chart(comparison))
    if as_json:
        print_document(workload.noted(comparison.document()))
    else:
        print_views(*comparison_tables(comparison))
        for note in comparison.notes:
            print_views(note)
        talk_of_replays(comparison.replays)
        if ledger:
            from sluice.reporting.fairness.tables import losses_table, rules_table

            print_views(rules_table(comparison.ledgers), losses_table(comparison.ledgers))
        workload.talk()
    return DONE


def print_result(result: RunResult) -> None:
    """Print the jobs and the summary of a run."""
    from sluice.reporting.run.rented import rented_table
    from sluice.reporting.run.tables import job_table, replay_table, summary_panel, vm_pools_table

    tables = [
        job_table(result), rented_table(result.extra), vm_pools_table(result), replay_table(result),
    ]  # fmt: skip
    print_views(*(table for table in tables if table is not None), summary_panel(result))
