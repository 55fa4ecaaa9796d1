"""`order`: the order in which to submit jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import keywords, option
from sluice.api.options.planning import OrderOptions
from sluice.cli import options as given
from sluice.cli.answers import console, print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.cli.given_workload import Logs, given_workload, talk_of_replays
from sluice.cli.hints import pasted
from sluice.cli.outputs import FILES
from sluice.cli.tables import Tables
from sluice.reporting.table_style import plain_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sluice.reporting.order.result import OrderResult
    from sluice.reporting.order.stages import StageTimesResult


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WorkloadOut:
    """The workload in its new order."""

    out: str | None = option(
        "Write the workload with its jobs in this order.", metavar="OUT", panel=FILES
    )


@app.command()
@flattened
def order(
    file: given.FileOrLog = None,
    *,
    logs: Logs,
    options: OrderOptions,
    output: WorkloadOut,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
    tables: Tables,
) -> int:
    """Find the best order in which to submit jobs, or their stages, to a FIFO cluster.

    Example: sluice order jobs.yaml --objective both --seconds 5 --out out.yaml
    """
    from sluice.api import order as api
    from sluice.cli.progress import steps

    workload = given_workload("order", file, logs, tables)
    files = Files.checked(workload.kept, plot=plot, out=output.out)
    with steps("searching for an order") as shown:
        result = api.order(
            workload.source, **keywords(options), on_message=talk, on_progress=shown.on_progress
        )
    if output.out is not None:
        _write(result, files, workload.arguments, options)
    files.draw(result.plot)
    if as_json:
        print_document(workload.noted(result.document()))
    else:
        _print_result(result)
        talk_of_replays(result.replays)
        workload.talk()
    for note in result.notes:
        talk(f"note: {note}")
    return DONE


def _write(
    result: OrderResult | StageTimesResult, files: Files, source: str, options: OrderOptions
) -> None:
    """Write the workload in its new order."""
    from sluice.ingest.reading import source_folder
    from sluice.reporting.exports.workload_text import moved, workload_text

    assert files.out is not None, "--out is given"
    document = moved(
        result.reordered_document(), folder=result.workload.folder, to=source_folder(files.out)
    )
    comment = f"Made by: sluice order {source} --method {result.answer.method.value}"
    files.save_out(workload_text(document, name=files.out, comment=comment))
    if options.stage_slots is None:  # a simulation has no slots of single stages
        talk(f"Next: sluice simulate {pasted(files.out)}")


def _print_result(result: OrderResult | StageTimesResult) -> None:
    from sluice.reporting.order.stages import StageTimesResult
    from sluice.reporting.order.tables import (
        frontier_table,
        order_panel,
        order_sentence,
        order_table,
    )

    if isinstance(result, StageTimesResult):
        from sluice.reporting.order.tables import stage_answer, stage_table

        print_views(plain_text(stage_answer(result)), stage_table(result))
        return
    views: list[RenderableType] = [
        plain_text(order_sentence(result)),
        order_table(result, width=console().width),
    ]
    if result.answer.frontier is not None:
        views.append(frontier_table(result))
    print_views(*views, order_panel(result))
