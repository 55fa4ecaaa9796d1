"""The loop that starts jobs as a whole, first come first served or with backfilling.

Jobs are served in any order (`--order`). The first whose tasks do not all have room waits for the
instant at which they will, by the estimates. Under `rigid` nothing behind it starts before. Under
`easy` it has a reservation, and others start if they do not delay it. Under `conservative` every
waiting job has one from its submission on, and none is moved to a later instant unless a task
overruns its estimate. Jobs that do not ask for it start task by task, in the same line.

Source: Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime estimates
in scheduling the IBM SP2 with backfilling", IEEE TPDS 12 (2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from sluice.core.entries import PhaseEntry
from sluice.core.offers import Offer
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.fitting import SlotShortage
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.policies.backfill.estimates import Estimates
from sluice.policies.backfill.nodes_seen import NodesSeen, room_when_idle, task_need
from sluice.policies.backfill.timetable import Amounts, Timetable, spread, take, tasks_of
from sluice.policies.decorator import Decorator, earlier
from sluice.policies.job_order import JobOrder
from sluice.policies.memory import Memory, phases_saved
from sluice.policies.rooms.room import FreeResources

_CONTAINER: Final = SlotKind.CONTAINER

Places = Sequence[tuple[int, int]]


class Reservation(NamedTuple):
    """From when on, and where, there is room for all tasks that start together."""

    at_s: float
    places: Places


class WholeJobs(Decorator):
    """Starts jobs of an order, each with all the tasks that it asks for at once, or not yet.

    reservations: how many waiting jobs have one; behind a job without one nothing starts.
    """

    has_any_slot = True
    needs_containers = True

    def __init__(self, line: JobOrder, reservations: int, estimates: Estimates) -> None:
        super().__init__(line)
        self._line = line
        self._most = reservations
        self._estimates = estimates
        self._reserved: dict[PhaseEntry, Reservation] = {}
        self._ended_s: list[float] = []  # instants reserved for jobs that ended before an opening
        self._seen_at: tuple[float, ...] = ()

    def attach(self, state: ClusterState) -> None:
        super().attach(state)
        self._state = state
        self._nodes = NodesSeen(state)
        state.observe_attempts(self._estimates)

    def memory(self) -> Memory:
        reserved = self._reserved.items()
        ended_s = [one.at_s for phase, one in reserved if phase.job.has_ended]
        return {
            "reserved": [
                (*name, one.at_s, one.places)
                for phase, one in reserved
                for name in phases_saved([phase])
            ],
            "ended_s": sorted([*self._ended_s, *ended_s]),
            "is_seen": self._seen_at == self._facts(),
            **self._estimates.saved(),
        }

    def remember(self, own: Memory, state: ClusterState) -> None:
        self._reserved = {
            state.jobs[job_id].phases[index]: Reservation(at_s, [(at, n) for at, n in places])
            for job_id, index, at_s, places in own["reserved"]
        }
        self._ended_s = list(own["ended_s"])
        self._seen_at = self._facts() if own["is_seen"] else ()
        self._estimates.restored(own, state)

    # --- what is offered ----------------------------------------------------------------------

    def fill(self, offer: Offer) -> None:
        now_s = offer.now_s
        self._line.begin(now_s)
        self._nodes.look()
        self._ended_s = []
        round_ = _Round(self._nodes, self._estimates, self._state, now_s)
        if self._most > 1:
            self._renew(round_)
        else:
            self._reserved = {}
        while self._start_next(offer, round_):
            pass
        self._line.end(now_s)
        self._seen_at = self._facts()

    def next_node(self, index: int, state: ClusterState) -> int:
        # One offer is enough: what may start, starts on all nodes.
        if self._seen_at == self._facts():
            return -1
        if self._most > 1 and index == 0 and state.node_at:
            return 0  # also of a full cluster, for a reservation
        return state.open_nodes.containers.first_from(index)

    def _facts(self) -> tuple[float, ...]:
        """Return what a decision depends on, within an instant."""
        state = self._state
        return (state.now_s, state.startable, state.busy, len(state.closed), state.node_changes)

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        return slot_kind is _CONTAINER and state.startable > 0

    def wants_offer(self, state: ClusterState) -> bool:
        return False

    # --- one decision -------------------------------------------------------------------------

    def _renew(self, round_: _Round) -> None:
        """Reserve again, in the order of the reservations: none is then later than it was."""
        known = sorted(self._reserved, key=self._place)
        self._reserved = {}
        for phase in known:
            if phase.is_queued:
                self._reserve(phase, round_)

    def _place(self, phase: PhaseEntry) -> tuple[float, tuple[int, int]]:
        return self._reserved[phase].at_s, (phase.job.release_seq, phase.index)

    def _start_next(self, offer: Offer, round_: _Round) -> bool:
        """Start the first that may; False if none may."""
        is_full = round_.is_full
        for phase in self._line.candidates(_CONTAINER):
            if is_full and len(self._reserved) >= self._most:
                return False  # nothing starts, and nothing more is reserved
            reserved = self._reserved.get(phase)
            if reserved is not None:
                if reserved.at_s > round_.now_s:
                    continue
                self._start(offer, phase, reserved.places, round_, is_due=True)
                return True
            if phase.phase.after and not phase.has_inputs:
                continue  # it would hold its room, and wait for tasks that have none
            if phase in round_.blocked:
                continue  # what has started since has made no room
            least, most = _least(phase), _most(phase)
            if most < least:
                continue  # its pool is at its cap, which no room of the cluster changes
            places = round_.places_now(phase, least, most)
            if places:
                self._start(offer, phase, places, round_, is_due=False)
                return True
            round_.blocked.add(phase)
            if not self._reserve(phase, round_):
                return False
        return False

    def _reserve(self, phase: PhaseEntry, round_: _Round) -> bool:
        """Keep room for a phase that has none now; False if nothing may start behind it."""
        if len(self._reserved) < self._most:
            found = round_.reserve(phase, _least(phase))
            if found is not None:
                self._reserved[phase] = found
        return self._most > 0  # others may still start, if they delay no reservation

    def _start(
        self, offer: Offer, phase: PhaseEntry, places: Places, round_: _Round, *, is_due: bool
    ) -> None:
        reason = self._reason(phase)
        round_.occupy(phase, places, is_due=is_due)
        self._reserved.pop(phase, None)
        reserve = phase.phase.demand.work if self._nodes.has_resources else None
        for node, tasks in list(self._nodes.on_nodes(places, round_.now_s)):
            here = offer.on(node)
            left = tasks
            while left:
                before = phase.pending.count
                one = left if phase.alike and reserve is None else 1
                here.start(phase, _CONTAINER, reason, one, None, reserve)
                left -= before - phase.pending.count

    def _reason(self, phase: PhaseEntry) -> Reason:
        ahead = self._first_reserved()
        if ahead is None or ahead is phase:
            return self._line.start_reason(phase)
        return Reason(ReasonCode.BACKFILLED, self._numbers_of(ahead))

    def _first_reserved(self) -> PhaseEntry | None:
        return min(self._reserved, key=self._place, default=None)

    def _numbers_of(self, ahead: PhaseEntry) -> tuple[tuple[str, float | str], ...]:
        return (("next", str(ahead.job_id)), ("at_s", self._reserved[ahead].at_s))

    # --- questions ----------------------------------------------------------------------------

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        # A task that should have ended by then is then expected to run on.
        reserved_s = [*self._ended_s, *(one.at_s for one in self._reserved.values())]
        ahead_s = min((at_s for at_s in reserved_s if at_s > now_s), default=None)
        return earlier(super().wake_at_s(state, now_s), ahead_s)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        least = _least(phase)
        free = sum(amounts[0] for amounts in self._nodes.free(now_s))
        numbers = (("tasks", least), ("free", free), ("slots", state.slots[_CONTAINER]))
        if phase in self._reserved:
            at_s = self._reserved[phase].at_s
            return Reason(ReasonCode.RESERVED_FROM, (*numbers, ("at_s", at_s)))
        ahead = self._first_reserved()
        if ahead is not None and free >= least:
            return Reason(ReasonCode.WOULD_DELAY, (*numbers, *self._numbers_of(ahead)))
        reason = super().explain(phase, state, now_s)
        if reason.code is ReasonCode.SLOTS_BUSY and free:
            return Reason(ReasonCode.NEEDS_TOGETHER if least > 1 else ReasonCode.NO_FIT, numbers)
        return reason

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        return False

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        return FreeResources().shortage(kind, nodes)

    def check(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
        super().check(jobs, nodes)
        free, by_node = room_when_idle(nodes)
        for job in jobs:
            for phase in job.phases:
                together = max(1, job.together(phase))
                places = spread(free, task_need(phase, has_resources=by_node), together)
                if tasks_of(places) < together:
                    raise InvalidInput(
                        f"{together} tasks of {phase.name} start together, and the idle cluster has"
                        f" room for {tasks_of(places)}",
                        where=f"job {job.job_id!r}",
                        hint="give the cluster more slots, or the job a smaller gang",
                    )


class _Round:
    """The free resources in one decision, with what has started and is reserved in it."""

    def __init__(
        self, nodes: NodesSeen, estimates: Estimates, state: ClusterState, now_s: float
    ) -> None:
        self.now_s = now_s
        self._nodes = nodes
        self._estimates = estimates
        self._state = state
        self._free: list[Amounts] = nodes.free(now_s)
        self._timetable: Timetable | None = None  # made once something is reserved
        self.blocked: set[PhaseEntry] = set()  # those that found no room, and get none in it

    @property
    def is_full(self) -> bool:
        """Whether no slot is free."""
        return all(amounts[0] < 1 for amounts in self._free)

    def places_now(self, phase: PhaseEntry, least: int, most: int) -> Places:
        """Where at least so many tasks of a phase may start now; empty if fewer may."""
        need = self._nodes.need(phase.phase)
        places = spread(self._free, need, most)
        if tasks_of(places) < least:
            return []
        if self._timetable is None:
            return places
        return self._timetable.places_now(need, least, most, self._estimates.run_s(phase))

    def occupy(self, phase: PhaseEntry, places: Places, *, is_due: bool) -> None:
        """Tasks of the phase start in these places. is_due: the timetable has them already."""
        need = self._nodes.need(phase.phase)
        take(self._free, places, need)
        if self._timetable is not None and not is_due:
            self._timetable.hold(self.now_s, self._estimates.run_s(phase), places, need)

    def reserve(self, phase: PhaseEntry, tasks: int) -> Reservation | None:
        """Keep room for so many tasks of a phase as soon as there is some; None for never."""
        if self._timetable is None:
            self._timetable = self._made()
        need, run_s = self._nodes.need(phase.phase), self._estimates.run_s(phase)
        found = self._timetable.earliest(need, tasks, run_s)
        if found is None:
            return None
        self._timetable.hold(found[0], run_s, found[1], need)
        return Reservation(*found)

    def _made(self) -> Timetable:
        running = self._state.running.values()
        releases = [
            self._nodes.release(attempt, self._estimates.end_s(attempt, self.now_s))
            for attempt in running
            if attempt.node.is_up
        ]
        return Timetable(self.now_s, self._free, releases)


def _least(phase: PhaseEntry) -> int:
    """How many tasks must start together: one at a time once others of the phase have."""
    has_begun = phase.running or phase.done
    together = 1 if has_begun else phase.job.job.together(phase.phase)
    return max(1, min(together, phase.pending.count))


def _most(phase: PhaseEntry) -> int:
    """How many may start: those that wait, as far as the cap of the pool goes."""
    pool = phase.job.pool
    cap = pool.pool.slots_max(_CONTAINER)
    if cap == math.inf:
        return phase.pending.count
    running = sum(one.running for job in pool.jobs.values() for one in job.phases)
    return max(0, min(phase.pending.count, int(cap) - running))
