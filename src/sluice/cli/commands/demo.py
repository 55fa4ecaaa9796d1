"""`demo`: a tour of Sluice with real jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sluice.cli import options as given
from sluice.cli.application import app
from sluice.cli.failures import DONE


@app.command()
def demo(
    folder: Annotated[
        str, given.argument("Folder for its files: new, or of an earlier demo.", metavar="FOLDER")
    ] = "sluice-demo",
) -> int:
    """Show what Sluice does: run real jobs, predict and explain them, replay a real cluster.

    It takes about half a minute, and needs no network.

    Example: sluice demo
    """
    from sluice.cli.demonstration import story

    story.demo(Path(folder))
    return DONE
