"""The kill rule: an attempt that runs over twice the mean of its phase is killed and retried.

An attempt is killed if it has run longer than twice the mean of the finished attempts of its phase,
of which there must be five. A task is killed once at most. The time that a reduce waits for maps is
not counted, neither for the reduce nor in the mean.
Source: dynamicmr spec, section 5.4 (erratum E15).

For each phase one instant is kept at which its oldest attempt would be due; a phase is looked at
only when that comes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.policies.decorator import Decorator, earlier
from sluice.policies.memory import Memory, finite, or_infinite, phases_restored, phases_saved
from sluice.policies.settings import SpeculationSettings

FINISHED_MIN: Final = 5
TIMES_MEAN: Final = 2.0

_DONE: Final = AttemptState.DONE
_KILLING: Final = AttemptState.KILLING


class _Lengths:
    """Finished lengths and running attempts of one phase. due_at_s: its entry on the heap."""

    __slots__ = ("due_at_s", "finished", "killed", "running", "total_s")

    def __init__(self) -> None:
        self.finished = 0
        self.total_s = 0.0
        self.running: dict[Attempt, None] = {}  # in the order of their start
        self.killed: set[int] = set()  # tasks that have met the rule
        self.due_at_s = math.inf

    @property
    def limit_s(self) -> float:
        """How long an attempt may run; infinite while too few have finished."""
        if self.finished < FINISHED_MIN:
            return math.inf
        return TIMES_MEAN * self.total_s / self.finished


@mypyc_attr(allow_interpreted_subclasses=True)
class SlowKill(Decorator):
    """Kills attempts of `inner` that are far too slow."""

    def __init__(self, inner: TaskPolicy) -> None:
        super().__init__(inner)
        self._lengths: dict[PhaseEntry, _Lengths] = {}
        self._inputs_at_s: dict[PhaseEntry, float] = {}  # when what a phase reads was all there
        # Instants at which a phase was to be looked at; None for one whose job has ended since.
        self._due: list[tuple[float, int, PhaseEntry | None]] = []
        self._pushed = 0

    def attach(self, state: ClusterState) -> None:
        self.inner.attach(state)
        state.observe_attempts(self)

    def memory(self) -> Memory:
        return {
            "lengths": [
                (name, one.finished, one.total_s, sorted(one.killed), finite(one.due_at_s))
                for phase, one in self._lengths.items()
                for name in phases_saved([phase])
            ],
            "inputs_at_s": [
                (name, at_s)
                for phase, at_s in self._inputs_at_s.items()
                for name in phases_saved([phase])
            ],
            # In the order in which they come off the heap. One that is out of date wakes as well.
            "due": [
                (at_s, [] if phase is None else phases_saved([phase]))
                for at_s, _, phase in sorted(self._due)
            ],
        }

    def remember(self, own: Memory, state: ClusterState) -> None:
        known = self._lengths
        self._lengths = {
            phase: one for phase, one in known.items() if phase.job.has_ended and one.running
        }
        for name, finished, total_s, killed, due_at_s in own["lengths"]:
            phase = phases_restored([name], state)[0]
            one = self._lengths[phase] = known.get(phase) or _Lengths()
            one.finished, one.total_s, one.killed = finished, total_s, set(killed)
            one.due_at_s = or_infinite(due_at_s)
        self._inputs_at_s = {
            phase: at_s
            for name, at_s in own["inputs_at_s"]
            for phase in phases_restored([name], state)
        }
        self._due = []
        for at_s, names in own["due"]:
            phases = phases_restored(names, state)
            self._push(at_s, phases[0] if phases else None)

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        super().forget(jobs)
        for job in jobs:  # one that was killed may have left something here
            for phase in job.phases:
                self._lengths.pop(phase, None)
                self._inputs_at_s.pop(phase, None)

    def wants_offer(self, state: ClusterState) -> bool:
        return bool(state.running) or super().wants_offer(state)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        inner_s = super().wake_at_s(state, now_s)
        if not self._due:
            return inner_s
        # It must have run longer than its limit, not as long.
        return earlier(inner_s, math.nextafter(max(now_s, self._due[0][0]), math.inf))

    # --- what runs, and ran -------------------------------------------------------------------

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        lengths = self._lengths.get(attempt.phase)
        if lengths is None:
            lengths = self._lengths[attempt.phase] = _Lengths()
        lengths.running[attempt] = None
        self._plan(attempt.phase, lengths)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        phase = attempt.phase
        lengths = self._lengths[phase]
        del lengths.running[attempt]
        if phase.is_done or phase.job.has_ended:
            self._phase_over(attempt, lengths)
            return
        if attempt.state is _DONE and not attempt.is_moot:
            lengths.finished += 1
            lengths.total_s += max(0.0, attempt.finished_at_s - self._from_s(attempt))
        self._plan(phase, lengths)

    def _phase_over(self, attempt: Attempt, lengths: _Lengths) -> None:
        """Phases that read from this one count their time from now on."""
        phase = attempt.phase
        for later in phase.needed_by:
            if later.has_inputs and not phase.job.has_ended:
                self._inputs_at_s[later] = attempt.finished_at_s
                if later in self._lengths:
                    self._plan(later, self._lengths[later])
        if not lengths.running:
            del self._lengths[phase]
            self._inputs_at_s.pop(phase, None)

    def _from_s(self, attempt: Attempt) -> float:
        """From when the attempt's time counts."""
        return max(attempt.started_at_s, self._inputs_at_s.get(attempt.phase, 0.0))

    # --- who is due ---------------------------------------------------------------------------

    def _plan(self, phase: PhaseEntry, lengths: _Lengths) -> None:
        """Have the phase looked at when its oldest attempt that may be ended is due."""
        due_at_s = self._due_at_s(phase, lengths)
        if due_at_s < lengths.due_at_s:
            lengths.due_at_s = due_at_s
            self._push(due_at_s, phase)

    def _push(self, at_s: float, phase: PhaseEntry | None) -> None:
        self._pushed += 1
        heapq.heappush(self._due, (at_s, self._pushed, phase))

    def _due_at_s(self, phase: PhaseEntry, lengths: _Lengths) -> float:
        limit_s = lengths.limit_s
        if math.isinf(limit_s) or not phase.has_inputs:
            return math.inf
        for attempt in lengths.running:
            if attempt.state is not _KILLING and attempt.task not in lengths.killed:
                return self._from_s(attempt) + limit_s
        return math.inf

    def kills(self, state: ClusterState, now_s: float) -> Iterator[tuple[AttemptKey, Reason]]:
        yield from super().kills(state, now_s)
        while self._due and self._due[0][0] < now_s:
            due_at_s, _, phase = heapq.heappop(self._due)
            lengths = None if phase is None else self._lengths.get(phase)
            if phase is None or lengths is None or due_at_s != lengths.due_at_s:
                continue
            lengths.due_at_s = math.inf
            yield from self._overdue(lengths, phase, now_s)
            self._plan(phase, lengths)

    def _overdue(
        self, lengths: _Lengths, phase: PhaseEntry, now_s: float
    ) -> Iterator[tuple[AttemptKey, Reason]]:
        limit_s = lengths.limit_s
        if not phase.has_inputs:
            return
        for attempt in lengths.running:
            from_s = self._from_s(attempt)
            if from_s + limit_s >= now_s:  # as it was planned, for the difference rounds otherwise
                break  # those that follow began later
            if attempt.state is not _KILLING and attempt.task not in lengths.killed:
                lengths.killed.add(attempt.task)
                numbers = (
                    ("ran_s", now_s - from_s),
                    ("mean_s", limit_s / TIMES_MEAN),
                    ("finished", lengths.finished),
                )
                yield attempt.key, Reason(ReasonCode.TOO_SLOW, numbers)


def with_kills(inner: TaskPolicy, settings: SpeculationSettings) -> TaskPolicy:
    """The policy with the kill rule around it, if `kill_slow` is set."""
    return SlowKill(inner) if settings.kill_slow else inner
