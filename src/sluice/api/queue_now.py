"""A queue as it is now, with all that a forecast of it needs: its jobs, the past and the slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.api.options.predictions import QueueFacts
from sluice.bootstrap.queues.forecast import past_lengths, sized_jobs
from sluice.bootstrap.queues.resource_manager import listed_cluster
from sluice.estimate.run_lengths import PastLength
from sluice.ingest.logs.formats import read_live_queue, read_log, read_logs
from sluice.ingest.logs.live_queue import LiveQueue, QueuedJob
from sluice.ingest.logs.report import LogRead, Report
from sluice.ingest.servers.web import is_web_address
from sluice.model.cluster import SLOTS_MAX
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.slot_kind import SlotKind
from sluice.reporting.formatting import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNow:
    """A queue, with all that a forecast of it needs.

    jobs: all with slots.  past: runs that ended, the oldest first.  notes: what was chosen.
    """

    jobs: tuple[QueuedJob, ...]
    past: tuple[PastLength, ...]
    slots: int
    backfills: bool
    as_of: str
    notes: tuple[str, ...]
    skipped: int

    @property
    def turn_note(self) -> str:
        """Which jobs a forecast starts first."""
        if self.backfills:
            return "Jobs start out of turn where that delays none before them."
        return "Jobs start in turn."


def queue_now(queue: str | Path, given: QueueFacts, slots_flag: str = "--slots") -> QueueNow:
    """The queue and its history, read. Arguments and errors as for `eta`.

    slots_flag: what sets the slots, for the note that says which they are.
    """
    found, report, own, up = _listed(queue)
    logs = [log for log in (*own, *read_logs(given.history)) if log.runs]
    past = past_lengths(logs)
    if given.history and not past:
        raise InvalidInput(
            "none of its jobs ended with a known length",
            where=", ".join(map(str, given.history)),
            hint="give logs of jobs that ended, such as the output of `sacct`",
        )
    jobs, guessed = sized_jobs(found, past)
    if given.slots is None and given.nodes is not None:
        most, why = _slots_up(_slots_in(given.nodes), jobs)
    elif given.slots is None and up:
        most, why = _slots_up(up, jobs)
    else:
        most, why = _slots(given.slots, jobs, logs, f"(set {slots_flag})")
    out_of_turn = found.backfills if given.backfills is None else given.backfills
    notes = [
        f"slots = {most}: {why}.",
        f"{counted(len(past), 'past run')} in {counted(len(logs), 'log')}."
        if past
        else "Without history, times are by users' limits: the latest that is expected.",
        *([f"The slots of {counted(guessed, 'job')} are those of past runs."] if guessed else []),
        "Jobs that are submitted later are not in it.",
        *found.notes,
    ]
    if report.skipped_count:
        first = report.skipped[0]
        place = f"line {first.line}: " if first.line else ""
        notes.append(f"{report.skipped_count} skipped, the first {place}{first.why}")
    return QueueNow(
        jobs=tuple(jobs),
        past=tuple(past),
        slots=most,
        backfills=out_of_turn,
        as_of=found.as_of,
        notes=tuple(notes),
        skipped=report.skipped_count,
    )


def _ended_in(queue: str | Path, found: LiveQueue) -> list[LogRead]:
    """The list as a log of those of its jobs that ended; none where all run or wait."""
    try:
        log = read_log(queue)
    except InvalidInput:
        return []
    still = {job.job_id for job in found.jobs}
    ended = (run for run in log.runs if run.run_id.removeprefix(f"{run.source}/") not in still)
    return [replace(log, runs=tuple(ended))]


def _listed(queue: str | Path) -> tuple[LiveQueue, Report, list[LogRead], int]:
    """The queue, what was skipped, the history that comes with it, and slots that are up (or 0)."""
    if not is_web_address(str(queue)):
        found, report = read_live_queue(queue)
        return found, report, _ended_in(queue, found), 0
    cluster = listed_cluster(str(queue))
    if cluster.queue is None:
        raise InvalidInput(
            "no application runs or waits", where=str(queue), hint="ask again when one does"
        )
    return cluster.queue, cluster.report, [cluster.past] if cluster.past else [], cluster.slots


def _slots_in(nodes: str | Path) -> int:
    """Return the slots of the nodes that are up. Raises InvalidInput."""
    log = read_log(nodes)
    if log.workload is None or log.workload.cluster is None or log.workload.jobs:
        raise InvalidInput(
            f"it is a log of {log.format}, not a list of nodes", where=str(nodes),
            hint="give the output of sinfo",
        )  # fmt: skip
    return log.workload.cluster.slots(SlotKind.CONTAINER)


def _slots_up(up: int, jobs: Sequence[QueuedJob]) -> tuple[int, str]:
    """Return these slots, or more if more are in use, and their source."""
    in_use = sum(job.slots or 1 for job in jobs if job.ran_s is not None)
    if in_use > up:
        return in_use, f"those in use, for the nodes that are up have {up}"
    return up, "those of nodes that are up"


def _slots(
    asked: int | None, jobs: Sequence[QueuedJob], logs: Sequence[LogRead], hint: str
) -> tuple[int, str]:
    """Return the slots of the cluster, and their source. hint: what sets them."""
    if asked is not None:
        if not 1 <= asked <= SLOTS_MAX:
            raise wrong_value("slots", asked, "--slots", f"give 1 to {SLOTS_MAX}")
        return asked, "as asked for"
    in_use = sum(job.slots or 1 for job in jobs if job.ran_s is not None)
    largest = max(job.slots or 1 for job in jobs)
    clusters = [log.workload.cluster for log in logs if log.workload is not None]
    before = max((one.slots(SlotKind.CONTAINER) for one in clusters if one is not None), default=0)
    first = next((job.slots or 1 for job in jobs if job.ran_s is None), None)
    if first is not None and before >= in_use + first:
        # Nodes may be down, or the lists count different things, such as nodes and processors.
        before, why = in_use + first - 1, "the first in line does not fit"
    else:
        why = "the most at once in the history"
    if largest > max(in_use, before):
        return largest, f"those of the largest job {hint}"
    if in_use >= before:
        return in_use, f"those in use {hint}"
    return before, f"{why} {hint}"
