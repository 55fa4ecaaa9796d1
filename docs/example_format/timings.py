"""Timings: a line for each task, its job, and the seconds at which it started and ended.

#timings
nightly 0.0 12.5
nightly 0.0 14.0
"""

from dataclasses import dataclass
from pathlib import Path

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Contents, Report
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.model.settings import number

FORMAT = "timings"
HEAD = b"#timings"
FIELDS = 3  # job, start, end


@dataclass(frozen=True, kw_only=True)
class Options:
    """Each field is one option: --set least_s=0.5."""

    least_s: float = number(0.001, "seconds of a task that took no time", above=0.0)


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Its first line says so."""
    return head.startswith(HEAD)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """A run for each job. Raises InvalidInput where no line has a task."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for line_number, line in log_lines(path, report, limits):
        fields = line.split()
        if line.startswith(HEAD) or not fields:
            continue
        try:
            job, start_s, end_s = fields if len(fields) == FIELDS else (b"", b"", b"")
            span = float(start_s), float(end_s)
            spans.setdefault(job.decode(), []).append(span)
        except ValueError:
            report.skip(line_number, "not a job and two numbers")
    if not spans:
        raise InvalidInput(
            "it has no task", where=str(path), hint="give lines of a job, start and end"
        )
    return Contents(runs=tuple(_run(job, ran, options) for job, ran in spans.items()))


def _run(job: str, ran: list[tuple[float, float]], options: Options) -> PastRun:
    lengths = [max(options.least_s, end_s - start_s) for start_s, end_s in ran]
    phase = PastPhase(
        name="map",
        kind="map",
        tasks=len(lengths),
        avg_s=sum(lengths) / len(lengths),
        max_s=max(lengths),
    )
    first_s = min(start_s for start_s, _ in ran)
    elapsed_s = max(end_s for _, end_s in ran) - first_s
    return PastRun(
        run_id=job,
        profile=job,
        source=FORMAT,
        phases=(phase,),
        submitted_at_s=first_s,
        elapsed_s=elapsed_s,
    )
