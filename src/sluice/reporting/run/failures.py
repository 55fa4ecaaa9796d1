"""Why jobs failed: the attempt that failed each of them, as a value and as lines for people.

The state keeps every attempt with its `detail`: the first line is the reason, the others are the
last lines of its standard error. The attempt that failed the job is the last one that counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from sluice.core.entries import Attempt, JobEntry
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState, JobState
from sluice.model.ids import JobId, NodeId
from sluice.reporting.shell_words import shell_words

_JOBS_SHOWN_MAX = 10  # with their stderr; a run may have thousands of failed jobs
_JOBS_NAMED_MAX = 20
_TAIL_LINES_SHOWN = 15
_LINE_CHARACTERS_MAX = 200
_MESSAGE_CHARACTERS_MAX = 500  # it may name a file


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailure:
    """Why a job failed, by the attempt that failed it.

    attempt: its number.  attempts: how often the task failed.
    reason: why the job failed.  message: why the attempt failed, one line.
    stderr_tail: the last lines that the attempt wrote to standard error, such as a traceback.
    """

    phase: str
    task: int
    attempt: int
    attempts: int
    node: NodeId
    reason: str
    message: str
    stderr_tail: tuple[str, ...]

    @classmethod
    def of(cls, attempt: Attempt) -> JobFailure:
        """The failure of the job of this attempt."""
        key, phase = attempt.key, attempt.phase
        message, *tail = attempt.detail.split("\n")
        return cls(
            phase=phase.name,
            task=key.task,
            attempt=key.attempt,
            attempts=max(1, phase.repeating().failures.get(key.task, 0)),
            node=attempt.node.node_id,
            reason=_without(phase.job.reason, attempt.detail),
            message=message,
            stderr_tail=tuple(tail),
        )

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        return asdict(self)


def failures_of(state: ClusterState) -> dict[JobId, JobFailure]:
    """For each failed job, why it failed."""
    failed = {entry for entry in state.jobs.values() if entry.state is JobState.FAILED}
    if not failed:
        return {}
    last: dict[JobEntry, Attempt] = {}
    for attempt in state.closed:
        if attempt.state is AttemptState.FAILED and attempt.phase.job in failed:
            last[attempt.phase.job] = attempt
    return {job.job_id: JobFailure.of(attempt) for job, attempt in last.items()}


def failure_lines(failures: Mapping[JobId, JobFailure], *, run_id: str) -> Iterator[str]:
    """The failed jobs for a terminal; jobs that failed for one cause share its description.

    run_id: the recorded run that the commands ask about.
    """
    causes: dict[tuple[str, tuple[str, ...]], list[JobId]] = {}
    for job_id, failure in failures.items():
        causes.setdefault((failure.message, failure.stderr_tail), []).append(job_id)
    for job_ids in list(causes.values())[:_JOBS_SHOWN_MAX]:
        yield from _cause_lines(job_ids, failures[job_ids[0]], run_id)
    rest = [job_id for job_ids in list(causes.values())[_JOBS_SHOWN_MAX:] for job_id in job_ids]
    if rest:
        yield f"{len(rest)} more {_jobs(len(rest))} failed: {_named(rest)}"


def _cause_lines(job_ids: Sequence[JobId], failure: JobFailure, run_id: str) -> Iterator[str]:
    where = f"attempt {failure.attempt} on {failure.node}"
    yield visible(f"job {job_ids[0]!r} failed: {failure.reason} ({where})")
    message = failure.message or "no reason was reported"
    yield f"  {visible(message, characters_max=_MESSAGE_CHARACTERS_MAX)}"
    tail = failure.stderr_tail
    if len(tail) > _TAIL_LINES_SHOWN:
        yield f"    ({len(tail) - _TAIL_LINES_SHOWN} earlier lines left out)"
    yield from (f"    {visible(line)}" for line in tail[-_TAIL_LINES_SHOWN:])
    if len(job_ids) > 1:
        others = len(job_ids) - 1
        yield f"  {others} more {_jobs(others)} failed for this reason: {_named(job_ids[1:])}"
    subject = f"{job_ids[0]}/{failure.phase}/{failure.task}"
    yield f"  more: {story_command(subject, run_id)}"


def _without(reason: str, detail: str) -> str:
    """The reason of a job without the detail of its last attempt, which is its end."""
    return reason.removesuffix(detail).removesuffix(": ").removesuffix(", last")


def story_command(subject: str, run_id: str) -> str:
    """The command that prints the story of a job or a task, quoted for a shell.

    >>> story_command("night load/map/3", "20261122-1")
    "sluice story --run=20261122-1 'night load/map/3'"
    """
    separator = ["--"] if subject.startswith("-") else []
    return shell_words("sluice", "story", f"--run={run_id}", *separator, subject)


def _jobs(count: int) -> str:
    return "job" if count == 1 else "jobs"


def _named(job_ids: Sequence[JobId]) -> str:
    names = [repr(str(job_id)) for job_id in job_ids[:_JOBS_NAMED_MAX]]
    more = ["..."] if len(job_ids) > len(names) else []
    return ", ".join([*names, *more])


def visible(text: str, *, characters_max: int = _LINE_CHARACTERS_MAX) -> str:
    r"""One line with control characters escaped, cut where it is very long.

    >>> visible("\x1b[31mred\x00")
    '\\x1b[31mred\\x00'
    """
    cut = text.expandtabs(4)
    if len(cut) > characters_max:
        cut = f"{cut[:characters_max]}..."
    return "".join(_visible_characters(cut))


def _visible_characters(text: Iterable[str]) -> Iterator[str]:
    for character in text:
        if character.isprintable():
            yield character
        else:
            yield character.encode("unicode_escape").decode("ascii")
