"""`share`: who receives how much of a shared capacity."""

from __future__ import annotations

from sluice.api.options.fields import keywords
from sluice.api.options.sharing import ShareOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.flattened import flattened


@app.command()
@flattened
def share(
    file: given.File,
    *,
    options: ShareOptions,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Divide a capacity among members, step by step: who lent, who borrowed, and how fair it was.

    Example: sluice share members.yaml --policy ltrf --discount-price 0.5
    """
    from sluice.api import share as api
    from sluice.cli.progress import steps

    files = Files.checked(file, plot=plot)
    with steps("sharing"):
        result = api.share(file, **keywords(options))
    for note in result.notes:
        talk(f"note: {note}")
    files.draw(result.plot)
    if as_json:
        print_document(result.document())
        return DONE
    from sluice.reporting.share import tables
    from sluice.reporting.table_style import plain_text

    print_views(plain_text(tables.share_sentence(result)))
    print_views(tables.steps_table(result), tables.members_table(result))
    if options.misreports:
        print_views(tables.misreports_table(result))
    print_views(tables.share_panel(result))
    return DONE
