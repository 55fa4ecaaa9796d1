"""`report`: the charts and tables of one result in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sluice.cli.answers import talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.model.errors import InvalidInput


@app.command()
def report(
    result: Annotated[
        str,
        typer.Argument(
            metavar="RESULT",
            show_default=False,
            help='Document that --json printed ("-" for standard input), or the id of a run.',
        ),
    ],
    *,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE.html", help="Where to write the report."),
    ] = "report.html",
    charts: Annotated[
        list[str] | None,
        typer.Option(
            "--chart",
            metavar="FILE.json",
            show_default=False,
            help="Add a chart that --plot FILE.json wrote; repeatable.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", show_default=False, help="Title of the page.")
    ] = None,
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
    made = api.report(result, charts=charts or [], title=title)
    made.save(out)
    talk(f"written: {files.out}")
    return DONE
