"""`steer`: changes of a running YARN cluster that keeps its own jobs."""

from __future__ import annotations

from typing import Annotated

from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.hints import talk_note


@app.command()
def steer(
    plan: Annotated[
        str,
        given.argument("Steering plan, or a policy: mrorder, ltyarn, dynamicmr.", metavar="PLAN"),
    ],
    *,
    address: Annotated[
        str,
        given.option("Web address of the ResourceManager, such as http://rm:8088.", metavar="RM"),
    ],
    dry_run: Annotated[
        bool, given.option("Show what would be changed, and change nothing.", "--dry-run")
    ] = False,
    undo: Annotated[
        str, given.option("File to write first: the plan that takes all back.", metavar="FILE")
    ] = "steer-undo.yaml",
    allocations: Annotated[
        str | None,
        given.option(
            "The Fair Scheduler's file, for a plan's queues (default: the ResourceManager's).",
            metavar="XML",
        ),
    ] = None,
    rate: Annotated[float, given.option("The most calls a second.", metavar="N")] = 5.0,
    user: Annotated[
        str, given.option("As whom to ask, where YARN takes anybody's word.", metavar="NAME")
    ] = "",
    as_json: given.AsJson = False,
) -> int:
    """Change queues, applications, nodes and reservations of a running YARN, and read them back.

    Example: sluice steer plan.yaml --address http://rm:8088 --dry-run
    """
    from sluice.api.steer import steer as api
    from sluice.reporting.steer.tables import call_lines, steering_table

    result = api(
        plan, address, dry_run=dry_run, undo=undo, allocations=allocations, calls_per_s=rate,
        user=user,
    )  # fmt: skip
    if as_json:
        print_document(result.document())
        return DONE if result.is_done else NO
    views = [steering_table(result)] if result.values else []
    print_views(result.sentence, *views)
    for note in result.notes:
        talk_note(note)
    for line in call_lines(result) if dry_run else ():
        talk(line)
    if result.undo_file:
        talk(f"To take it back: sluice steer {result.undo_file} --address {address}")
    return DONE if result.is_done else NO
