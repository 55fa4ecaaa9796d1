"""`order`: the order in which to submit jobs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

from sluice.cli import options as given
from sluice.cli.answers import console, print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.given_workload import given_workload, talk_of_replays
from sluice.cli.tables import takes_tables

if TYPE_CHECKING:
    from sluice.reporting.order.result import OrderResult
    from sluice.reporting.order.stages import StageOrderResult

_BUDGET, _CLUSTER, _FILES = "Budget", "Cluster", "Files"
_EVALUATIONS_MAX = 10**12
_METHODS = "auto|exact|search|sweep|mk-jr|mk-tct-jr|tct|input|reverse|critical-path"


@app.command()
@takes_tables
def order(
    file: given.FileOrLog = None,
    *,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    method: Annotated[
        str,
        given.choice(
            "input, reverse, mk-jr, mk-tct-jr, tct, sweep, exact, search, or auto to pick; for"
            " stages critical-path, exact, search or auto.",
            _METHODS,
            metavar="NAME",
        ),
    ] = "auto",
    objective: Annotated[
        str,
        given.choice(
            "What to minimise: makespan, tct or both.", "makespan|tct|both", metavar="NAME"
        ),
    ] = "makespan",
    seconds: Annotated[
        float | None,
        given.option(
            "Time limit of search, auto and exact (default: 10, none with --evaluations).",
            metavar="S",
            parser=given.number(
                "--seconds", above=0, what="a length of time", hint="give seconds, above 0"
            ),
            panel=_BUDGET,
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        given.count(
            "Number of orders to evaluate; equal seeds then give equal answers.",
            "--evaluations",
            low=1,
            high=_EVALUATIONS_MAX,
            panel=_BUDGET,
        ),
    ] = None,
    seed: given.Seed = 0,
    map_slots: Annotated[
        int | None,
        given.count(
            "Map slots (default: those of the file; a file of job lines has none).",
            "--map-slots",
            low=1,
            high=10**7,
            panel=_CLUSTER,
        ),
    ] = None,
    reduce_slots: Annotated[
        int | None,
        given.count(
            "Reduce slots (default: those of the file).",
            "--reduce-slots",
            low=1,
            high=10**7,
            panel=_CLUSTER,
        ),
    ] = None,
    out: Annotated[
        str | None,
        given.option(
            "Write the workload with its jobs in this order.", metavar="OUT", panel=_FILES
        ),
    ] = None,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Find the best order in which to submit jobs, or their stages, to a FIFO cluster.

    Example: sluice order jobs.yaml --objective both --seconds 5 --out out.yaml
    """
    from sluice.api import order as api
    from sluice.cli.progress import steps

    workload = given_workload("order", file, from_log, from_log_format, from_log_set)
    files = Files.checked(workload.kept, plot=plot, out=out)
    with steps("searching for an order") as shown:
        result = api.order(
            workload.source,
            method=method,
            objective=objective,
            seconds=seconds,
            evaluations=evaluations,
            seed=seed,
            map_slots=map_slots,
            reduce_slots=reduce_slots,
            on_message=talk,
            on_progress=shown.on_progress,
        )
    if out is not None:
        _write(result, files, workload.arguments)
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


def _write(result: OrderResult | StageOrderResult, files: Files, source: str) -> None:
    """Write the workload in its new order."""
    from sluice.ingest.reading import source_folder
    from sluice.reporting.exports.workload_text import moved, workload_text

    assert files.out is not None, "--out is given"
    document = moved(
        result.reordered_document(), folder=result.workload.folder, to=source_folder(files.out)
    )
    comment = f"Made by: sluice order {source} --method {result.answer.method.value}"
    files.save_out(workload_text(document, name=files.out, comment=comment))
    talk(f"Next: sluice simulate {shlex.quote(files.out)}")


def _print_result(result: OrderResult | StageOrderResult) -> None:
    from sluice.reporting.order.stages import StageOrderResult
    from sluice.reporting.order.tables import frontier_table, order_panel, order_table

    if isinstance(result, StageOrderResult):
        from sluice.reporting.order.stage_tables import stage_answer, stage_table

        console().print(stage_answer(result))
        print_views(stage_table(result))
        return
    views = [order_table(result, width=console().width)]
    if result.answer.frontier is not None:
        views.append(frontier_table(result))
    print_views(*views, order_panel(result))
