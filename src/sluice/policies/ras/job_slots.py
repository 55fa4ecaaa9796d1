"""The job slots of the current placement, by node, as the task scheduler uses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sluice.core.entries import JobEntry, NodeEntry
from sluice.core.state import ClusterState
from sluice.policies.memory import finite, or_infinite
from sluice.policies.ras.placement import Placement
from sluice.policies.ras.utility import NO_SLOT


class SlotPair(NamedTuple):
    """Slots of one job on one node."""

    maps: int
    reduces: int


NO_SLOTS = SlotPair(0, 0)


class JobSlots:
    """Slots by node and job, and the published utility of each job."""

    def __init__(self) -> None:
        self.on: dict[NodeEntry, dict[JobEntry, SlotPair]] = {}
        self.lost: dict[JobEntry, SlotPair] = {}  # on nodes that were lost before an opening
        self.utility: dict[JobEntry, float] = {}
        self.needed: dict[JobEntry, int] = {}
        self.yielding: dict[JobEntry, None] = {}

    def saved(self) -> dict[str, object]:
        """The content as JSON values, without jobs that have ended."""
        lost = {job: self._lost(job) for job in self.utility}
        return {
            "on": [(node.index, _rows(on)) for node, on in self.on.items() if node.is_up],
            "lost": _rows({job: pair for job, pair in lost.items() if any(pair)}),
            "jobs": [
                (job.job_id, finite(utility), self.needed[job], job in self.yielding)
                for job, utility in self.utility.items()
                if not job.has_ended
            ],
        }

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        """Remember again what `saved` returned."""
        jobs = [(state.jobs[job_id], *rest) for job_id, *rest in saved["jobs"]]
        self.utility = {job: or_infinite(utility, NO_SLOT) for job, utility, *_ in jobs}
        self.needed = {job: int(needed) for job, _, needed, _ in jobs}
        self.yielding = {job: None for job, _, _, yields in jobs if yields}
        self.on = {state.node_at[index]: _pairs(rows, state) for index, rows in saved["on"]}
        self.lost = _pairs(saved["lost"], state)

    def _lost(self, job: JobEntry) -> SlotPair:
        """Slots on nodes that are lost; they count until the next placement."""
        pairs = [on[job] for node, on in self.on.items() if job in on and not node.is_up]
        pairs += [self.lost[job]] if job in self.lost else []
        return SlotPair(sum(pair.maps for pair in pairs), sum(pair.reduces for pair in pairs))

    def publish(
        self, placement: Placement, nodes: Mapping[str, NodeEntry], jobs: Mapping[str, JobEntry]
    ) -> None:
        """Replace all slots by those of a new placement."""
        entries = [jobs[need.job_id] for need in placement.jobs]
        self.on, self.lost = {}, {}
        for index, node in enumerate(placement.nodes):
            maps, reduces = placement.maps_on[index], placement.reduces_on[index]
            self.on[nodes[node.node_id]] = {
                entries[job]: SlotPair(maps.get(job, 0), reduces.get(job, 0))
                for job in {**maps, **reduces}
            }
        self.utility = dict(zip(entries, placement.utility, strict=True))
        self.needed = {
            entry: need.map_slots_needed
            for entry, need in zip(entries, placement.jobs, strict=True)
        }
        self.yielding = {
            entry: None for entry, need in zip(entries, placement.jobs, strict=True) if need.yields
        }

    def drop_reduce(self, job: JobEntry, node: NodeEntry) -> None:
        """A reduce has ended, and its slot with it."""
        on = self.on.get(node, {})
        pair = on.get(job, NO_SLOTS)
        if pair.reduces:
            on[job] = pair._replace(reduces=pair.reduces - 1)

    def of(self, job: JobEntry) -> SlotPair:
        """All slots of a job."""
        pairs = [on[job] for on in (*self.on.values(), self.lost) if job in on]
        return SlotPair(sum(pair.maps for pair in pairs), sum(pair.reduces for pair in pairs))

    def reduces(self) -> dict[JobEntry, int]:
        """The reduce slots of each job that has slots."""
        counts: dict[JobEntry, int] = {}
        for on in (*self.on.values(), self.lost):
            for job, pair in on.items():
                counts[job] = counts.get(job, 0) + pair.reduces
        return counts

    def by_id(self, kind: str) -> dict[str, dict[str, int]]:
        """Slots of a kind ("maps" or "reduces") by job id and node id, on nodes that are up."""
        found: dict[str, dict[str, int]] = {}
        for node, on in self.on.items():
            if node.is_up:
                for job, pair in on.items():
                    found.setdefault(job.job_id, {})[node.node_id] = getattr(pair, kind)
        return found


def _rows(on: Mapping[JobEntry, SlotPair]) -> list[tuple[str, int, int]]:
    return [(str(job.job_id), *pair) for job, pair in on.items() if not job.has_ended]


def _pairs(rows: Iterable[Any], state: ClusterState) -> dict[JobEntry, SlotPair]:
    return {state.jobs[job_id]: SlotPair(maps, reduces) for job_id, maps, reduces in rows}
