"""Jobs that start as a whole, under schedulers that start task by task unless they are asked."""

from __future__ import annotations

from collections.abc import Iterable

from sluice.bootstrap.composed_policies import described
from sluice.bootstrap.policy_classes import ChosenPolicy, chosen_policy
from sluice.ingest.settings import Settings
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.policies.composition import PRESETS, RESERVATIONS, Composition

_MADE_WHOLE = ("typed", "containers", "resources")


def starting_whole(tasks: ChosenPolicy, jobs: Iterable[Job], settings: Settings) -> ChosenPolicy:
    """The task policy, which starts jobs as a whole if one of them asks for that.

    The order stays, and the room becomes `rigid`. A policy from outside decides for itself.
    Raises InvalidInput for a scheduler that cannot be made so.
    """
    whole = [job.job_id for job in jobs if job.gang > 1]
    if not whole or not tasks.is_ours or tasks.made is not None or tasks.queues is not None:
        return tasks
    made = tasks.composition
    if made is None and tasks.name in PRESETS and tasks.name != "ras":
        made = described(tasks.name, settings)
    if made is not None and made.slots in RESERVATIONS:
        return tasks
    if made is None or not _can_be_whole(made):
        raise InvalidInput(
            f"job {whole[0]!r} starts as a whole, and {tasks.label[:80]} starts single tasks",
            where="--tasks",
            hint="use --tasks fcfs, easy or conservative, or an --order with --slots rigid, easy"
            " or conservative",
        )
    text = f"{tasks.label}+slots=rigid"
    return chosen_policy("tasks", text)


def _can_be_whole(made: Composition) -> bool:
    """Whether its order can be served job by job."""
    is_plain = made.copies == made.data == "none" and made.machines != "vm-pools"
    return is_plain and made.slots in _MADE_WHOLE


def whole_note(before: ChosenPolicy, after: ChosenPolicy, jobs: Iterable[Job]) -> str | None:
    """A sentence on what was changed, or on a job that starts piecemeal; None for neither."""
    if before.queues is not None:
        whole = next((job.job_id for job in jobs if job.gang > 1), None)
        if whole is None or before.queues.admits_whole:
            return None
        return (
            f"job {whole!r} starts as a whole (gang), which queues of a configuration do not model:"
            " its tasks start one by one"
        )
    if before is after:
        return None
    return (
        f"jobs start as a whole (gang), so {before.label} serves them one after the other with"
        " slots=rigid; `--slots easy` lets shorter ones pass"
    )
