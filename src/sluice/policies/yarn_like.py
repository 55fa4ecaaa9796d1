"""Equal containers in the manner of YARN: any slot takes any kind of task.

Jobs are ordered by running containers / weight. Within a job startable reduces go before maps, but
while maps are unfinished its reduces hold at most `ramp` of its fair share of the containers:
without that limit they could take every container and wait for maps for ever.
Source: dynamicmr spec, section 5.6.

Containers that admission has promised to a job are kept for it, also while it cannot use them: jobs
below their promise come first, by running containers / promise, and beyond its promise a job only
gets containers that are not promised. No running task is killed to keep a promise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.core.entries import JobEntry, NodeEntry, PhaseEntry
from sluice.core.protocols import Assignment, SlotShortage, TaskPolicy
from sluice.core.ranking import Ranking
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.job import SlotKind
from sluice.model.settings import SettingsGroup, share

_CONTAINER = SlotKind.CONTAINER
_SHARE = Reason(ReasonCode.CONTAINER_SHARE)
_OWN = Reason(ReasonCode.OWN_CONTAINER)


class YarnLike(TaskPolicy):
    """One pool of containers for all jobs."""

    name = "yarn-like"

    @dataclass(frozen=True, kw_only=True)
    class Settings(SettingsGroup):
        """Source: dynamicmr spec, section 5.6."""

        ramp: float = share(
            0.5, "share of a job's containers that its early reduces may hold (yarn-like)"
        )

    def attach(self, state: ClusterState) -> None:
        self._state = state
        self._jobs: Ranking[JobEntry] = Ranking(_key)
        state.observe(self, self._jobs.settle)

    def touch(self, phase: PhaseEntry) -> None:
        """Keep the order of jobs in step."""
        self._jobs.touch(phase.job)

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterator[Assignment]:
        if not node.node.slots(_CONTAINER):
            return  # a node that is limited by its resources alone
        while node.free[_CONTAINER]:
            phase = self._next()
            if phase is None:
                return
            yield Assignment(phase, _CONTAINER, _OWN if _is_owed(phase.job) else _SHARE)

    def _next(self) -> PhaseEntry | None:
        for job in self._jobs.in_order():
            if self._state.promises and not _is_owed(job) and self._state.spare_containers() <= 0:
                return None  # jobs below their promise come first, so none follows
            phase = self._phase_of(job)
            if phase is not None:
                return phase
        return None

    def _phase_of(self, job: JobEntry) -> PhaseEntry | None:
        """What the job would start next: later phases first, as far as their ramp allows."""
        for phase in reversed(job.phases):
            if phase.is_queued and phase.running < self._limit(phase):
                return phase
        return None

    def _limit(self, phase: PhaseEntry) -> float:
        """Containers a phase may hold while the phases it reads from are unfinished."""
        if phase.has_inputs:
            return math.inf
        jobs, containers = self._state.active.values(), self._state.slots[_CONTAINER]
        share = containers * phase.job.job.weight / math.fsum(job.job.weight for job in jobs)
        ramp_share: float = self.settings.ramp
        ramp = max(1, math.floor(ramp_share * share))
        # Many small ramps must not add up to every container: one stays for the maps at least.
        most = min(math.floor(ramp_share * containers), containers - 1)
        return min(ramp, phase.running + most - sum(map(_running_early, jobs)))

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        if any(node.slots(_CONTAINER) for node in nodes):
            return None
        return SlotShortage("the cluster has no slots", "give the cluster containers")

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        if phase.running >= self._limit(phase):
            return Reason(ReasonCode.RAMP, (("running", phase.running),))
        mine = _key(phase.job)
        if self._state.promises and not _is_owed(phase.job) and state.spare_containers() <= 0:
            return Reason(ReasonCode.CONTAINERS_PROMISED, (("jobs", len(self._state.promises)),))
        ahead = 0
        for job in self._jobs.in_order():
            if job is phase.job:
                break
            ahead += 1
        if ahead and mine is not None:
            return Reason(
                ReasonCode.JOB_OVER_SHARE, (("running", phase.job.running), ("jobs", ahead))
            )
        numbers = (("slots", state.slots[_CONTAINER]), ("kind", "container"))
        return Reason(ReasonCode.SLOTS_BUSY, numbers)


def _running_early(job: JobEntry) -> int:
    """Tasks of a job that run while phases they read from are unfinished."""
    return sum(phase.running for phase in job.phases if not phase.has_inputs)


def _is_owed(job: JobEntry) -> bool:
    """Whether the job runs less than it was promised."""
    return job.running < job.promised


def _key(job: JobEntry) -> tuple[int, float, int] | None:
    if not any(phase.is_queued for phase in job.phases):
        return None
    running = job.running
    if running < job.promised:
        return (0, running / job.promised, job.release_seq)
    return (1, running / job.job.weight, job.release_seq)
