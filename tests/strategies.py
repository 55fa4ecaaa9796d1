"""Hypothesis strategies that the tests share: clusters, jobs, and what may happen to them."""

from hypothesis import strategies as st

from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths, ListedLengths
from sluice.model.slot_kind import SlotKind

# Quarters and tenths: sums of the former are exact in binary, sums of the latter are not.
lengths_s = st.one_of(
    st.integers(1, 12).map(float),
    st.integers(1, 40).map(lambda quarters: quarters / 4),
    st.integers(1, 99).map(lambda tenths: tenths / 10),
)

AT_ONCE_S = st.just(0.0)


@st.composite
def clusters(draw, *, nodes_max=3, slots_max=4, kinds_min=1, racks_max=1):
    """Nodes with typed slots, at least one each; the first has `kinds_min` or more of each kind.

    A node without slots would be another thing: one that is limited by its resources alone.
    """
    count = draw(st.integers(1, nodes_max))
    nodes = []
    for index in range(count):
        least = kinds_min if index == 0 else 0
        map_slots = draw(st.integers(least, slots_max))
        reduce_slots = draw(st.integers(least if map_slots else 1, slots_max))
        rack = f"r{index % racks_max}"
        nodes.append(
            Node(
                node_id=NodeId(f"n{index}"),
                rack=rack,
                map_slots=map_slots,
                reduce_slots=reduce_slots,
            )
        )
    return Cluster(nodes=tuple(nodes), has_racks=racks_max > 1)


@st.composite
def phases(draw, kind, *, after=(), tasks_max=8, listed=None):
    """A phase, its tasks alike or listed one by one (`listed` None: either)."""
    part = {"name": kind.value, "kind": kind, "after": after}
    if draw(st.booleans()) if listed is None else listed:
        each_s = tuple(draw(st.lists(lengths_s, min_size=1, max_size=tasks_max)))
        return Phase(tasks=len(each_s), lengths=ListedLengths(each_s), **part)
    tasks, length_s = draw(st.integers(1, tasks_max)), draw(lengths_s)
    return Phase(tasks=tasks, lengths=ConstantLengths(length_s, length_s), **part)


@st.composite
def jobs(draw, job_id, *, tasks_max=8, arrivals_s=AT_ONCE_S, listed=None):
    """Map-only, reduce-only, or both with a barrier between them."""
    shape = draw(st.sampled_from(["both", "both", "maps", "reduces"]))
    parts = []
    if shape != "reduces":
        parts.append(draw(phases(SlotKind.MAP, tasks_max=tasks_max, listed=listed)))
    if shape != "maps":
        after = (0,) if parts else ()
        reduces = phases(SlotKind.REDUCE, after=after, tasks_max=tasks_max, listed=listed)
        parts.append(draw(reduces))
    return Job(
        job_id=job_id,
        pool=draw(st.sampled_from(["p0", "p1", "p2"])),
        phases=tuple(parts),
        submitted_at_s=draw(arrivals_s),
        weight=draw(st.sampled_from([1.0, 1.0, 2.0])),
    )


@st.composite
def job_lists(draw, *, jobs_max=6, tasks_max=8, is_staggered=True, listed=None):
    """Jobs with different names, in the order of their submission to the simulator."""
    arrivals_s = st.one_of(AT_ONCE_S, lengths_s) if is_staggered else AT_ONCE_S
    count = draw(st.integers(1, jobs_max))
    return [
        draw(jobs(f"j{index}", tasks_max=tasks_max, arrivals_s=arrivals_s, listed=listed))
        for index in range(count)
    ]
