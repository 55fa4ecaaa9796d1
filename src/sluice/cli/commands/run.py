"""`run`: a workload's jobs for real."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import WithSettings, app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files

if TYPE_CHECKING:
    from sluice.reporting.run.result import RunResult


@app.command(cls=WithSettings)
def run(
    file: given.File,
    *,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="Engine that runs the tasks.")
    ] = "local",
    nodes: given.Nodes = None,
    map_slots: given.MapSlots = None,
    reduce_slots: given.ReduceSlots = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue FILE's last unfinished run; start it if there is none."
        ),
    ] = False,
    tasks: given.Tasks = "fifo",
    release: given.Release = "input",
    admission: given.Admission = "all",
    settings: given.Set = None,
    seed: given.Seed = 0,
    trace: given.Trace = None,
    plot: given.RunPlot = None,
    as_json: given.AsJson = False,
) -> int:
    """Run a workload's jobs on this machine, with the same policies as simulate.

    Example: sluice run wordcount.yaml --nodes 2
    """
    from sluice.api import run as api
    from sluice.cli.live import live_watcher
    from sluice.cli.run_failures import talk_about_failures

    files = Files.checked(file, trace=trace, plot=plot)
    with live_watcher() as watcher:
        result = api.run(
            file,
            engine=engine,
            nodes=nodes,
            map_slots=map_slots,
            reduce_slots=reduce_slots,
            tasks=tasks,
            release=release,
            admission=admission,
            settings=settings or [],
            seed=seed,
            resume=resume,
            watcher=watcher,
        )
    files.write(result)
    if as_json:
        print_document(result.document())
    else:
        _print_run(result)
    talk_about_failures(result, file)
    missing = result.extra["missing_outputs"]
    assert isinstance(missing, Mapping)
    if result.extra["was_finished"]:
        talk(f"Run {result.extra['run_id']} has already finished; nothing was run now.")
    _talk_of_missing(missing)
    is_whole = set(result.states) <= {"done"} and not missing
    return DONE if is_whole else NO


def _talk_of_missing(outputs: Mapping[str, str]) -> None:
    """Print which outputs are missing, and how to make them again."""
    for job_id, path in outputs.items():
        what = "has no _SUCCESS" if Path(path).exists() else "is gone"
        talk(f"job {job_id!r}: its output {path} {what}.")
    if outputs:
        talk(
            "To make missing outputs again, remove the outputs that are left and run the file"
            " without --resume."
        )


def _print_run(result: RunResult) -> None:
    from sluice.cli.commands.simulate import print_result
    from sluice.cli.live import run_views

    print_result(result)
    print_views(*run_views(result))
