"""`init`: a commented workload file to start from."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

from sluice.cli import options as given
from sluice.cli.answers import talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

KINDS = {
    "jobs": "jobs of maps and reduces, to simulate, order and plan",
    "stages": "Spark or Tez jobs, graphs of stages, to simulate and plan",
    "run": "jobs that run on this machine",
}
_NEXT = {"jobs": "simulate", "stages": "simulate", "run": "validate"}


@app.command()
def init(
    file: Annotated[
        str, given.argument("File to write; - prints it.", metavar="FILE")
    ] = "workload.yaml",
    *,
    kind: Annotated[
        str,
        given.option(
            "; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items()) + ".",
            metavar="KIND",
            completes=lambda: list(KINDS.items()),
        ),
    ] = "jobs",
) -> int:
    """Write a commented workload file to start from.

    Example: sluice init nightly.yaml --kind stages
    """
    if kind not in KINDS:
        raise InvalidInput(
            f"{kind[:80]!r} is not known", where="--kind", hint=suggestion(kind, KINDS)
        )
    from importlib import resources

    text = (resources.files("sluice.ingest") / "example_workloads" / f"{kind}.yaml").read_text(
        encoding="utf-8"
    )
    if file == "-":
        sys.stdout.write(text.replace("FILE", "workload.yaml"))
        return DONE
    path = Path(file)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text.replace("FILE", shlex.quote(file)))
    except FileExistsError:
        raise InvalidInput("it exists", where=file, hint="name a new file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(
            f"it cannot be written: {reason}", where=file, hint="name another file"
        ) from error
    talk(f"written: {file}")
    talk(f"Next: sluice {_NEXT[kind]} {shlex.quote(file)}")
    return DONE
