"""Changes of a workload that may let one job end by an instant, each kind from the smallest on.

A change is tried by simulating the whole workload with it: nothing is concluded from the change
itself. The size of a change is what it adds, as a share of what there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.explain.helpful import HelpfulChange
from sluice.reporting.formatting import counted

FACTORS = range(2, 17)
STEPS_MAX = 32  # slots, nodes, places or tasks that are tried one by one; more are doubled
_DOUBLINGS = 6
_ORDER_SIZE, _DEADLINE_SIZE = 0.0, 0.25  # nothing is added, but others come later


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A workload with one change. text: for people.  size: by which changes are compared."""

    kind: str
    text: str
    size: float
    workload: Workload


Times = tuple[float | None, float | None]
Simulate = Callable[[Workload], Times]


def helpful_changes(
    workload: Workload, job_id: JobId, by_s: float, simulate: Simulate
) -> list[HelpfulChange]:
    """The smallest change of each kind with which the job ends by then, the smallest first.

    simulate: the start and the end of the job in a workload; None for what does not happen.
    """
    found = []
    for changes in _kinds(workload, job_id, by_s):
        for change in changes:
            start_s, end_s = simulate(change.workload)
            if start_s is not None and end_s is not None and end_s <= by_s:
                found.append(
                    HelpfulChange(
                        change=change.text,
                        kind=change.kind,
                        size=change.size,
                        starts_at_s=start_s,
                        ends_at_s=end_s,
                    )
                )
                break
    return sorted(found, key=lambda one: (one.size, one.kind, one.change))


def _kinds(workload: Workload, job_id: JobId, by_s: float) -> Iterator[Iterator[Change]]:
    """The changes of each kind, in the order of their sizes."""
    job = next(one for one in workload.jobs if one.job_id == job_id)
    yield _first_in_line(workload, job)
    yield _job_weights(workload, job)
    yield from _of_the_pool(workload, job)
    yield _deadline(workload, job, by_s)
    yield _smaller_gang(workload, job)
    yield from _slots(workload, job)


def _with_job(workload: Workload, job: Job, **fields: object) -> Workload:
    changed = replace(job, **fields)  # type: ignore[arg-type]  # fields of a job
    return replace(workload, jobs=tuple(changed if one is job else one for one in workload.jobs))


# --- of the job -----------------------------------------------------------------------------------


def _first_in_line(workload: Workload, job: Job) -> Iterator[Change]:
    """Before others that are submitted at the same instant: before as few as possible."""
    at = workload.jobs.index(job)
    ahead = [
        place
        for place, one in enumerate(workload.jobs[:at])
        if one.submitted_at_s == job.submitted_at_s
    ]
    for step in _steps_to(len(ahead)):
        place = ahead[-step]
        others = "the others of its instant" if step == len(ahead) else workload.jobs[place].job_id
        yield Change(
            kind="order",
            text=f"{job.job_id} is submitted before {others}",
            size=_ORDER_SIZE,
            workload=replace(
                workload,
                jobs=(
                    *workload.jobs[:place], job,
                    *workload.jobs[place:at], *workload.jobs[at + 1 :],
                ),
            ),
        )  # fmt: skip


def _job_weights(workload: Workload, job: Job) -> Iterator[Change]:
    for factor in FACTORS:
        weight = job.weight * factor
        yield Change(
            kind="weight",
            text=f"weight {weight:g} in place of {job.weight:g} for {job.job_id}",
            size=factor - 1.0,
            workload=_with_job(workload, job, weight=weight),
        )


def _deadline(workload: Workload, job: Job, by_s: float) -> Iterator[Change]:
    """Those that orders by deadline respect; without such an order they change nothing.

    The latest first: that instant, and then one between each two deadlines of other jobs before it.
    """
    latest_s = by_s if job.deadline_at_s is None else min(by_s, job.deadline_at_s)
    earlier = sorted(
        {
            one.deadline_at_s
            for one in workload.jobs
            if one is not job and one.deadline_at_s is not None
            and job.submitted_at_s < one.deadline_at_s <= latest_s
        },
        reverse=True,
    )  # fmt: skip
    found = [by_s] if latest_s == by_s != job.deadline_at_s else []
    for at_s, before_s in pairwise([*earlier, job.submitted_at_s]):
        found.append(max(at_s - 1.0, (at_s + before_s) / 2))
    for deadline_s in found[:STEPS_MAX]:
        if deadline_s > job.submitted_at_s:
            yield Change(
                kind="deadline",
                text=f"a deadline at {deadline_s:g} s for {job.job_id}",
                size=_DEADLINE_SIZE,
                workload=_with_job(
                    workload, job, deadline_at_s=deadline_s, shares_deadline_of=None
                ),
            )


def _smaller_gang(workload: Workload, job: Job) -> Iterator[Change]:
    """Fewer tasks that start together; all of them still run."""
    most = max((job.together(phase) for phase in job.phases), default=0) if job.gang else 0
    for fewer in _steps_to(most - 1):
        together = most - fewer
        yield Change(
            kind="request",
            text=f"{counted(together, 'task')} of {job.job_id} start together in place of {most}",
            size=1 - together / most,
            workload=_with_job(workload, job, gang=together if together > 1 else 0),
        )


