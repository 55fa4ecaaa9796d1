"""`runs`: what is recorded of real runs, and how it is removed."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.api.options.fields import keywords
from sluice.api.options.history import CleanOptions
from sluice.cli import completion
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import CommandGroup, app
from sluice.cli.failures import DONE, NO
from sluice.cli.flattened import flattened

group = typer.Typer(cls=CommandGroup, rich_markup_mode="rich")
app.add_typer(group, name="runs")

Id = Annotated[
    str,
    given.argument(
        "Id of a run, or its number, such as run-000042.",
        metavar="ID",
        completes=completion.run_ids,
    ),
]
Ids = Annotated[
    list[str] | None, given.argument("Runs to remove.", metavar="ID", completes=completion.run_ids)
]


@group.callback(invoke_without_command=True)
def runs(context: typer.Context, *, as_json: given.AsJson = False) -> int:
    """List, show and remove recorded runs.

    Example: sluice runs
    """
    context.obj = as_json
    return DONE if context.invoked_subcommand else _print_list(as_json=as_json)


@group.command("list")
def list_(context: typer.Context, *, as_json: given.AsJson = False) -> int:
    """List all recorded runs, oldest first, and what was left on the disk.

    A run is finished, failed (finished, but a job failed), unfinished (continue it with `sluice run
    FILE --resume`) or damaged (it cannot be read).

    Example: sluice runs list --json
    """
    return _print_list(as_json=as_json or bool(context.obj))


def _print_list(*, as_json: bool) -> int:
    from sluice.api import runs as api
    from sluice.reporting.recorded_runs.tables import recorded_views

    recorded = api.runs()
    if as_json:
        print_document(recorded.document())
        return DONE
    print_views(*recorded_views(recorded))
    if not recorded.runs:
        talk("No run is recorded yet.")
    if recorded.leftovers:
        talk("Next: sluice runs clean --dry-run")
    return DONE


@group.command()
def show(context: typer.Context, run: Id, *, as_json: given.AsJson = False) -> int:
    """Show one run: its jobs and their outputs, its policies and settings, and where it is.

    Example: sluice runs show run-000042
    """
    from sluice.api import runs as api
    from sluice.reporting.recorded_runs.tables import run_views

    recorded = api.show_run(run)
    if as_json or context.obj:
        print_document(recorded.document())
    else:
        print_views(*run_views(recorded.runs[0]))
    return DONE


@group.command()
@flattened
def clean(
    context: typer.Context,
    runs: Ids = None,
    *,
    options: CleanOptions,
    as_json: given.AsJson = False,
) -> int:
    """Remove runs with everything they left on the disk; without an ID, only the leftovers.

    Leftovers are files that no resume needs: scratch and staging folders of runs that finished or
    are gone, and runs that died before they began. Outputs are never removed, and neither is a run
    that another process drives.

    Example: sluice runs clean --finished --dry-run
    """
    from sluice.api import runs as api
    from sluice.reporting.recorded_runs.tables import cleaned_views

    cleaned = api.clean_runs(runs or [], **keywords(options))
    if as_json or context.obj:
        print_document(cleaned.document())
    else:
        print_views(*cleaned_views(cleaned))
    for what, why in cleaned.kept:
        talk(f"{what} is kept: {why}")
    return NO if cleaned.kept else DONE
