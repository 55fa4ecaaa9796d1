"""Suggest the next command, ready to paste."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sluice.cli.answers import talk
from sluice.model.errors import sentence
from sluice.reporting.shell_words import shell_words

if TYPE_CHECKING:
    from sluice.api.options.scheduling import SimulateOptions
    from sluice.reporting.run.result import RunResult

_DEFAULTS = {
    "config": None, "tasks": "fifo", "release": "input", "admission": "all", "seed": 0,
}  # fmt: skip


def talk_note(note: str) -> None:
    """Report a setting without an effect, or what else the user should know."""
    talk(f"note: {sentence(note)}")


def pasted(*words: str) -> str:
    """A command line to paste from stderr, whatever its encoding is."""
    return shell_words(*words, encoding=sys.stderr.encoding or "ascii")


def talk_about(result: RunResult, file: str, options: SimulateOptions) -> None:
    """Suggest how to explain the first job that is late or did not end, if there is one.

    file, options: as given to `simulate`.
    """
    stuck = next((job for job in result.jobs if job.finished_at_s is None), None)
    late = next((job for job in result.jobs if job.deadline_met is False), None)
    if file == "-" or (stuck or late) is None:
        return
    job = stuck or late
    assert job is not None
    late_jobs = sum(job.deadline_met is False for job in result.jobs)
    are_late = "A job is late" if late_jobs == 1 else f"{late_jobs:,} jobs are late"
    flags = {name: getattr(options, name) for name in _DEFAULTS}
    asked = [
        f"--{name}={value}" for name, value in flags.items() if value not in (None, _DEFAULTS[name])
    ]
    asked += [f"--set={setting}" for setting in options.settings]
    command = pasted("sluice", "why", f"--file={file}", *asked, "--", job.job_id)
    talk(f"{'A job never ended' if stuck else are_late}. To see why: {command}")
