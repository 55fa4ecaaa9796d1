"""Changes of a workload that may let one job end by an instant, each kind from the smallest on.

A change is tried by simulating the whole workload with it: nothing is concluded from the change
itself. The size of a change is what it adds, as a share of what there is.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice, pairwise

from sluice.bootstrap.diagnosis.queue_changes import QueueChange, queue_changes
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.model.queue_tree import QueueTree
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.explain.helpful import HelpfulChange
from sluice.reporting.formatting import counted

FACTOR_MAX = 16
STEPS_MAX = 32  # slots, nodes, places or tasks tried one by one; more are doubled, then halved
_DOUBLINGS = 6
_ORDER_SIZE, _DEADLINE_SIZE = 0.0, 0.25  # nothing is added, but others come later


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A workload with one change. text: for people.  size: by which changes are compared.

    tree: queues of a configuration, if the change is theirs.
    """

    kind: str
    text: str
    size: float
    workload: Workload
    tree: QueueTree | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """Changes of one kind, by their size in steps from 1 to `most`."""

    most: int
    change: Callable[[int], Change]


Times = tuple[float | None, float | None]
Simulate = Callable[[Change], Times]


def helpful_changes(
    workload: Workload,
    job_id: JobId,
    by_s: float,
    simulate: Simulate,
    queue: tuple[QueueTree, str] | None = None,
) -> list[HelpfulChange]:
    """The smallest change of each kind with which the job ends by then, the smallest first.

    simulate: the start and the end of the job after a change; None for what does not happen.
    queue: of a scheduler's configuration, and the path of the job's own in it.
    """
    kinds = chain(_kinds(workload, job_id, by_s), _of_the_queue(workload, queue))
    found = (_smallest(kind, by_s, simulate) for kind in kinds)
    return sorted(filter(None, found), key=lambda one: (one.size, one.kind, one.change))


def _smallest(kind: Kind, by_s: float, simulate: Simulate) -> HelpfulChange | None:
    """The first step that helps. Where steps are doubled, the gap before it is halved further."""
    tried: dict[int, HelpfulChange | None] = {}

    def helps(step: int) -> bool:
        if step not in tried:
            change = kind.change(step)
            tried[step] = _outcome(change, *simulate(change), by_s)
        return tried[step] is not None

    before = 0
    for step in _steps(kind.most):
        if helps(step):
            between = range(before + 1, step + 1)
            return tried[between[bisect_left(between, x=True, key=helps)]]
        before = step
    return None


def _outcome(
    change: Change, start_s: float | None, end_s: float | None, by_s: float
) -> HelpfulChange | None:
    """None where the job does not end by then."""
    if start_s is None or end_s is None or end_s > by_s:
        return None
    return HelpfulChange(
        change=change.text, kind=change.kind, size=change.size, starts_at_s=start_s, ends_at_s=end_s
    )


def _kinds(workload: Workload, job_id: JobId, by_s: float) -> Iterator[Kind]:
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


def _first_in_line(workload: Workload, job: Job) -> Kind:
    """Before others that are submitted at the same instant: before as few as possible."""
    jobs, at = workload.jobs, workload.jobs.index(job)
    ahead = [
        place for place, one in enumerate(jobs[:at]) if one.submitted_at_s == job.submitted_at_s
    ]

    def change(step: int) -> Change:
        place = ahead[-step]
        others = "the others of its instant" if step == len(ahead) else jobs[place].job_id
        moved = (*jobs[:place], job, *jobs[place:at], *jobs[at + 1 :])
        return Change(
            kind="order",
            text=f"{job.job_id} is submitted before {others}",
            size=_ORDER_SIZE,
            workload=replace(workload, jobs=moved),
        )

    return Kind(len(ahead), change)


def _job_weights(workload: Workload, job: Job) -> Kind:
    def change(step: int) -> Change:
        weight = job.weight * (1 + step)
        return Change(
            kind="weight",
            text=f"weight {weight:g} in place of {job.weight:g} for {job.job_id}",
            size=float(step),
            workload=_with_job(workload, job, weight=weight),
        )

    return Kind(FACTOR_MAX - 1, change)


def _deadline(workload: Workload, job: Job, by_s: float) -> Kind:
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
    later = [deadline_s for deadline_s in found[:STEPS_MAX] if deadline_s > job.submitted_at_s]

    def change(step: int) -> Change:
        at_s = later[step - 1]
        return Change(
            kind="deadline",
            text=f"a deadline at {at_s:g} s for {job.job_id}",
            size=_DEADLINE_SIZE,
            workload=_with_job(workload, job, deadline_at_s=at_s, shares_deadline_of=None),
        )

    return Kind(len(later), change)


def _smaller_gang(workload: Workload, job: Job) -> Kind:
    """Fewer tasks that start together; all of them still run."""
    most = max((job.together(phase) for phase in job.phases), default=1) if job.gang else 1

    def change(step: int) -> Change:
        together = most - step
        return Change(
            kind="request",
            text=f"{counted(together, 'task')} of {job.job_id} start together in place of {most}",
            size=1 - together / most,
            workload=_with_job(workload, job, gang=together if together > 1 else 0),
        )

    return Kind(most - 1, change)


# --- of its pool ----------------------------------------------------------------------------------


