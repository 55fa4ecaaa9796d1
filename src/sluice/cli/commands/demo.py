"""`demo`: a tour of Sluice with real jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sluice.cli.application import app
from sluice.cli.failures import DONE


@app.command()
def demo(
    folder: Annotated[
        str,
        typer.Argument(metavar="FOLDER", help="Folder for its files: new, or of an earlier demo."),
    ] = "sluice-demo",
) -> int:
    """Show what Sluice does: run real jobs, predict and explain them, replay a real cluster.

    It takes about a minute, and needs no network.

    Example: sluice demo
    """
    from sluice.cli.demonstration import story

    story.demo(Path(folder))
    return DONE
