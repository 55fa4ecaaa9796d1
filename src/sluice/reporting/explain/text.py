"""The answers of `why` and `story` as text. `core.why` and `core.story` find them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.core.explain.story import Story, StoryLine
from sluice.core.explain.why import PhaseWait, RunningAttempt, Why
from sluice.core.transitions import JOB_ENDS, JobState
from sluice.model.errors import sentence
from sluice.reporting.formatting import count, counted, duration, visible
from sluice.reporting.table_style import Text, plain_grid, plain_text

if TYPE_CHECKING:
    from rich.console import Group

_LINES_MAX = 200
_DETAIL_LINES_MAX = 8


def why_text(why: Why, asked_as: str | None = None, waited_for: Why | None = None) -> Text:
    """One sentence on the job, then a line for each unfinished phase.

    asked_as: the name by which the job was asked for, if that is not its id.
    waited_for: the answer for an instant at which a job that has ended waited, or tasks of it.
    """
    from rich.text import Text

    text = Text()
    text.append(visible(asked_as or why.job_id), style="bold")
    if asked_as is not None:
        text.append(visible(f" ({why.job_id})"))
    text.append(visible(f" {_sentence(why)}\n"))
    if waited_for is not None:
        text.append(visible(f"  at {duration(waited_for.at_s)} {_waited(waited_for)}\n"))
    if why.state in JOB_ENDS:
        return text
    for phase in why.phases:
        text.append(visible(f"  {phase.phase}: "), style="dim")
        text.append(visible(f"{_phase(phase)}\n"))
        for attempt in phase.slowest:
            text.append(visible(f"    {_running(attempt)}\n"))
    return text


def _sentence(why: Why) -> str:
    """The state of the job at this instant, and the reason."""
    detail = f": {why.detail}" if why.detail else ""
    if why.state is JobState.DONE and why.finished_at_s is not None:
        return f"ended at {duration(why.finished_at_s)}{_lateness(why)}{_coming(why)}{_wait(why)}."
    if why.state in JOB_ENDS:
        verb = "was" if why.state in {JobState.KILLED, JobState.REFUSED} else "has"
        ending = {JobState.DONE: "ended", JobState.FAILED: "failed"}.get(why.state, why.state.value)
        return sentence(f"{verb} {ending}{detail}")
    running = sum(phase.running for phase in why.phases)
    if running:
        return f"is running, with {counted(running, 'task')}, at {duration(why.at_s)}."
    return sentence(f"waits at {duration(why.at_s)}, because {why.reason.text()}{detail}")


def _waited(then: Why) -> str:
    """Why a job that has ended waited, or why tasks of it waited while others ran."""
    phase = then.held_back
    if then.started_at_s is not None and phase is not None and phase.reason is not None:
        tasks = counted(phase.waiting, "task")
        return f"{tasks} of {phase.phase} waited: {phase.reason.text()}"
    cause = f": {then.detail}" if then.detail else ""
    return f"it waited because {then.reason.text()}{cause}"


def _lateness(why: Why) -> str:
    if why.deadline_at_s is None or why.finished_at_s is None:
        return ""
    spare_s = why.deadline_at_s - why.finished_at_s
    return f", {duration(abs(spare_s))} {'before' if spare_s >= 0 else 'after'} its deadline"


def _coming(why: Why) -> str:
    if why.came_after is None or why.submitted_at_s is None:
        return ""
    return f"; it came at {duration(why.submitted_at_s)}, when {why.came_after} was done"


def _wait(why: Why) -> str:
    if not why.waited_s:
        return ""
    return f"; it waited {duration(why.waited_s)} for its first task"


def _phase(phase: PhaseWait) -> str:
    counts = f"{count(phase.done)} of {count(phase.tasks)} tasks done"
    if phase.running:
        counts += f", {count(phase.running)} running"
    if phase.waiting:
        counts += f", {count(phase.waiting)} waiting"
    return counts if phase.reason is None else f"{counts}; {phase.reason.text()}"


def _running(attempt: RunningAttempt) -> str:
    progress = "no progress report"
    if attempt.reported_s is not None:
        reported = f"{duration(attempt.reported_s)} ago"
        progress = f"{100 * attempt.progress:.0f} % done at its last report, {reported}"
    return (
        f"attempt {attempt.attempt} on {attempt.node} has run for {duration(attempt.age_s)},"
        f" {progress}; no copy: {attempt.no_copy.text()}"
    )


def story_view(story: Story, *, lines_max: int = _LINES_MAX) -> Group:
    """One line for each event, with its instant. lines_max: of more, the middle is not shown."""
    from rich.console import Group
    from rich.text import Text

    grid = plain_grid()
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column()
    lines = story.lines
    left_out = max(0, len(lines) - lines_max)
    kept = len(lines) - left_out
    head = kept - kept // 2
    for line in lines[:head]:
        grid.add_row(duration(line.at_s), _line(line))
    if left_out:
        grid.add_row("...", Text(f"{counted(left_out, 'more line')}", style="dim"))
    for line in lines[head + left_out :]:
        grid.add_row(duration(line.at_s), _line(line))
    return Group(Text.assemble((f"{story.kind} ", "dim"), (visible(story.subject), "bold")), grid)


def _line(line: StoryLine) -> Text:
    """The event and its reason. The last output of a task follows unchanged."""
    text = plain_text(line.what, "red" if _is_bad(line) else "")
    first, *others = visible(line.why).split("\n")
    if first:
        text.append(f": {first}", style="dim")
    for other in others[-_DETAIL_LINES_MAX:]:  # the end is most informative
        text.append(f"\n  {other}", style="dim")
    return text


def _is_bad(line: StoryLine) -> bool:
    words = line.what.replace(",", "").split()
    return any(word in {"failed", "lost", "missed", "refused"} for word in words)