# --- of its pool ----------------------------------------------------------------------------------


def _of_the_pool(workload: Workload, job: Job) -> Iterator[Iterator[Change]]:
    pool = next((one for one in workload.pools if one.pool_id == job.pool), None)
    if pool is None:
        return
    yield _pool_weights(workload, pool)
    for name in ("map_slots_min", "reduce_slots_min"):
        yield _more_of(workload, pool, name, "guaranteed to")
    for name in ("map_slots_max", "reduce_slots_max", "containers_max"):
        if getattr(pool, name) is not None:
            yield _more_of(workload, pool, name, "at most for")


def _pool_weights(workload: Workload, pool: Pool) -> Iterator[Change]:
    for factor in FACTORS:
        weight = pool.weight * factor
        yield Change(
            kind="pool weight",
            text=f"weight {weight:g} in place of {pool.weight:g} for pool {pool.pool_id}",
            size=factor - 1.0,
            workload=_with_pool(workload, pool, replace(pool, weight=weight)),
        )


def _more_of(workload: Workload, pool: Pool, name: str, words: str) -> Iterator[Change]:
    kind = SlotKind(name.partition("_")[0].removesuffix("s"))
    total = workload.required_cluster().slots(kind)
    now = getattr(pool, name)
    for more in _steps(total - now):
        yield Change(
            kind="quota",
            text=f"{counted(now + more, _noun(kind))} in place of {now} {words} pool"
            f" {pool.pool_id}",
            size=more / max(1, total),
            workload=_with_pool(workload, pool, replace(pool, **{name: now + more})),
        )


def _with_pool(workload: Workload, pool: Pool, changed: Pool) -> Workload:
    return replace(workload, pools=tuple(changed if one is pool else one for one in workload.pools))


# --- of the cluster -------------------------------------------------------------------------------


def _slots(workload: Workload, job: Job) -> Iterator[Iterator[Change]]:
    """More slots of the kinds that the job needs, or more nodes like the last one."""
    cluster = workload.required_cluster()
    if not cluster.is_totals:
        yield _more_nodes(workload, cluster)
        return
    kinds = tuple(dict.fromkeys(phase.kind for phase in job.phases))
    for kind in kinds:
        yield _more_slots(workload, cluster, (kind,))
    if len(kinds) > 1:
        yield _more_slots(workload, cluster, kinds)


def _more_slots(
    workload: Workload, cluster: Cluster, kinds: Sequence[SlotKind]
) -> Iterator[Change]:
    """Add slots of each kind so that their ratio stays."""
    node = cluster.nodes[0]
    totals = {kind: max(1, cluster.slots(kind)) for kind in kinds}
    most = max(totals.values())
    for step in _steps(2 * most):
        more = {kind: math.ceil(step * total / most) for kind, total in totals.items()}
        slots = {_field(kind): getattr(node, _field(kind)) + more[kind] for kind in kinds}
        larger: Node = replace(node, **slots)
        yield Change(
            kind="slots",
            text=" and ".join(counted(count, _noun(kind)) for kind, count in more.items())
            + " more",
            size=step / most,
            workload=replace(
                workload, cluster=replace(cluster, nodes=(larger, *cluster.nodes[1:]))
            ),
        )


def _field(kind: SlotKind) -> str:
    return "containers" if kind is SlotKind.CONTAINER else f"{kind.value}_slots"


def _noun(kind: SlotKind) -> str:
    return "container" if kind is SlotKind.CONTAINER else f"{kind.value} slot"


def _more_nodes(workload: Workload, cluster: Cluster) -> Iterator[Change]:
    last, taken = cluster.nodes[-1], {str(node.node_id) for node in cluster.nodes}
    names = (f"more-{number}" for number in range(1, len(taken) + 2**_DOUBLINGS * STEPS_MAX))
    free = [name for name in names if name not in taken]
    for more in _steps(2 * len(cluster.nodes)):
        added = tuple(replace(last, node_id=NodeId(name)) for name in free[:more])
        yield Change(
            kind="slots",
            text=f"{counted(more, 'node')} more",
            size=more / len(cluster.nodes),
            workload=replace(workload, cluster=replace(cluster, nodes=(*cluster.nodes, *added))),
        )


def _steps_to(most: int) -> Iterator[int]:
    """Steps up to the last one, which is always among them."""
    last = 0
    for last in _steps(most):
        yield last
    if last < most:
        yield most


def _steps(most: int) -> Iterator[int]:
    """1, 2, 3 and so on; from STEPS_MAX on each twice the one before."""
    yield from range(1, min(most, STEPS_MAX) + 1)
    step = 2 * STEPS_MAX
    while step <= most and step <= STEPS_MAX * 2**_DOUBLINGS:
        yield step
        step *= 2
