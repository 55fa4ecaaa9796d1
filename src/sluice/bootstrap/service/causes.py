"""Why a promise was not kept: the largest of the causes that the journal shows.

What is off is divided into wait and run, and the larger part is looked at. Each cause has the
slot-seconds that it took while the job should have begun, or have been over: slots that other jobs
held, slots of nodes that were lost, attempts of its own that came to nothing, and time in which no
service ran. Source: service spec, section 5 (outcome).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from sluice.bootstrap.service.readable import Readable
from sluice.core.entries import Attempt, JobEntry
from sluice.core.transitions import AttemptState
from sluice.model.ids import JobId
from sluice.reporting.formatting import counted

Row = dict[str, Any]
REACTION_S = 0.5  # tasks that start within it have not waited for each other
_MINUTES_S = 600.0  # a span from here on is given in minutes
_ROWS_MORE = 10_000  # of attempts that ended later, and may have held slots before


_LOST_WORK = (
    (AttemptState.LOST, "nodes_lost", "ended with a node"),
    (AttemptState.FAILED, "failures", "failed and ran again"),
)
_Cause = tuple[float, str, str]  # slot-seconds, code, text


class Late(NamedTuple):
    """By how much an end was off, and the part of it that is wait; seconds, below 0 if early."""

    off_s: float
    off_wait_s: float


class Causes:
    """Causes over a replica. Those of jobs that have ended are found once."""

    def __init__(self, replica: Readable) -> None:
        self._replica = replica
        self._found: dict[JobId, Row] = {}

    def of_ended(self, job_id: JobId, late: Late) -> Row:
        """Why the end of a job was outside of what was promised: `code` and `text`."""
        found = self._found.get(job_id)
        if found is None:
            found = self._found[job_id] = self._of_ended(job_id, late)
        return found

    def of_open(self, job_id: JobId, late_s: float) -> Row:
        """Why the promise of an open job is not kept any more. late_s: after its last instant."""
        text = f"it cannot be kept: the job ends {_duration(late_s)} after the latest promised end"
        began_s = self._replica.jobs[job_id].workload.at_s
        down_s = self._down_s(began_s, self._replica.now_s)
        if down_s < late_s / 2:
            return {"code": "late", "text": text}
        return {"code": "service_down", "text": f"{text}; {_down_text(down_s)}"}

    def _of_ended(self, job_id: JobId, late: Late) -> Row:
        entry = self._replica.state.jobs[job_id]
        is_wait = abs(late.off_wait_s) > abs(late.off_s - late.off_wait_s)
        if late.off_s < 0:
            code = "other_jobs" if is_wait else "own_length"
            who = "the jobs before it" if is_wait else "it"
            return {"code": code, "text": f"{who} took less time than expected"}
        if is_wait:
            return self._of_wait(entry, entry.started_at_s - late.off_wait_s)
        return self._of_run(entry, entry.finished_at_s - (late.off_s - late.off_wait_s))

    def _of_wait(self, entry: JobEntry, expected_s: float) -> Row:
        """Why it began late. expected_s: when it should have begun, on the clock of the segment."""
        changes = self._replica.changes.get(entry.job_id)
        if changes:
            return {"code": "changed", "text": f"its user changed it: {changes[-1].what}"}
        causes = self._of_cluster(entry, expected_s, entry.started_at_s)
        causes += self._of_others(entry, expected_s, entry.started_at_s)
        return _largest(causes, "its first task began late, although slots were free")

    def _of_run(self, entry: JobEntry, expected_s: float) -> Row:
        """Why it ended late. expected_s: when it should have ended, from when it began."""
        began_s, ended_s = entry.started_at_s, entry.finished_at_s
        own = [one for one in self._between(began_s, ended_s) if one.phase.job is entry]
        causes = self._of_cluster(entry, began_s, ended_s)
        for state, code, what in _LOST_WORK:
            ended = [one for one in own if one.state is state]
            causes.append((_slot_s(ended), code, f"{counted(len(ended), 'attempt')} of it {what}"))
        # Its work after that instant found no slot before, or its tasks were longer.
        after_s = _slot_s(own, max(began_s, expected_s), ended_s)
        if _has_waited(own):
            others = self._of_others(entry, began_s, max(began_s, expected_s))
            slot_s, code, text = others[0]
            taken_s = min(slot_s, after_s)
            causes.append((taken_s, code, text))
            after_s -= taken_s
        causes.append((after_s, "own_length", "it ran longer than expected"))
        return _largest(causes, "it ran longer than expected", "own_length")

    def _of_cluster(self, entry: JobEntry, from_s: float, to_s: float) -> list[_Cause]:
        """The slot time that the nodes and the service itself took from all jobs."""
        promised_s = self._replica.jobs[entry.job_id].workload.at_s
        slots, missing_s = self._missing_slot_s(promised_s, from_s, to_s)
        down_s = self._down_s(min(promised_s, from_s), to_s)
        return [
            (missing_s, "nodes_lost", "nodes were lost that were there at the promise"),
            (down_s * max(1, slots), "service_down", _down_text(down_s)),
        ]

    def _of_others(self, entry: JobEntry, from_s: float, to_s: float) -> list[_Cause]:
        """The slot time that other jobs held: those that came later, and those that were there."""
        held: dict[bool, dict[JobId, float]] = {False: {}, True: {}}
        jobs = self._replica.jobs
        promised_s = jobs[entry.job_id].workload.at_s
        for one in self._between(from_s, to_s):
            job_id = one.phase.job.job_id
            if one.phase.job is entry or job_id not in jobs:
                continue
            slot_s = _slot_s([one], from_s, to_s)
            if slot_s > 0:
                by_job = held[jobs[job_id].workload.at_s > promised_s]
                by_job[job_id] = by_job.get(job_id, 0.0) + slot_s
        later, before = held[True], held[False]
        return [
            (sum(later.values()), "later_arrivals",
             f"{counted(len(later), 'job')} that came later ran instead"),
            (sum(before.values()), "other_jobs",
             f"{counted(len(before), 'job')} that came before ran longer than expected"),
        ]  # fmt: skip

    # --- what the journal shows ---------------------------------------------------------------

    def _between(self, from_s: float, to_s: float) -> Iterator[Attempt]:
        """The attempts that ran in a span: those that ended soon after it, and what runs now."""
        closed, low = self._replica.state.closed, 0
        high = len(closed)
        while low < high:  # rows are in the order in which their ends were reported
            middle = (low + high) // 2
            if closed.attempt(middle).finished_at_s < from_s - REACTION_S:
                low = middle + 1
            else:
                high = middle
        more = _ROWS_MORE
        for row in range(low, len(closed)):
            one = closed.attempt(row)
            more -= one.finished_at_s > to_s
            if more < 0:
                break
            yield one
        yield from self._replica.state.running.values()

    def _missing_slot_s(self, promised_s: float, from_s: float, to_s: float) -> tuple[int, float]:
        """The slots at the promise, and how much of them was missing in a span, slot-seconds."""
        known = [(0.0, 0), *self._replica.capacity]
        there = next(slots for at_s, slots in reversed(known) if at_s <= promised_s or at_s == 0.0)
        missing_s = 0.0
        for index, (at_s, slots) in enumerate(known):
            until_s = known[index + 1][0] if index + 1 < len(known) else to_s
            span_s = min(until_s, to_s) - max(at_s, from_s)
            missing_s += max(0, there - slots) * max(0.0, span_s)
        return there, missing_s

    def _down_s(self, from_s: float, to_s: float) -> float:
        """How long no service ran between two instants: its clock stopped meanwhile."""
        wall_s = self._replica.wall_s
        return max(0.0, wall_s(to_s) - wall_s(from_s) - (to_s - from_s))


def _largest(causes: list[_Cause], otherwise: str, code: str = "overhead") -> Row:
    slot_s, largest, text = max(causes)
    if slot_s <= REACTION_S:
        return {"code": code, "text": otherwise}
    return {"code": largest, "text": text}


def _slot_s(
    attempts: list[Attempt], from_s: float = float("-inf"), to_s: float = float("inf")
) -> float:
    """Seconds of slots that attempts held in a span."""
    found = 0.0
    for one in attempts:
        end_s = one.finished_at_s if one.has_ended else to_s
        found += one.tasks * max(0.0, min(end_s, to_s) - max(one.started_at_s, from_s))
    return found


def _has_waited(own: list[Attempt]) -> bool:
    """Whether tasks of the job began much later than the first of their phase."""
    first: dict[int, float] = {}
    for one in own:
        first.setdefault(one.phase.index, one.started_at_s)
        first[one.phase.index] = min(first[one.phase.index], one.started_at_s)
    return any(one.started_at_s > first[one.phase.index] + REACTION_S for one in own)


def _down_text(down_s: float) -> str:
    return f"the service was down for {_duration(down_s)}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < _MINUTES_S else f"{seconds / 60:.0f} min"


def between_s(first: str, then: str) -> float:
    """Seconds from one instant to another, both as RFC 3339."""
    return (datetime.fromisoformat(then) - datetime.fromisoformat(first)).total_seconds()
