"""Jobs and nodes that RAS cannot place by resources, found before anything runs.

Where neither a node has a capacity nor a task a demand, the only resource is slots: every slot
takes one task of any kind. Otherwise capacities and demands must be complete. Source: RAS spec,
section 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.fitting import shortage_of
from sluice.model.job import Job, Phase
from sluice.model.resources import RESOURCE_NAMES, Resources
from sluice.model.slot_kind import SlotKind

_FILE_NAMES = {SlotKind.MAP: "demand.map", SlotKind.REDUCE: "demand.reduce"}


def check_resources(jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
    """Raise InvalidInput that names the job or node and the field."""
    demands = [demand for job in jobs for phase in job.phases for demand in _demands(phase)]
    wanted = [name for name in RESOURCE_NAMES if any(getattr(one, name) for one in demands)]
    has_capacity = any(not node.capacity.is_zero for node in nodes)
    if not has_capacity and all(one.is_zero for one in demands):
        _check_slots(nodes)
        return
    for node in nodes:
        for name in wanted:
            if not getattr(node.capacity, name):
                raise InvalidInput(
                    f"{name} is missing, and jobs have a demand for it",
                    where=f"node {str(node.node_id)!r}",
                    hint=f"give the node an amount of {name} above 0, as in {name}: 100",
                )
    for job in jobs:
        for phase in job.phases:
            _check_phase(job, phase, nodes)


def _demands(phase: Phase) -> tuple[Resources, ...]:
    return (phase.demand.work, phase.demand.fetch, phase.demand.fetch_per_map)


def _check_slots(nodes: Sequence[Node]) -> None:
    if not any(node.slots(SlotKind.CONTAINER) for node in nodes):
        raise InvalidInput(
            "cpu, io and memory of the nodes are missing, and they have no slots",
            where="cluster",
            hint="give each node cpu, io and memory, and each job a demand; ras places by them",
        )


def _check_phase(job: Job, phase: Phase, nodes: Sequence[Node]) -> None:
    where = f"job {str(job.job_id)!r}"
    field = _FILE_NAMES.get(phase.kind, f"demand of phase {phase.name!r}")
    if phase.demand.work.is_zero:
        raise InvalidInput(
            f"{field} is missing or all zero",
            where=where,
            hint=f"give {field} an amount above 0; profile-run can measure it",
        )
    for what, demand in ((field, phase.demand.work), ("demand.shuffle", phase.demand.fetch)):
        short = shortage_of(demand, nodes)
        if short is not None:
            raise InvalidInput(
                f"{what} is more than any node has ({short}), so the task would wait for ever",
                where=where,
                hint="give a smaller demand or a larger node",
            )


def check_counts(job_id: str, slots: Mapping[str, object]) -> None:
    """Raise InvalidInput unless the slots of a job on each node are whole and at least 0."""
    for node_id, count in slots.items():
        if not isinstance(count, int) or count < 0:
            raise InvalidInput(
                f"slots is {count}",
                where=f"placement of job {job_id!r} on node {node_id!r}",
                hint="give a whole number of at least 0",
            )


def numbered(ids: list[str], what: str) -> dict[str, int]:
    """The place of each id. Raises InvalidInput for an id that is listed twice."""
    numbers = {one: number for number, one in enumerate(ids)}
    if len(numbers) < len(ids):
        twice = next(one for number, one in enumerate(ids) if numbers[one] != number)
        raise InvalidInput(f"{what} {twice!r} is listed twice", where=what, hint="list it once")
    return numbers
