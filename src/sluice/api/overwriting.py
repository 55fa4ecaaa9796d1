"""Outputs of an earlier run that a new run replaces.

An old output steps aside when the run starts, and is removed once the new one is in its place. If
its job fails, or the run is refused, the old output comes back. Only an output that a job wrote is
replaced: a folder without `_SUCCESS` is not touched.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sluice.engines.mapreduce.commit import SUCCESS
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload

_TOKEN_BYTES = 4


@contextmanager
def replacing_outputs(workload: Workload) -> Iterator[None]:
    """Inside, the outputs of the workload's jobs are free to be written.

    Raises InvalidInput for an output that no job wrote, before anything is moved.
    """
    old = [output for output in _outputs(workload) if output.exists() or output.is_symlink()]
    for output in old:
        if output.is_symlink() or not (output / SUCCESS).is_file():
            raise InvalidInput(
                f"{str(output)!r} is not the output of a job: it has no {SUCCESS}",
                where="--overwrite",
                hint="remove it yourself, or name another output",
            )
    aside = {output: _aside(output) for output in old}
    moved: list[Path] = []
    try:
        for output, place in aside.items():
            output.rename(place)
            moved.append(output)
        yield
    finally:
        for output in moved:
            if output.exists():
                shutil.rmtree(aside[output])
            else:
                aside[output].rename(output)


def _outputs(workload: Workload) -> list[Path]:
    places = [
        Path(job.run.folder, job.run.output).absolute()
        for job in workload.jobs
        if job.run is not None
    ]
    return list(dict.fromkeys(places))


def _aside(output: Path) -> Path:
    """A new name beside the output, which shows what it is if the machine stops meanwhile."""
    return output.with_name(f".{output.name}.old-{secrets.token_hex(_TOKEN_BYTES)}")
