"""Queues that admit whole jobs look at one job of those that need the same, and decide the same."""

import random

import pytest
from tests.ingest.scheduler_configs.test_kubernetes_quotas import (
    RECLAIMS,
    STRICT,
    cluster_queue,
    starts_s,
)

from sluice.policies.queue_tree.workloads import WorkloadQueues

pytestmark = pytest.mark.interpreted


def test_of_jobs_that_need_the_same_only_the_first_is_looked_at(monkeypatch):
    looks, need = [], WorkloadQueues._need

    def looked(policy, job):
        looks.append(job)
        return need(policy, job)

    monkeypatch.setattr(WorkloadQueues, "_need", looked)
    jobs = (f"{{id: j{at}, pool: q, maps: {{tasks: {1 + at % 3}, avg_s: 5}}}}" for at in range(200))
    starts_s([cluster_queue("q", 4)], ",".join(jobs), 4)

    assert 200 <= len(looks) <= 200 * 8


def random_jobs(draw):
    """Forty jobs of three queues."""
    return ",".join(
        f"{{id: j{at}, pool: {draw.choice('abc')}, submitted_at_s: {draw.randint(0, 40)},"
        f" gang: {draw.choice(['true', 'false'])},"
        f" maps: {{tasks: {draw.randint(1, 6)}, avg_s: {draw.randint(1, 30)}}}}}"
        for at in range(40)
    )


def each_waiting(policy):
    """All jobs that wait, as a plain list."""
    found = [
        (job, queue)
        for queue in policy._queues.values()
        for job in queue.leaf.waiting.in_order()
        if job.job_id not in policy._held
    ]
    return sorted(found, key=lambda one: one[0].release_seq)


@pytest.mark.parametrize("seed", range(8))
def test_the_first_of_each_need_decide_as_all_do(monkeypatch, seed):
    draw = random.Random(seed)
    queues = [cluster_queue(name, draw.randint(2, 6), draw.choice(["", STRICT])) for name in "abc"]
    jobs = random_jobs(draw)
    found = starts_s(queues, jobs, 9)
    monkeypatch.setattr(WorkloadQueues, "_waiting", each_waiting)

    assert starts_s(queues, jobs, 9) == found


@pytest.mark.parametrize("seed", [0, 3, 4, 6, 7])
def test_no_job_is_evicted_for_one_that_is_not_admitted_then(monkeypatch, seed):
    draw = random.Random(seed)
    queues = [
        cluster_queue(name, draw.randint(2, 6), draw.choice(["", STRICT]) + RECLAIMS)
        for name in "abc"
    ]
    freed_for, evictions, admit = [], [], WorkloadQueues._admit_next
    evicted = WorkloadQueues._evicted_for

    def evict(policy, first):
        found = evicted(policy, first)
        freed_for.extend([first] if found else [])
        evictions.extend(found)
        assert len(freed_for) < 200, "jobs are evicted and come back without an end"
        return found

    def admitted(policy):
        found = admit(policy)
        if found in freed_for:
            freed_for.clear()
        return found

    monkeypatch.setattr(WorkloadQueues, "_evicted_for", evict)
    monkeypatch.setattr(WorkloadQueues, "_admit_next", admitted)
    times, _ = starts_s(queues, random_jobs(draw), 9)
    assert len(times) == 40
    assert None not in {end_s for _, end_s in times.values()}
    assert not freed_for
    assert evictions


@pytest.mark.parametrize(("wanted", "evicted"), [(1, 2), (2, 2), (3, 4), (4, 4)])
def test_no_more_jobs_are_evicted_than_the_first_one_needs(wanted, evicted):
    """Two jobs borrow two containers each; the last one makes room for an owner that wants two."""
    queues = [cluster_queue("rich", 4, RECLAIMS), cluster_queue("poor", 0)]
    jobs = (
        "{id: early, pool: poor, maps: {tasks: 2, avg_s: 100}},"
        "{id: late, pool: poor, submitted_at_s: 1, maps: {tasks: 2, avg_s: 100}},"
        f"{{id: own, pool: rich, submitted_at_s: 10, maps: {{tasks: {wanted}, avg_s: 10}}}}"
    )
    times, killed = starts_s(queues, jobs, 4)

    assert killed == evicted
    assert (times["early"] == (0, 100)) is (evicted < 4)
    assert times["own"][0] < 12 < times["own"][1] < times["late"][1]
