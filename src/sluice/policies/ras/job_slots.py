"""The job slots of the current placement, by node, as the task scheduler uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sluice.core.entries import JobEntry, NodeEntry
from sluice.policies.ras.placement import Placement


class SlotPair(NamedTuple):
    """Slots of one job on one node."""

    maps: int
    reduces: int


NO_SLOTS = SlotPair(0, 0)


class JobSlots:
    """Slots by node and job, and the published utility of each job."""

    def __init__(self) -> None:
        self.on: dict[NodeEntry, dict[JobEntry, SlotPair]] = {}
        self.utility: dict[JobEntry, float] = {}
        self.needed: dict[JobEntry, int] = {}
        self.yielding: dict[JobEntry, None] = {}

    def publish(
        self, placement: Placement, nodes: Mapping[str, NodeEntry], jobs: Mapping[str, JobEntry]
    ) -> None:
        """Replace all slots by those of a new placement."""
        entries = [jobs[need.job_id] for need in placement.jobs]
        self.on = {}
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
        pairs = [on[job] for on in self.on.values() if job in on]
        return SlotPair(sum(pair.maps for pair in pairs), sum(pair.reduces for pair in pairs))

    def by_id(self, kind: str) -> dict[str, dict[str, int]]:
        """Slots of a kind ("maps" or "reduces") by job id and node id, on nodes that are up."""
        found: dict[str, dict[str, int]] = {}
        for node, on in self.on.items():
            if node.is_up:
                for job, pair in on.items():
                    found.setdefault(job.job_id, {})[node.node_id] = getattr(pair, kind)
        return found
