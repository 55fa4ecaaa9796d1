"""The smallest change of each kind, against every single change tried one after the other.

The referee makes each changed workload by itself, and decides by the same simulation. Sizes are
counted: slots, places in the order, tasks that start together, and whole weights up to 16.
"""

import json
import random
from dataclasses import replace

import pytest
from tests.effort import of_today

import sluice
from sluice.bootstrap.diagnosis.helpful_changes import helpful_changes
from sluice.model.ids import JobId

pytestmark = pytest.mark.no_invariants  # a recount after each event takes most of the time
POLICIES = ("fifo", "fair", "order=deadline", "easy", "yarn-like", "queue-tree")
QUOTAS = ("map_slots_min", "reduce_slots_min", "map_slots_max", "reduce_slots_max")


def small_cluster(draw, tasks):
    """Three to five jobs of two pools on up to four slots."""
    is_whole = tasks in {"easy", "yarn-like", "queue-tree"}
    slots = draw.randint(2, 4)
    jobs = []
    for name in draw.sample(["mine", "x", "y", "z", "w"], draw.randint(3, 5)):
        job = {"id": name, "pool": draw.choice("ab"), "submitted_at_s": draw.choice([0, 0, 3])}
        if is_whole and draw.random() < 0.7:
            job["phases"] = [
                {"name": "p", "tasks": draw.randint(1, 6), "avg_s": draw.randint(1, 9)}
            ]
        else:
            job["maps"] = {"tasks": draw.randint(1, 6), "avg_s": draw.randint(1, 9)}
            if draw.random() < 0.4:
                job["reduces"] = {"tasks": draw.randint(1, 3), "avg_s": draw.randint(1, 9)}
        if tasks == "easy" and draw.random() < 0.7:
            job |= {"gang": draw.randint(2, slots), "limit_s": draw.choice([10, 40])}
        if draw.random() < 0.5:
            job["deadline_s"] = draw.choice([5, 10, 20, 40])
        jobs.append(job)
    if all(job["id"] != "mine" for job in jobs):
        jobs[-1]["id"] = "mine"
    pools = [{"id": name, "weight": draw.choice([1, 2])} for name in "ab"]
    if not is_whole and draw.random() < 0.5:
        pools[0]["map_slots_max"] = 1
    cluster = {"containers": slots} if is_whole else {"map_slots": slots, "reduce_slots": 1}
    document = {"version": 1, "cluster": cluster, "pools": pools, "jobs": jobs}
    return sluice.parse_workload(json.dumps(document))


def with_mine(workload, **fields):
    jobs = tuple(replace(one, **fields) if one.job_id == "mine" else one for one in workload.jobs)
    return replace(workload, jobs=jobs)


def with_pool(workload, pool_id, **fields):
    pools = tuple(
        replace(one, **fields) if one.pool_id == pool_id else one for one in workload.pools
    )
    return replace(workload, pools=pools)


def every_change(workload, by_s):
    """By kind, workloads from the smallest change to the largest, and the size of each."""
    (mine,) = (one for one in workload.jobs if one.job_id == "mine")
    (pool,) = (one for one in workload.pools if one.pool_id == mine.pool)
    node, at = workload.cluster.nodes[0], workload.jobs.index(mine)
    slots = {name: getattr(node, name) for name in ("map_slots", "reduce_slots", "containers")}
    used = {"map_slots" if one.kind.value == "map" else "reduce_slots" for one in mine.phases}
    used = used if not node.containers else {"containers"}

    def larger(more):
        grown = replace(node, **{name: slots[name] + count for name, count in more.items()})
        return replace(workload, cluster=replace(workload.cluster, nodes=(grown,)))

    yield "weight", [(with_mine(workload, weight=mine.weight * n), n - 1) for n in range(2, 17)]
    yield (
        "pool weight",
        [(with_pool(workload, pool.pool_id, weight=pool.weight * n), n - 1) for n in range(2, 17)],
    )
    for name in used:
        yield "slots", [(larger({name: n}), n / slots[name]) for n in range(1, 2 * slots[name] + 1)]
    if len(used) > 1:
        most = slots["map_slots"]  # there is one reduce slot
        both = [(larger({"map_slots": n, "reduce_slots": -(-n // most)}), n / most)
                for n in range(1, 2 * most + 1)]  # fmt: skip
        yield "slots", both
    for name in QUOTAS:
        total, now = slots[name[: name.index("_s") + 6]], getattr(pool, name)
        if now is not None:
            changed = [(with_pool(workload, pool.pool_id, **{name: now + n}), n / max(1, total))
                       for n in range(1, total - now + 1)]  # fmt: skip
            yield "quota", changed
    order = []
    for place in reversed(range(at)):
        if workload.jobs[place].submitted_at_s == mine.submitted_at_s:
            others = [one for one in workload.jobs if one is not mine]
            order.append((replace(workload, jobs=(*others[:place], mine, *others[place:])), 0.0))
    yield "order", order
    ends = [by_s * (32 - n) / 32 for n in range(32)]
    yield (
        "deadline",
        [
            (with_mine(workload, deadline_at_s=end_s, shares_deadline_of=None), 0.25)
            for end_s in ends
            if end_s > mine.submitted_at_s
            and (mine.deadline_at_s is None or end_s < mine.deadline_at_s)
        ],
    )
    most = max(mine.together(one) for one in mine.phases) if mine.gang else 0
    yield (
        "request",
        [
            (with_mine(workload, gang=n if n > 1 else 0), 1 - n / most)
            for n in range(most - 1, 0, -1)
        ],
    )


def compared(seed):
    """The kinds that help, for one cluster in which the job ends too late."""
    draw = random.Random(seed)
    tasks = POLICIES[seed % len(POLICIES)]
    workload = small_cluster(draw, tasks)
    known = {}

    def times(changed):
        key = repr((changed.jobs, changed.pools, changed.cluster))
        if key not in known:
            rows = sluice.simulate(changed, tasks=tasks).jobs
            known[key] = next(
                (row.started_at_s, row.finished_at_s) for row in rows if row.job_id == "mine"
            )
        return known[key]

    _, end_s = times(workload)
    assert end_s is not None
    by_s = draw.uniform(0.35, 0.98) * end_s
    answer = helpful_changes(workload, JobId("mine"), by_s, lambda one: times(one.workload))
    ours = sorted((one.kind, round(one.size, 6), one.ends_at_s) for one in answer)
    smallest = []
    for kind, changes in every_change(workload, by_s):
        tried = ((kind, round(size, 6), times(changed)[1]) for changed, size in changes)
        smallest += [one for one in tried if one[2] is not None and one[2] <= by_s][:1]
    # Of deadlines the referee tries others, so that the job may end at another instant.
    assert plain(ours) == plain(sorted(smallest)), (seed, tasks, by_s)
    return {kind for kind, _, _ in ours}


def plain(found):
    return [(kind, size, kind == "deadline" or ends_at_s) for kind, size, ends_at_s in found]


def test_each_kind_has_its_smallest_change():
    helped = [compared(seed) for seed in range(40)]

    assert sum(map(bool, helped)) > 25
    assert set().union(*helped) >= {"slots", "order", "pool weight", "deadline", "request"}


@pytest.mark.slow
def test_so_it_is_on_five_hundred_small_clusters():
    """All of them in a thorough run."""
    for seed in of_today(range(100, 600), 20):
        compared(seed)
