"""`report`: the charts and tables of one result in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sluice.api.options.fields import keywords
from sluice.api.options.steering import ReportOptions
from sluice.cli import options as given
from sluice.cli.answers import talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.model.errors import InvalidInput


@app.command()
@flattened
def report(
    result: Annotated[
        str,
        given.argument(
            'Document that --json printed ("-" for standard input), or the id of a run.',
            metavar="RESULT",
        ),
    ],
    *,
    out: Annotated[
        str, given.option("Where to write the report.", "--out", "-o", metavar="FILE.html")
    ] = "report.html",
    options: ReportOptions,
) -> int:
    """Put all charts and tables of one result in one HTML file, which works offline.

    Example: sluice simulate jobs.yaml --json | sluice report - -o out.html
    """
    from sluice.api import report as api

    if Path(out).suffix.lower() not in {".html", ".htm"}:
        raise InvalidInput(
            f"{out} has no ending of a page", where="--out", hint="end the name in .html"
        )
    files = Files.checked(result, out=out)
    made = api.report(result, **keywords(options))
    made.save(out)
    talk(f"written: {files.out}")
    return DONE
