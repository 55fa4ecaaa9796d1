"""`steer`: changes of a running YARN cluster that keeps its own jobs."""

from __future__ import annotations

from typing import Annotated

from sluice.api.options.fields import keywords
from sluice.api.options.steering import SteerOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.flattened import flattened
from sluice.cli.hints import talk_note


@app.command()
@flattened
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
    options: SteerOptions,
    as_json: given.AsJson = False,
) -> int:
    """Change queues, applications, nodes and reservations of a running YARN, and read them back.

    Example: sluice steer plan.yaml --address http://rm:8088 --dry-run
    """
    from sluice.api.steer import steer as api

    result = api(plan, address, **keywords(options))
    if as_json:
        print_document(result.document())
        return DONE if result.is_done else NO
    views = [result.table()] if result.values else []
    print_views(result.sentence, *views)
    for note in result.notes:
        talk_note(note)
    for call in result.calls if options.dry_run else ():
        talk(call.line)
    if result.undo_file:
        talk(f"To take it back: sluice steer {result.undo_file} --address {address}")
    return DONE if result.is_done else NO
