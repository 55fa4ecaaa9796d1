"""`size`: the smallest cluster that meets the deadlines."""

from __future__ import annotations

from sluice.api.options.fields import keywords
from sluice.api.options.planning import SizeOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.cli.given_workload import of_table
from sluice.cli.tables import Tables


@app.command()
@flattened
def size(
    file: given.FileOrLog = None,
    *,
    options: SizeOptions,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
    tables: Tables,
) -> int:
    """Find the smallest cluster that meets the deadlines with a probability.

    Nights are drawn from history and simulated on clusters of different sizes.

    Example: sluice size --from-log history/ --deadline-s 7200 --vm-type medium-4

    Example: sluice size jobs.yaml --probability 0.99
    """
    from sluice.api import size as api
    from sluice.cli.progress import steps
    from sluice.reporting.size.tables import views

    files = Files.checked("-" if file is None else file, plot=plot)
    table = None if file is None else of_table(file, tables)
    if table is None:
        tables.check_unused()
    with steps("sizing") as shown:
        result = api.size(
            file if table is None else table.source,
            **keywords(options),
            on_progress=shown.on_progress,
            on_fraction=shown.on_fraction,
        )
    files.draw(result.plot)
    if as_json:
        print_document(result.document())
    else:
        print_views(*views(result))
        if table is not None:
            table.talk()
    return NO if result.is_no else DONE
