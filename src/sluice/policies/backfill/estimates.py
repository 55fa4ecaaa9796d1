"""How long tasks are expected to run, for reservations: users' limits, predictions, or the truth.

A task that runs on after its estimate is expected to take twice as long, and again. The
predictions are those of Tsafrir, Etsion and Feitelson, "Backfilling using system-generated
predictions rather than user runtime estimates", IEEE TPDS 18 (2007): the mean of the user's last
two runs, at most the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.state import ClusterState
from sluice.model.settings import SettingsGroup, word
from sluice.policies.memory import Memory, phases_saved

UNKNOWN_S: Final = 86_400.0  # of a task that has neither a limit nor a known length
_LEAST_S: Final = 1e-3
_LAST_RUNS: Final = 2


@dataclass(frozen=True, kw_only=True)
class BackfillSettings(SettingsGroup):
    """Settings of the rooms in which jobs start as a whole."""

    estimates: str = word(
        "limits",
        "what reservations expect of a job: its limit_s, our prediction, or its length in the file",
        "limits",
        "predictions",
        "exact",
    )


class Estimates(AttemptIndex):
    """Expected lengths. kind: as `BackfillSettings.estimates`."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._past: dict[tuple[str, str], list[float]] = {}  # the last runs by owner and phase
        self._began_at_s: dict[PhaseEntry, float] = {}

    def saved(self) -> Memory:
        """The last runs of each owner, and since when each open phase runs."""
        return {
            "past": sorted((*owner, runs) for owner, runs in self._past.items()),
            "began_at_s": [
                (job_id, index, at_s)
                for phase, at_s in self._began_at_s.items()
                for job_id, index in phases_saved([phase])
            ],
        }

    def restored(self, saved: Memory, state: ClusterState) -> None:
        """Take back what `saved` returned."""
        self._past = {(owner, name): list(runs) for owner, name, runs in saved["past"]}
        self._began_at_s = {
            state.jobs[job_id].phases[index]: at_s for job_id, index, at_s in saved["began_at_s"]
        }

    def began(self, attempt: Attempt) -> None:
        self._began_at_s.setdefault(attempt.phase, attempt.started_at_s)

    def ended(self, attempt: Attempt) -> None:
        phase = attempt.phase
        if phase.is_done and phase in self._began_at_s:
            runs = self._past.setdefault(_owner(phase), [])
            runs.append(attempt.finished_at_s - self._began_at_s.pop(phase))
            del runs[:-_LAST_RUNS]

    def run_s(self, phase: PhaseEntry) -> float:
        """How long the tasks of a phase are expected to run."""
        known_s = _known_s(phase)
        if self._kind == "exact":
            return UNKNOWN_S if known_s is None else known_s
        limit_s = _limit_left_s(phase.job)
        most_s = limit_s if limit_s is not None else known_s
        past = self._past.get(_owner(phase))
        if self._kind == "predictions" and past:
            mean_s = math.fsum(past) / len(past)
            return mean_s if most_s is None else min(mean_s, most_s)
        return UNKNOWN_S if most_s is None else most_s

    def end_s(self, attempt: Attempt, now_s: float) -> float:
        """When a running attempt is expected to end, always after now."""
        run_s = max(self.run_s(attempt.phase), _LEAST_S)
        # As sums: a difference that was rounded could put the end at this very instant.
        while attempt.started_at_s + run_s <= now_s:
            run_s *= 2
        return attempt.started_at_s + run_s


def _owner(phase: PhaseEntry) -> tuple[str, str]:
    job = phase.job.job
    return (job.customer or str(job.pool), phase.name)


def _known_s(phase: PhaseEntry) -> float | None:
    """The longest task of a phase, as the workload has it; None if it has no lengths."""
    given = phase.phase
    if given.lengths is None:
        return None
    fetch_s = 0.0 if given.fetch is None else given.fetch.max_s(given.tasks)
    return fetch_s + given.lengths.max_s(given.tasks)


def _limit_left_s(job: JobEntry) -> float | None:
    """Return what is left of a job's limit at the start of its next phase."""
    limit_s = job.job.limit_s
    if limit_s is None:
        return None
    done = [phase.ended_at_s for phase in job.phases if phase.is_done]
    return limit_s - (max(done) - job.started_at_s) if done else limit_s
