"""The end of a run that did not go well: which jobs failed, why, and what to do next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sluice.cli.answers import talk
from sluice.reporting.run.failures import failure_lines, visible
from sluice.reporting.run.outcomes import UNCOMMITTED

if TYPE_CHECKING:
    from sluice.reporting.run.result import RunResult

_REASON_CHARACTERS_MAX = 500  # it names the output


def talk_about_failures(result: RunResult, file: str) -> None:
    """Print to stderr why jobs failed, and why output was not committed.

    file: the workload file as it was given.
    """
    sys.stdout.flush()  # the failures belong below the table
    failures = {job.job_id: job.failure for job in result.jobs if job.failure is not None}
    for line in failure_lines(failures, run_id=str(result.extra["run_id"])):
        talk(line)
    for line in _uncommitted_lines(result, file):
        talk(line)


def _uncommitted_lines(result: RunResult, file: str) -> Iterator[str]:
    jobs = [job for job in result.jobs if job.state == UNCOMMITTED]
    for job in jobs:
        yield f"job {str(job.job_id)!r}: all tasks are done, but its output was not committed"
        yield f"  {visible(job.reason, characters_max=_REASON_CHARACTERS_MAX)}"
    if not jobs:
        return
    command = "" if file == "-" else f": {shlex.join(['sluice', 'run', file, '--resume'])}"
    yield f"  then continue the run with --resume{command}"
