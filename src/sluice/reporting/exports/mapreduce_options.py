"""Options of `hadoop jar` that give each job of a plan its tuned buffer.

A class that is started with ToolRunner, and Hadoop Streaming, take them before their own arguments.
The prediction is in a comment: `sluice explain` shows it next to the counters of the job's history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.planning.pareto.hadoop_buffers import HadoopBuffer, HadoopSpills
from sluice.reporting.formatting import counted, size

HOW_TO = """\
Use: hadoop jar JAR CLASS OPTIONS ARGUMENTS, with the options of the job. After the run compare the
prediction with "sluice explain HISTORY.jhist". A combiner spills fewer records than predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedJob:
    """A job with the buffer of its maps. predicted: the spills of all its maps."""

    name: str
    maps: int
    buffer: HadoopBuffer
    predicted: HadoopSpills


def mapreduce_options(jobs: Sequence[TunedJob], *, comment: str = "") -> str:
    """The text of the file. Raises InvalidInput if no job has a tuned buffer."""
    if not jobs:
        raise InvalidInput(
            "no job of the plan has a tuned buffer",
            where="--export",
            hint="give --tune buffers, and map_output to a job",
        )
    lines = _commented(f"{comment}\n{HOW_TO}")
    for job in jobs:
        lines += ["", *_commented(_prediction(job)), _options(job.buffer)]
    return "\n".join([*lines, ""])


def _commented(text: str) -> list[str]:
    """The lines of a text as comments; the name of a file may have several."""
    return [f"# {line}" for line in text.splitlines()]


def _prediction(job: TunedJob) -> str:
    found = job.predicted
    return (
        f"{job.name}, {counted(job.maps, 'map')}; predicted:"
        f" {counted(found.spills, 'spill')}, {counted(found.records, 'spilled record')},"
        f" {size(found.moved_bytes)} moved"
    )


def _options(buffer: HadoopBuffer) -> str:
    return " ".join(f"-D {name}={value}" for name, value in buffer.options().items())
