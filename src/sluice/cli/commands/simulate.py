"""`simulate` and `compare`: a workload in virtual time, under one scheduler or several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sluice.api.options.fields import keywords, option
from sluice.api.options.parts import PartOptions
from sluice.api.options.scheduling import CompareOptions, SimulateOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import WithSettings, app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.cli.given_workload import GivenWorkload, Logs, given_workload, talk_of_replays
from sluice.cli.hints import talk_about, talk_note
from sluice.cli.outputs import RunFiles
from sluice.cli.parts import with_parts
from sluice.cli.queues import queues_of
from sluice.cli.tables import Tables

if TYPE_CHECKING:
    from sluice.reporting.run.result import RunResult


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Rows:
    """The rows of a comparison; Python's `compare` takes a list of them."""

    schedulers: str | None = option(
        "Schedulers: names, FILE.py:Class, or all; or parts, as in mrorder+fair+copies=late"
        " (default: that of the file, if it names one, and fifo,fair).",
        completes="schedulers", metavar="A,B,...",
    )  # fmt: skip
    ablate: str | None = option(
        "Compare this scheduler, and it without each of its parts.",
        completes="task_policies", metavar="PRESET",
    )  # fmt: skip


@app.command(cls=WithSettings)
@flattened
def simulate(
    file: given.FileOrLog = None,
    *,
    logs: Logs,
    options: SimulateOptions,
    outputs: RunFiles,
    as_json: given.AsJson = False,
    tables: Tables,
    parts: PartOptions,
) -> int:
    """Simulate a workload: when each job starts and ends, and how busy the slots are.

    Example: sluice simulate jobs.yaml --tasks fair --set jitter=0.1 --plot a.html

    Example: sluice simulate --from-log history/ --tasks fair
    """
    from sluice.api import simulate as api
    from sluice.cli.progress import steps

    chosen = with_parts(options, parts)
    mapping, tables = queues_of(chosen, tables)
    workload = given_workload("simulate", file, logs, tables)
    files = Files.checked(workload.kept, trace=outputs.trace, plot=outputs.plot)
    notes: list[str] = []
    with steps("simulating") as shown:
        result = api.simulate(
            workload.source,
            **keywords(options, parts),
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
    talk_about(result, workload.file, chosen)
    return DONE


@app.command(cls=WithSettings)
@flattened
def compare(
    file: given.FileOrLog = None,
    *,
    logs: Logs,
    rows: Rows,
    options: CompareOptions,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
    tables: Tables,
) -> int:
    """Simulate a workload under several schedulers and compare the results.

    Example: sluice compare jobs.yaml --schedulers fifo,fair --set jitter=0.1
    """
    from sluice.api import simulate as api
    from sluice.cli.progress import steps
    from sluice.reporting.compare.tables import comparison_sentence, comparison_tables
    from sluice.reporting.formatting import counted
    from sluice.reporting.table_style import plain_text

    mapping, tables = queues_of(options, tables)
    workload = given_workload("compare", file, logs, tables)
    files = Files.checked(workload.kept, plot=plot)
    workload, names = _rows_of(workload, rows)
    notes: list[str] = []
    count = len(names) + (options.config is not None)
    with steps(
        f"simulating {counted(count, 'scheduler')}, {counted(options.seeds, 'seed')} each"
    ) as shown:
        comparison = api.compare(
            workload.source,
            names,
            **keywords(options),
            mapping=mapping,
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
        print_views(plain_text(comparison_sentence(comparison)), *comparison_tables(comparison))
        for note in comparison.notes:
            print_views(note)
        talk_of_replays(comparison.replays)
        if options.ledger:
            from sluice.reporting.fairness.tables import losses_table, rules_table

            print_views(rules_table(comparison.ledgers), losses_table(comparison.ledgers))
        workload.talk()
    return DONE


def _rows_of(workload: GivenWorkload, rows: Rows) -> tuple[GivenWorkload, list[str]]:
    """The schedulers to compare; and the workload, read if it says which."""
    from sluice.api.sources import read_workload
    from sluice.bootstrap.presets import AUTO, auto_sentence, row_in
    from sluice.bootstrap.scheduler_rows import ablated, rows_in

    names = rows_in(rows.schedulers or "")
    if any(AUTO in name.replace("+", "[").split("[") for name in (*names, rows.ablate or "")):
        talk(auto_sentence())
    if rows.ablate is not None:
        return workload, list(ablated(rows.ablate))
    if rows.schedulers is not None:
        return workload, names
    loaded = read_workload(workload.source)
    return replace(workload, source=loaded), [*filter(None, [row_in(loaded), "fifo", "fair"])]


def print_result(result: RunResult) -> None:
    """Print the answer, the jobs and the summary of a run."""
    from sluice.reporting.run.rented import rented_table
    from sluice.reporting.run.tables import (
        job_table,
        replay_table,
        run_sentence,
        summary_panel,
        vm_pools_table,
    )
    from sluice.reporting.table_style import plain_text

    views = [
        plain_text(run_sentence(result)), job_table(result), rented_table(result.extra),
        vm_pools_table(result), replay_table(result), summary_panel(result),
    ]  # fmt: skip
    print_views(*(view for view in views if view is not None))
