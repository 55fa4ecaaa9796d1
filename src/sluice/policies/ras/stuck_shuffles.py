"""Reduces that shuffle must not hold what the maps that they wait for need.

A control cycle places the reduces of several jobs next to their maps. If a map then fails, or its
node is lost, it may find the resources that it needs in the hands of reduces that wait for it, or
for room to work. Nothing ends then, and nothing starts. So if every running task is such a reduce
for a whole control period, those of the job that was submitted last are killed, and its reduces
start again when its maps are done. Not in the paper, which kills no task; a deadlock ends no other
way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sluice.core.entries import Attempt, JobEntry
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.policies.ras.job_stages import reduces_may_work
from sluice.policies.ras.running_use import RunningUse


class StuckShuffles:
    """Finds such a deadlock and ends it."""

    def __init__(self, running: RunningUse) -> None:
        self._running = running
        self._stuck: tuple[AttemptKey, ...] = ()  # at the last cycle
        self._held_back: dict[JobEntry, None] = {}

    def saved(self) -> dict[str, object]:
        """The content as JSON values."""
        held_back = [job.job_id for job in self._held_back if not job.has_ended]
        return {"at_last_cycle": self._stuck, "held_back": held_back}

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        """Remember again what `saved` returned."""
        self._stuck = tuple(AttemptKey(*key) for key in saved["at_last_cycle"])
        self._held_back = {state.jobs[job_id]: None for job_id in saved["held_back"]}

    def may_shuffle(self, job: JobEntry) -> bool:
        """Whether the job may start reduces before its maps are done."""
        if job in self._held_back and reduces_may_work(job):
            del self._held_back[job]
        return job not in self._held_back

    def kills(self, state: ClusterState) -> Iterator[tuple[AttemptKey, Reason]]:
        """The reduces that have to end. Asked once in a control cycle."""
        before, self._stuck = self._stuck, self._found(state)
        if not self._stuck or self._stuck != before:
            return
        attempts = [state.running[key] for key in self._stuck]
        last = max((attempt.phase.job for attempt in attempts), key=_seniority)
        self._held_back[last] = None
        self._stuck = ()
        for attempt in attempts:
            if attempt.phase.job is last:
                yield attempt.key, Reason(ReasonCode.SHUFFLE_GAVE_WAY)

    def _found(self, state: ClusterState) -> tuple[AttemptKey, ...]:
        """All running attempts, if each waits for a map or for room; otherwise none."""
        attempts = state.running.values()
        return tuple(state.running) if all(map(self._waits, attempts)) else ()

    def _waits(self, attempt: Attempt) -> bool:
        if attempt.state is AttemptState.KILLING or not self._running.shuffles(attempt):
            return False
        return not attempt.phase.has_inputs or self._running.is_held(attempt)


def _seniority(job: JobEntry) -> tuple[float, str]:
    return job.submitted_at_s, str(job.job_id)
