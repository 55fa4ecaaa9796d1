"""`init`: a commented workload file to start from."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Annotated

from sluice.cli import options as given
from sluice.cli.answers import talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.flattened import flattened
from sluice.cli.hints import pasted
from sluice.cli.tables import Tables
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

KINDS = {
    "jobs": "jobs of maps and reduces, to simulate, order and plan",
    "stages": "Spark or Tez jobs, graphs of stages, to simulate and plan",
    "run": "jobs that run on this machine",
}
_NEXT = {"jobs": "simulate", "stages": "simulate", "run": "validate"}


@app.command()
@flattened
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
    from_table: Annotated[
        str | None, given.option("A table of jobs to write as a workload file.", metavar="TABLE")
    ] = None,
    tables: Tables,
) -> int:
    """Write a commented workload file to start from.

    --from-table writes the jobs of a CSV, TSV or Parquet file.

    Example: sluice init nightly.yaml --kind stages
    """
    if kind not in KINDS:
        raise InvalidInput(
            f"{kind[:80]!r} is not known", where="--kind", hint=suggestion(kind, KINDS)
        )
    if from_table is None:
        tables.check_unused()
        return _written(file, _example(kind), f"sluice {_NEXT[kind]}")
    if kind != "jobs":
        raise InvalidInput(
            "it is given together with --from-table", where="--kind", hint="give one of the two"
        )
    return _written(file, _of_table(from_table, file, tables), "sluice simulate")


def _of_table(table: str, file: str, tables: Tables) -> str:
    """The text of the workload file of a table."""
    from sluice.api.tables import table_document
    from sluice.reporting.exports.workload_text import workload_text

    document = table_document(table, tables.columns(), lambda note: talk(f"note: {note}"))
    return workload_text(document, name=file, comment=f"Made by: sluice init --from-table {table}")


def _example(kind: str) -> str:
    """The commented file of a kind; FILE is where its name belongs."""
    from importlib import resources

    return (resources.files("sluice.ingest") / "example_workloads" / f"{kind}.yaml").read_text(
        encoding="utf-8"
    )


def _written(file: str, text: str, command: str) -> int:
    """Write the file, or print it for "-"; command: what to do with it next."""
    if file == "-":
        sys.stdout.write(text.replace("FILE", "workload.yaml"))
        return DONE
    from sluice.store.whole_file import whole_file

    if os.path.lexists(file):
        raise InvalidInput("it exists", where=file, hint="name a new file")
    with whole_file(file) as draft:
        draft.write_text(text.replace("FILE", shlex.quote(file)), encoding="utf-8")
    talk(f"written: {file}")
    talk(f"Next: {command} {pasted(file)}")
    return DONE
