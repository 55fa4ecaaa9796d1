"""The past work of a service, as a workload file: each job with the lengths its tasks really had.

It is what other queues are tried on. Source: service spec, section 6
(`POST /v1/configs/{id}/replays`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sluice.bootstrap.service.replica import Replica, replayed_chain
from sluice.core.entries import JobEntry
from sluice.core.transitions import AttemptState, JobState
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.lengths import ListedLengths
from sluice.model.queue_tree import AmountKind, ConfiguredQueue, LeafOrder, QueueAmount, QueueTree
from sluice.model.queues import Pool, QueueOrder
from sluice.reporting.exports.job_document import job_document
from sluice.reporting.exports.queue_tree import queue_tree_xml
from sluice.store.service.segments import chains

Row = dict[str, Any]
_Lengths = dict[tuple[JobEntry, int], list[float]]


def history_of(newest: Replica, start: str, end: str) -> Row:
    """The jobs that were submitted between two instants and are done.

    start, end: RFC 3339.  Their queues are kept; what they did, and their deadlines, are not.
    Raises InvalidInput if there is none.
    """
    from_s, to_s = (datetime.fromisoformat(each).timestamp() for each in (start, end))
    jobs, containers = [], 0
    for chain in chains(newest.segment.parent):
        replica = newest if newest.newest in chain else replayed_chain(chain[0])
        jobs += list(_jobs_of(replica, from_s, to_s))
        containers = _containers(replica) or containers
    if not jobs:
        raise InvalidInput("no job was submitted and done in this span", where="from",
                           hint="give a longer span")  # fmt: skip
    return {
        "workload": {"version": 1, "cluster": {"containers": containers}, "jobs": jobs},
        "queues_xml": present_queues(newest.config.workload.pools),
    }


def present_queues(pools: Sequence[Pool]) -> str | None:
    """The queues of the service's file as a capacity-scheduler.xml; None if it has none.

    Pools and queues have weights; a pool with a cap of containers keeps it.
    """
    if not pools:
        return None
    tree = QueueTree(
        queues=tuple(
            ConfiguredQueue(
                path=_path(pool, pools),
                capacity=QueueAmount(
                    AmountKind.WEIGHT, pool.queue.weight if pool.queue else pool.weight
                ),
                maximum=_maximum(pool),
                least=0.0 if pool.queue is None else pool.queue.share_min,
                order=_order(pool),
            )
            for pool in pools
        )
    )
    return queue_tree_xml(tree)


def _path(pool: Pool, pools: Sequence[Pool]) -> str:
    parent = None if pool.queue is None else pool.queue.parent
    above = next((one for one in pools if one.pool_id == parent), None)
    return f"{'root' if above is None else _path(above, pools)}.{pool.pool_id}"


def _order(pool: Pool) -> LeafOrder:
    is_fair = pool.queue is not None and pool.queue.order is QueueOrder.MLRF
    return LeafOrder.FAIR if is_fair else LeafOrder.FIFO


def _maximum(pool: Pool) -> QueueAmount | None:
    most = pool.containers_max if pool.queue is None else pool.queue.share_max
    return None if most is None else QueueAmount(AmountKind.CONTAINERS, float(most))


def _jobs_of(replica: Replica, from_s: float, to_s: float) -> list[Row]:
    lengths: _Lengths = defaultdict(list)
    for attempt in replica.state.closed:
        if attempt.state is AttemptState.DONE:
            took_s = max(0.001, attempt.finished_at_s - attempt.started_at_s)
            lengths[attempt.phase.job, attempt.phase.index] += [took_s] * attempt.tasks
    found = []
    for job_id, known in replica.jobs.items():
        entry, at_s = replica.state.jobs.get(job_id), known.workload.made_at_s
        if entry is not None and entry.state is JobState.DONE and from_s <= at_s < to_s:
            job = _as_it_ran(known.submitted.job, entry, lengths)
            row = job_document(replace(job, submitted_at_s=at_s - from_s))
            found.append({**row, "pool": str(job.pool)})
    return found


def _as_it_ran(job: Job, entry: JobEntry, lengths: _Lengths) -> Job:
    """The job with recorded lengths, and without what it did."""
    phases = []
    for number, phase in enumerate(entry.job.phases):
        took_s = lengths.get((entry, number)) or [0.001]
        tasks = ListedLengths(durations_s=tuple(took_s))
        phases.append(replace(phase, tasks=len(took_s), lengths=tasks, fetch=None))
    return replace(
        job, phases=tuple(phases), run=None, deadline_at_s=None, profile=None, after=(),
        map_output=None, limit_s=None, shares_deadline_of=None,
    )  # fmt: skip


def _containers(replica: Replica) -> int:
    nodes = [entry.node for entry in replica.state.nodes.values()]
    return sum(node.map_slots + node.reduce_slots + node.containers for node in nodes)
