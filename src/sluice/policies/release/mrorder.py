"""MROrder: jobs wait in a dispatching queue, and enter the cluster's line in rounds, reordered.

A round takes the waiting jobs in their order of arrival (at most `jobs_max` of them), lets the
ordering engine put them in order, and releases them at once. They are behind everything that was
released before and never move again. Source: ordering spec, section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sluice.core.entries import JobEntry
from sluice.core.protocols import ReleaseOrder, ReleasePolicy
from sluice.core.state import ClusterState
from sluice.estimate.flow_shop import fluid_makespan_s, slot_work
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.settings import PAUSE_S_MIN, SettingsGroup, number, whole, word
from sluice.policies.release.rounds import Timing
from sluice.policies.rooms.slot_counts import owed_release, widths

# Positions of the jobs in the order to release them, given jobs, map slots and reduce slots.
OrderingEngine = Callable[[Sequence[Job], int, int], Sequence[int]]


class Round(NamedTuple):
    """One round: the order, and how long its jobs keep an empty cluster busy (TA), seconds."""

    at_s: float
    order: tuple[str, ...]
    estimate_s: float


class MrOrder(ReleasePolicy):
    """Releases in rounds. engine: orders a round's jobs.  timing: calls the rounds.

    jobs_max: the most jobs of one round; None for all.
    """

    name = "mrorder"

    @dataclass(frozen=True, kw_only=True)
    class Settings(SettingsGroup):
        """When rounds are held, and over which jobs. Source: ordering spec, section 6."""

        policy: str = word(
            "ati",
            "when a round is held: at fixed times, at adaptive ones, or at enough waiting jobs",
            "fti",
            "ati",
            "pnj",
        )
        interval_s: float = number(
            10.0,
            "seconds between rounds, or the least of them",
            low=PAUSE_S_MIN,
            needs="policy=fti|ati",
        )
        jobs_min: int = whole(
            2, "waiting jobs that call for a round (pnj)", low=1, high=1e6, needs="policy=pnj"
        )
        jobs_max: int | None = whole(None, "the most jobs that a round releases", low=1, high=1e6)
        exact_jobs_max: int = whole(
            7,
            "up to this many jobs the best order is searched",
            low=1,
            high=10,
            reason="bounds the time of an exact search, which grows with the factorial",
        )
        objective: str = word("makespan", "what a round minimises", "makespan", "tct")

    def __init__(
        self, *, engine: OrderingEngine, timing: Timing, jobs_max: int | None = None
    ) -> None:
        super().__init__()
        self._engine = engine
        self._timing = timing
        self._jobs_max = jobs_max
        self._waits_since_s: dict[str, float] = {}
        self.rounds: list[Round] = []

    def saved(self) -> dict[str, object]:
        return {"waits_since_s": self._waits_since_s, "rounds_from_s": self._timing.from_s}

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        self._waits_since_s = {str(name): float(at) for name, at in saved["waits_since_s"].items()}
        self._timing.from_s = float(saved["rounds_from_s"])

    @property
    def waits_without_bound(self) -> str:
        return "" if self._timing.is_bounded else "waits until enough jobs have come"

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        for entry in reversed(waiting):
            if entry.job_id in self._waits_since_s:
                break  # those before it came before it
            self._waits_since_s[entry.job_id] = now_s
        if not any(node.is_up for node in state.nodes.values()):
            return ReleaseOrder(())  # no cluster to order for yet; the first node brings a round
        order = owed_release(waiting, state)
        left = [entry for entry in waiting if entry not in order] if order else list(waiting)
        while self._timing.is_due(
            len(left), self._since_s(left, now_s), now_s, is_closed=state.is_closed
        ):
            taken, left = left[: self._jobs_max], left[len(left[: self._jobs_max]) :]
            order += self._held(taken, state, now_s)
        for entry in order:
            self._waits_since_s.pop(entry.job_id, None)
        wake_at_s = self._timing.wake_at_s(self._since_s(left, now_s)) if left else None
        return ReleaseOrder(order, wake_at_s)

    def _since_s(self, left: Sequence[JobEntry], now_s: float) -> float:
        """Since when the one that has waited longest has waited: the first in line."""
        return self._waits_since_s[left[0].job_id] if left else now_s

    def _held(self, taken: list[JobEntry], state: ClusterState, now_s: float) -> list[JobEntry]:
        """One round over the taken jobs."""
        slots = widths(state)
        positions = self._engine([entry.job for entry in taken], *slots)
        if sorted(positions) != list(range(len(taken))):
            raise InvalidInput(
                f"the ordering engine returned {list(positions)[:20]} for {len(taken)} jobs",
                where="mrorder",
                hint="return every position from 0 once",
            )
        ordered = [taken[position] for position in positions]
        fluid_s = fluid_makespan_s([slot_work(entry.job) for entry in ordered], *slots)
        self.rounds.append(Round(now_s, tuple(entry.job_id for entry in ordered), fluid_s))
        self._timing.held(now_s, fluid_s)
        return ordered

    def report(self) -> Mapping[str, object]:
        return {"rounds": [{**each._asdict(), "order": list(each.order)} for each in self.rounds]}
