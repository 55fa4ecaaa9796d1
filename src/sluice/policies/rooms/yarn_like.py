"""Equal containers in the manner of YARN: any slot takes any kind of task.

Jobs are ordered by running containers / weight. Within a job startable reduces go before maps, but
while maps are unfinished its reduces hold at most `ramp` of its fair share of the containers:
without that limit they could take every container and wait for maps for ever.
Source: dynamicmr spec, section 5.6.

Where no task starts early and no job has stages, this is `order=fewest+slots=containers`, with the
same digests, and any other axis of `yarn-like` is composed over these two. It has a loop of its own
for its speed: of 40,000 tasks each takes 1.2 us, and 2.8 us under the two parts, where the order
and the room are asked one candidate after the other. A ramp and later phases first are rules that
the parts do not have.

Containers that admission has promised to a job are kept for it, also while it cannot use them: jobs
below their promise come first, by running containers / promise, and beyond its promise a job only
gets containers that are not promised. No running task is killed to keep a promise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.number_table import NumberTable
from sluice.core.indexes.place_order import Order, Ranked
from sluice.core.offers import Offer
from sluice.core.protocols import TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.promised import is_reserved, reserved_reason
from sluice.policies.rooms.slot_counts import slots_busy
from sluice.policies.settings import YarnLikeSettings

_CONTAINER: Final = SlotKind.CONTAINER
_SHARE: Final = Reason(ReasonCode.CONTAINER_SHARE)
_OWN: Final = Reason(ReasonCode.OWN_CONTAINER)


class _JobPlace(Ranked):
    """The place of a job among those that have something to start."""

    def __init__(self, job: JobEntry) -> None:
        super().__init__(0.0, "", job.release_seq)
        self.job = job


@mypyc_attr(allow_interpreted_subclasses=True)
class YarnLike(TaskPolicy):
    """One pool of containers for all jobs."""

    name: ClassVar[str] = "yarn-like"
    Settings: ClassVar[type[Any]] = YarnLikeSettings
    remembers: ClassVar[tuple[str, ...] | None] = ()

    def attach(self, state: ClusterState) -> None:
        self._state = state
        self._jobs: Order[_JobPlace] = Order()
        self._places: NumberTable[_JobPlace] = NumberTable()  # by the order of submission
        self._touched = state.touched_phases(self._settle)

    def _settle(self) -> None:
        """Give the jobs whose phases have changed their places."""
        while (phase := self._touched.take()) is not None:
            self._place(phase.job)

    def _place(self, job: JobEntry) -> None:
        place = self._places.get(job.seq)
        if not _has_queued(job):
            if place is not None:
                self._jobs.remove(place)
                self._places.discard(job.seq)
            return
        if place is None:
            place = _JobPlace(job)
            self._places.put(job.seq, place)
        running = job.running
        if running < job.promised:
            self._jobs.put(place, 0, running / job.promised)
        else:
            self._jobs.put(place, 1, running / job.weight)

    def fill(self, offer: Offer) -> None:
        node = offer.node
        if not node.slots(_CONTAINER):
            return
        while node.free.containers.count:
            phase = self._next()
            if phase is None:
                return
            offer.start(phase, _CONTAINER, _OWN if phase.job.is_owed else _SHARE)

    def _next(self) -> PhaseEntry | None:
        if self._touched.count:
            self._settle()
        first = self._jobs.first()
        if first is None:
            return None
        if not (self._state.promises or self._state.machines.kept_free):
            phase = self._phase_of(first.job)
            if phase is not None:
                return phase  # as nearly always
        only_owed = is_reserved(self._state)
        for place in self._jobs.in_order():
            job = place.job
            if only_owed and not job.is_owed:
                return None  # jobs below their promise come first, so none follows
            phase = self._phase_of(job)
            if phase is not None:
                return phase
        return None

    def _phase_of(self, job: JobEntry) -> PhaseEntry | None:
        """Return what the job would start next: later phases first, as far as their ramp allows."""
        phases = job.phases
        for index in range(len(phases) - 1, -1, -1):
            phase = phases[index]
            if phase.is_queued and (phase.has_inputs or phase.running < self._ramp(phase)):
                return phase
        return None

    def _ramp(self, phase: PhaseEntry) -> int:
        """Containers a phase may hold while the phases it reads from are unfinished."""
        jobs, containers = self._state.active.values(), self._state.slots[_CONTAINER]
        share = containers * phase.job.job.weight / math.fsum(job.job.weight for job in jobs)
        ramp_share: float = self.settings.ramp
        ramp = max(1, math.floor(ramp_share * share))
        # Many small ramps must not add up to every container: one stays for the maps at least.
        most = min(math.floor(ramp_share * containers), containers - 1)
        return int(min(ramp, phase.running + most - sum(map(_running_early, jobs))))

    @property
    def has_any_slot(self) -> bool:
        return True

    def keeps_promises(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> bool:
        return True

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        if not phase.has_inputs and phase.running >= self._ramp(phase):
            return Reason(ReasonCode.RAMP, (("running", phase.running),))
        if not phase.job.is_owed and is_reserved(state):
            return reserved_reason(state)
        self._settle()
        ahead = 0
        for place in self._jobs.in_order():
            if place.job is phase.job:
                break
            ahead += 1
        if ahead and _has_queued(phase.job):
            return Reason(
                ReasonCode.JOB_OVER_SHARE, (("running", phase.job.running), ("jobs", ahead))
            )
        return slots_busy(state, _CONTAINER)


def _running_early(job: JobEntry) -> int:
    """Tasks of a job that run while phases they read from are unfinished."""
    return sum(phase.running for phase in job.phases if not phase.has_inputs)


def _has_queued(job: JobEntry) -> bool:
    """Whether any of its phases has tasks to start."""
    for phase in job.phases:  # noqa: SIM110  # a generator takes longer
        if phase.is_queued:
            return True
    return False
