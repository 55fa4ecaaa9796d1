"""Progress rates of attempts, by which LATE finds stragglers.

The rate of a running attempt is its progress over its running time, at the instant of judging. An
attempt that is silent gets slower with every second, so one that hangs is found, wherever it
hangs. The rate of a finished attempt is 1 / its length. Each phase keeps the rates of its finished
attempts sorted and adds those of the few that run when it is asked for a percentile.
Source: dynamicmr spec, sections 4 and 5.4, with erratum E16.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Collection, Sequence
from typing import Any, Final

from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.indexes.number_table import NumberTable
from sluice.core.indexes.observers import AttemptIndex
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.ids import JobId
from sluice.policies.copies.node_scores import NodeScores, Score, percentile

SILENCE_SHARE: Final = 0.1  # of the running time: a report is not old before
SILENCE_S_MAX: Final = 3.0

_DONE: Final = AttemptState.DONE
_SORTED_AT: Final = 40  # more new rates than that part of all are sorted in together
_SHORTEST_S: Final = 1e-9  # the length of an attempt that took no time


def joint_percentile(ordered: list[float], others: Collection[float], percent: float) -> float:
    """The percentile of sorted values together with a few others in any order.

    Costs what the others cost, not what all cost: of the sorted values only those can be at the
    position that have at most `len(others)` of the others before them.

    >>> joint_percentile([0.007, 0.0075, 0.008], [0.002, 0.001], 25)
    0.002
    """
    count = len(ordered) + len(others)
    if not count:
        return 0.0
    position = (count - 1) * percent / 100
    below = math.floor(position)
    if below + 1 < len(ordered):
        # Those that come behind the position need not be sorted in.
        last = ordered[below + 1]
        others = [one for one in others if one < last]
    first = max(0, below - len(others))
    near = sorted([*ordered[first : below + 2], *others])
    low = near[below - first]
    high = near[min(below + 1, count - 1) - first]
    return low + (high - low) * (position - below)


def percentile_range(ordered: list[float], others: int, percent: float) -> tuple[float, float]:
    """Between which values the joint percentile is, whatever the others, none below 0, are.

    >>> percentile_range([0.007, 0.0075, 0.008], 2, 25)
    (0.0, 0.0075)
    """
    count = len(ordered) + others
    position = (count - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, count - 1)
    most = math.inf
    if above < len(ordered):
        most = ordered[below] + (ordered[above] - ordered[below]) * (position - below)
    return percentile(ordered, percent, others), most


def judged_until_s(attempt: Attempt, now_s: float) -> float:
    """The instant up to which the running time of an attempt counts against it.

    Reports are a little old when they are read. A delay of up to a tenth of the running time, and
    of up to 3 s, does not count. So attempts that report in turn do not differ by their turn.
    """
    silence_s = min(SILENCE_S_MAX, SILENCE_SHARE * (now_s - attempt.started_at_s))
    return max(attempt.progress_at_s, now_s - silence_s)


def rate_at(attempt: Attempt, now_s: float) -> float:
    """Progress per second of a running attempt since its start; 0 without any progress."""
    if attempt.progress <= 0:
        return 0.0
    running_s = judged_until_s(attempt, now_s) - attempt.started_at_s
    return attempt.progress / max(running_s, _SHORTEST_S)


def left_s(attempt: Attempt, rate: float, now_s: float) -> float:
    """Seconds that a running attempt still takes at its rate; infinite at rate 0."""
    if rate <= 0:
        return math.inf
    return (1 - attempt.progress) / rate - (now_s - judged_until_s(attempt, now_s))


class PhaseRates:
    """The attempts of one phase. running: how many run; oldest: of these, the first launched;
    has_changed: one has reported since it was last asked which phases have; has_started_all: as
    `CopyCandidates` has noted.
    """

    __slots__ = (
        "_finished", "_last", "_new", "finished_s", "has_changed", "has_started_all", "oldest",
        "phase", "running",
    )  # fmt: skip

    def __init__(self, phase: PhaseEntry) -> None:
        self.phase = phase
        self.has_changed = self.has_started_all = False
        self.running = 0
        # A list in the order of their launch, which an attempt leaves without a search.
        self.oldest: Attempt | None = None
        self._last: Attempt | None = None
        self._finished: list[float] = []  # rates, ascending
        self._new: list[float] = []  # that come between them once they are asked for
        self.finished_s = 0.0  # lengths, summed

    def saved(self) -> tuple[float, list[float]]:
        """The finished attempts: the sum of their lengths, and their rates, ascending."""
        return self.finished_s, list(self._in_order())

    def restored(self, finished_s: float, rates: Sequence[float]) -> None:
        """Take these finished attempts, and no other."""
        self.finished_s, self._finished = finished_s, list(rates)
        self._new.clear()

    @property
    def mean_s(self) -> float:
        """Mean length of the finished attempts; infinite if there are none."""
        finished = len(self._finished) + len(self._new)
        return self.finished_s / finished if finished else math.inf

    def _in_order(self) -> list[float]:
        """The rates of the finished attempts, ascending."""
        new, ordered = self._new, self._finished
        if len(new) > len(ordered) // _SORTED_AT:
            ordered.extend(new)
            ordered.sort()
        else:
            for rate in new:
                insort(ordered, rate)
        new.clear()
        return ordered

    def percentile(self, percent: float, now_s: float) -> float:
        """The percentile of the rates of finished and running attempts."""
        running: list[float] = []
        attempt = self.oldest
        while attempt is not None:
            running.append(rate_at(attempt, now_s))
            attempt = attempt.after_in_phase
        return joint_percentile(self._in_order(), running, percent)

    def percentile_range(self, percent: float) -> tuple[float, float]:
        """Between which rates the percentile is, by the finished attempts alone."""
        return percentile_range(self._in_order(), self.running, percent)

    def started_by(self, at_s: float) -> list[Attempt]:
        """The running attempts, as launched, before the first that started after an instant."""
        found: list[Attempt] = []
        attempt = self.oldest
        # Those that follow mostly end before they are old enough.
        while attempt is not None and attempt.started_at_s <= at_s:
            found.append(attempt)
            attempt = attempt.after_in_phase
        return found

    def begin(self, attempt: Attempt) -> None:
        """An attempt was launched."""
        self.running += 1
        last = self._last
        if last is None:
            self.oldest = attempt
        else:
            last.after_in_phase = attempt
            attempt.before_in_phase = last
        self._last = attempt

    def end(self, attempt: Attempt) -> None:
        """An attempt has ended; its rate goes on to count if it is done."""
        self.running -= 1
        before, after = attempt.before_in_phase, attempt.after_in_phase
        if before is None:
            self.oldest = after
        else:
            before.after_in_phase = after
        if after is None:
            self._last = before
        else:
            after.before_in_phase = before
        attempt.before_in_phase = attempt.after_in_phase = None
        if attempt.state is _DONE:
            length_s = attempt.finished_at_s - attempt.started_at_s
            self.finished_s += length_s
            self._new.append(1 / max(length_s, _SHORTEST_S))


class ProgressRates(AttemptIndex):
    """The rates of all phases of a run, kept up to date attempt by attempt.

    copies: how many copies run.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._phases: NumberTable[PhaseRates] = NumberTable()
        self.nodes = NodeScores(state)
        self.copies = 0
        self.changed: list[PhaseRates] = []  # since `take_changed`
        state.observe_attempts(self)

    def saved(self) -> list[tuple[JobId, int, float, list[float]]]:
        """The finished attempts of all phases that may still be asked about.

        The record of attempts has not all of them: some of their outputs may be lost.
        """
        phases = (phase for job in self._state.jobs.values() for phase in job.phases)
        known = [(phase, self.of(phase)) for phase in phases]
        return [
            (phase.job_id, phase.index, *rates.saved())
            for phase, rates in known
            if rates is not None and (rates.running or not phase.job.has_ended)
        ]

    def restored(self, saved: Sequence[Any]) -> None:
        """Take these phases, and no other; their running attempts are known."""
        known, self._phases = self._phases, NumberTable()
        for job_id, index, finished_s, finished in saved:
            phase = self._state.jobs[job_id].phases[index]
            rates = known.get(phase.number) or PhaseRates(phase)
            rates.restored(finished_s, finished)
            self._phases.put(phase.number, rates)

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        number = attempt.phase.number
        rates = self._phases.get(number)
        if rates is None:
            rates = PhaseRates(attempt.phase)
            self._phases.put(number, rates)
        rates.begin(attempt)
        self.copies += attempt.is_copy

    def of(self, phase: PhaseEntry) -> PhaseRates | None:
        """The rates of a phase that has run and is not done."""
        return self._phases.get(phase.number)

    def known(self, phase: PhaseEntry) -> PhaseRates:
        """The rates of a phase that has some."""
        rates = self.of(phase)
        assert rates is not None
        return rates

    def note_changed(self, rates: PhaseRates) -> None:
        """An attempt of a phase has reported."""
        if not rates.has_changed:
            rates.has_changed = True
            self.changed.append(rates)

    def take_changed(self) -> list[PhaseRates]:
        """The phases in which an attempt has reported since."""
        changed, self.changed = self.changed, []
        for rates in changed:
            rates.has_changed = False
        return changed

    def all_progressed(self, attempts: list[Attempt]) -> None:
        """See `AttemptIndex`."""
        # Attempts of a node report together, and mostly belong to few phases.
        score: Score | None = None
        phase: PhaseEntry | None = None
        for attempt in attempts:
            if score is None or score.node is not attempt.node:
                score = self.nodes.changing(attempt.node)
            progress = attempt.progress
            score.score += progress - attempt.scored
            attempt.scored = progress
            if attempt.phase is not phase:
                phase = attempt.phase
                self.note_changed(self.known(phase))  # an attempt of it runs

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        phase = attempt.phase
        self.copies -= attempt.is_copy
        rates = self.known(phase)
        rates.end(attempt)
        score = self.nodes.changing(attempt.node)
        if attempt.state is _DONE:
            score.score += 1.0 - attempt.scored
        else:
            score.score -= attempt.scored
        if not rates.running and (phase.is_done or phase.job.has_ended):
            self._phases.discard(phase.number)