def _of_the_pool(workload: Workload, job: Job) -> Iterator[Kind]:
    pool = next((one for one in workload.pools if one.pool_id == job.pool), None)
    if pool is None:
        return
    yield _pool_weights(workload, pool)
    for name in ("map_slots_min", "reduce_slots_min"):
        yield _more_of(workload, pool, name, "guaranteed to")
    for name in ("map_slots_max", "reduce_slots_max", "containers_max"):
        if getattr(pool, name) is not None:
            yield _more_of(workload, pool, name, "at most for")


def _pool_weights(workload: Workload, pool: Pool) -> Kind:
    def change(step: int) -> Change:
        weight = pool.weight * (1 + step)
        return Change(
            kind="pool weight",
            text=f"weight {weight:g} in place of {pool.weight:g} for pool {pool.pool_id}",
            size=float(step),
            workload=_with_pool(workload, pool, weight=weight),
        )

    return Kind(FACTOR_MAX - 1, change)


def _more_of(workload: Workload, pool: Pool, name: str, words: str) -> Kind:
    kind = SlotKind(name.partition("_")[0].removesuffix("s"))
    total = workload.required_cluster().slots(kind)
    now = getattr(pool, name)

    def change(step: int) -> Change:
        return Change(
            kind="quota",
            text=f"{counted(now + step, _noun(kind))} in place of {now} {words} pool"
            f" {pool.pool_id}",
            size=step / max(1, total),
            workload=_with_pool(workload, pool, **{name: now + step}),
        )

    return Kind(total - now, change)


def _with_pool(workload: Workload, pool: Pool, **fields: float) -> Workload:
    changed = replace(pool, **fields)  # type: ignore[arg-type]  # fields of a pool
    return replace(workload, pools=tuple(changed if one is pool else one for one in workload.pools))


def _of_the_queue(workload: Workload, queue: tuple[QueueTree, str] | None) -> Iterator[Kind]:
    if queue is None:
        return
    containers = workload.required_cluster().slots(SlotKind.CONTAINER)
    for found in queue_changes(*queue, containers):

        def change(step: int, found: list[QueueChange] = found) -> Change:
            one = found[step - 1]
            return Change(
                kind=one.kind, text=one.text, size=one.size, workload=workload, tree=one.tree
            )

        yield Kind(len(found), change)


# --- of the cluster -------------------------------------------------------------------------------


def _slots(workload: Workload, job: Job) -> Iterator[Kind]:
    """More slots of the kinds that the job needs, or more nodes like the last one."""
    cluster = workload.required_cluster()
    if not cluster.is_totals:
        yield _more_nodes(workload, cluster)
        return
    kinds = tuple(dict.fromkeys(phase.kind for phase in job.phases))
    if cluster.nodes[0].containers:
        kinds = (SlotKind.CONTAINER,)  # containers run tasks of any kind
    for kind in kinds:
        yield _more_slots(workload, cluster, (kind,))
    if len(kinds) > 1:
        yield _more_slots(workload, cluster, kinds)


def _more_slots(workload: Workload, cluster: Cluster, kinds: Sequence[SlotKind]) -> Kind:
    """Add slots of each kind so that their ratio stays."""
    node = cluster.nodes[0]
    totals = {kind: max(1, cluster.slots(kind)) for kind in kinds}
    most = max(totals.values())

    def change(step: int) -> Change:
        more = {kind: math.ceil(step * total / most) for kind, total in totals.items()}
        slots = {_field(kind): getattr(node, _field(kind)) + more[kind] for kind in kinds}
        larger: Node = replace(node, **slots)
        return Change(
            kind="slots",
            text=" and ".join(counted(count, _noun(kind)) for kind, count in more.items())
            + " more",
            size=step / most,
            workload=replace(
                workload, cluster=replace(cluster, nodes=(larger, *cluster.nodes[1:]))
            ),
        )

    return Kind(2 * most, change)


def _field(kind: SlotKind) -> str:
    return "containers" if kind is SlotKind.CONTAINER else f"{kind.value}_slots"


def _noun(kind: SlotKind) -> str:
    return "container" if kind is SlotKind.CONTAINER else f"{kind.value} slot"


def _more_nodes(workload: Workload, cluster: Cluster) -> Kind:
    last, taken = cluster.nodes[-1], {str(node.node_id) for node in cluster.nodes}

    def change(step: int) -> Change:
        free = (name for number in count(1) if (name := f"more-{number}") not in taken)
        added = tuple(replace(last, node_id=NodeId(name)) for name in islice(free, step))
        return Change(
            kind="slots",
            text=f"{counted(step, 'node')} more",
            size=step / len(cluster.nodes),
            workload=replace(workload, cluster=replace(cluster, nodes=(*cluster.nodes, *added))),
        )

    return Kind(2 * len(cluster.nodes), change)


def _steps(most: int) -> Iterator[int]:
    """1, 2, 3 and so on; from STEPS_MAX on each twice the one before; and the last one."""
    yield from range(1, min(most, STEPS_MAX) + 1)
    step = 2 * STEPS_MAX
    while step < most and step <= STEPS_MAX * 2**_DOUBLINGS:
        yield step
        step *= 2
    if most > STEPS_MAX:
        yield most
