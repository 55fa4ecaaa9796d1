"""Pools, jobs and mishaps in which it shows who is given the next slot."""

from dataclasses import replace

from hypothesis import strategies as st
from tests.strategies import clusters, job_lists, lengths_s

from sluice.model.job import Phase
from sluice.model.lengths import ConstantLengths, ListedLengths
from sluice.model.queues import Pool, PoolOrder
from sluice.model.slot_kind import SlotKind

FAULTS = {
    "none": {},
    "lost nodes": {"node_mtbf_s": 30.0, "node_repair_s": 5.0, "node_timeout_s": 6.0},
    "failures": {"task_failure": 0.3},
    "stragglers": {"p_slow": 0.2, "jitter": 0.3},
}


@st.composite
def pools(draw):
    """Some of p0, p1, p2 with a guarantee, a cap, a weight or an order of their own."""
    some = []
    for index in range(draw(st.integers(0, 3))):
        least = draw(st.sampled_from([0, 0, 1, 2, 5]))
        some.append(
            Pool(
                pool_id=f"p{index}",
                weight=draw(st.sampled_from([0.1, 0.5, 1.0, 1.0, 2.0, 3.0])),
                map_slots_min=least,
                reduce_slots_min=draw(st.integers(0, 2)),
                map_slots_max=draw(st.sampled_from([None, None, max(1, least), least + 2])),
                reduce_slots_max=draw(st.sampled_from([None, None, 2])),
                order=draw(st.sampled_from(PoolOrder)),
            )
        )
    return tuple(some)


@st.composite
def crowds(draw, *, listed=None):
    """Jobs that compete; some have a second phase of maps that nothing waits for."""
    crowd = draw(job_lists(jobs_max=7, listed=listed))
    for index in draw(st.sets(st.integers(0, len(crowd) - 1), max_size=2)):
        length_s = draw(lengths_s)
        more = Phase(
            name="more",
            kind=SlotKind.MAP,
            tasks=draw(st.integers(1, 4)),
            lengths=ConstantLengths(length_s, length_s),
        )
        crowd[index] = replace(crowd[index], phases=(*crowd[index].phases, more))
    return crowd


def distinct_jobs(jobs):
    """The same jobs with each task's length written down, so that nobody counts them as alike."""
    return [replace(job, phases=tuple(_listed(phase) for phase in job.phases)) for job in jobs]


def _listed(phase):
    length_s = phase.lengths.avg_s(phase.tasks)
    return replace(phase, lengths=ListedLengths((length_s,) * phase.tasks))


racked = st.sampled_from([1, 2, 3]).flatmap(lambda racks: clusters(nodes_max=6, racks_max=racks))

settings_of_worlds = st.fixed_dictionaries(
    {
        "heartbeat_s": st.sampled_from([0.0, 3.0]),
        "seed": st.integers(0, 99),
        "slowstart": st.sampled_from([1.0, 1.0, 0.5, 0.0]),
        "replicas": st.sampled_from([1, 1, 3]),
    }
)


def starts(state):
    """Every attempt as its task, node, start, end and outcome; alike ones one by one."""
    return sorted(
        (
            (key.job_id, key.phase, task, key.attempt),
            attempt.launch.node_id,
            attempt.started_at_s,
            attempt.finished_at_s,
            attempt.state.value,
        )
        for attempt in state.closed
        for key in [attempt.launch.key]
        for task in range(key.task, key.task + attempt.launch.tasks)
    )
