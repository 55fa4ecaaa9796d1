"""How many slots a cluster had: from its logs, or from the most tasks at once.

For each kind of slot, the first of these that is known:

    what was asked for
    what a log that is a workload says of its own cluster
    what runs say of their slots, the most that they had together at one instant
    how many tasks ran side by side at one instant, where a run says nothing
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from sluice.model.cluster import SLOTS_MAX, Cluster
from sluice.model.history import SHARED_SLOTS, PastRun
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind

Change = tuple[float, int]  # at an instant, so many more

_ASK = "The logs do not contain the cluster's number of slots: set map_slots and reduce_slots."
_KINDS = {"map": SlotKind.MAP, "reduce": SlotKind.REDUCE}


def cluster_of(
    runs: Sequence[PastRun],
    jobs: Iterable[Job],
    clusters: Sequence[Cluster],
    map_slots: int | None,
    reduce_slots: int | None,
    containers: int | None = None,
) -> tuple[Cluster | None, list[str]]:
    """The cluster, None where a kind that the jobs need is not known; and how it was found.

    clusters: clusters of logs that are workloads.  map_slots, reduce_slots, containers: what
    was asked for. Without containers of their own, jobs of stages run in the typed slots.
    """
    asked = {SlotKind.MAP: map_slots, SlotKind.REDUCE: reduce_slots}
    is_asked = map_slots is not None or reduce_slots is not None or containers
    if clusters and not is_asked and (not runs or clusters[0].slots(SlotKind.CONTAINER)):
        return clusters[0], ["The cluster is that of the log."]
    needed = {phase.kind for job in jobs for phase in job.phases}
    has_shared = SlotKind.CONTAINER in needed
    slots: dict[SlotKind, int] = {}
    notes = []
    for kind, wanted in asked.items():
        typed = [run for run in runs if not (has_shared and run.source in SHARED_SLOTS)]
        slots[kind], why = _slots(kind, wanted, typed, clusters)
        if kind in needed or slots[kind]:
            notes.append(f"{kind.value}_slots = {slots[kind]}: {why}.")
    slots[SlotKind.CONTAINER] = 0
    if containers is not None or (has_shared and map_slots is None and reduce_slots is None):
        shared = [run for run in runs if run.source in SHARED_SLOTS]
        slots[SlotKind.CONTAINER], why = _containers(containers, shared)
        notes.append(f"containers = {slots[SlotKind.CONTAINER]}: {why}.")
    # Any slot can serve as a container.
    if not all(slots[kind] or kind is SlotKind.CONTAINER for kind in needed) or not any(
        slots.values()
    ):
        return None, [_ASK]
    return Cluster.of_slots(slots), notes


def _slots(
    kind: SlotKind, wanted: int | None, runs: Sequence[PastRun], clusters: Sequence[Cluster]
) -> tuple[int, str]:
    """The number and its source; 0 if unknown."""
    if wanted is not None:
        return wanted, "as asked for"
    if clusters:
        return max(cluster.slots(kind) for cluster in clusters), "from the log"
    users = [run for run in runs if any(phase.kind == kind.value for phase in run.phases)]
    said = slots_at_once(users, kind.value)
    if all(run.slots.get(kind.value) for run in users) and said:
        return min(said, SLOTS_MAX), "from the log"
    seen = max(said, tasks_at_once(users, kind.value))
    how = "the most tasks that ran side by side in the log" if seen else "not in the log"
    return min(seen, SLOTS_MAX), how


def _containers(wanted: int | None, runs: Sequence[PastRun]) -> tuple[int, str]:
    """The number of containers for runs whose cores run all stages, and its source."""
    if wanted is not None:
        return wanted, "as asked for"
    said = slots_at_once(runs, "map")
    if all(run.slots.get("map") for run in runs) and said:
        return min(said, SLOTS_MAX), "cores in the log, for tasks of any stage"
    seen = max(said, tasks_at_once(runs))
    return min(seen, SLOTS_MAX), "the most tasks that ran side by side in the log"


def slots_of(run: PastRun) -> dict[SlotKind, int]:
    """The slots that a run had, by kind: as its log says, or the most tasks at once."""
    if run.source in SHARED_SLOTS:
        return {SlotKind.CONTAINER: run.slots.get("map", 0) or tasks_at_once([run]) or 1}
    any_kind = SlotKind.CONTAINER
    if any(phase.kind == any_kind.value for phase in run.phases):
        return {any_kind: run.slots.get(any_kind.value) or tasks_at_once([run]) or 1}
    return {
        kind: run.slots.get(name) or tasks_at_once([run], name)
        for name, kind in _KINDS.items()
        if any(phase.kind == name for phase in run.phases)
    }


def slots_at_once(runs: Iterable[PastRun], kind: str) -> int:
    """The most slots of a kind that runs had together at one instant.

    A run without times counts alone.
    """
    always = 0
    changes: list[Change] = []
    for run in runs:
        slots = run.slots.get(kind, 0)
        if run.submitted_at_s is None or run.elapsed_s is None:
            always = max(always, slots)
        else:
            changes += [(run.submitted_at_s, slots), (run.submitted_at_s + run.elapsed_s, -slots)]
    return max(always, _highest(changes))


def tasks_at_once(runs: Iterable[PastRun], kind: str | None = None) -> int:
    """The most tasks that ran at one instant, over all runs that list their tasks.

    kind: of this kind only.
    """
    changes: list[Change] = []
    for run in runs:
        began_s = run.submitted_at_s or 0.0
        for phase in run.phases:
            if kind in (None, phase.kind):
                changes += ((began_s + task.started_at_s, 1) for task in phase.timeline)
                changes += ((began_s + task.finished_at_s, -1) for task in phase.timeline)
    return _highest(changes)


def _highest(changes: list[Change]) -> int:
    changes.sort()  # what ends at an instant ends before what begins then
    return max(accumulate(change for _, change in changes), default=0)
