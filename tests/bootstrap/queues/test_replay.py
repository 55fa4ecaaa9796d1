"""Histories under queue trees: closed forms, limits, preemption, and resamples."""

import math
import random
from dataclasses import replace

import pytest
from tests.runs import map_reduce

import sluice
from sluice.bootstrap.preparation.queues import in_queues
from sluice.bootstrap.queues.replay import resampled
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import AmountKind, ConfiguredQueue, LeafOrder, QueueAmount, QueueTree
from sluice.model.workload import Workload


def cluster(containers):
    return Cluster(nodes=(Node(node_id="n", containers=containers),), is_totals=True)


def tree(*queues, preempts_after_s=None):
    """Queues below root: (name, percent) or (name, percent, most percent), with more by name."""
    return QueueTree(
        queues=tuple(
            ConfiguredQueue(
                path=f"root.{name}",
                capacity=QueueAmount(AmountKind.PERCENT, percent),
                maximum=None if most is None else QueueAmount(AmountKind.PERCENT, most),
                **more,
            )
            for name, percent, most, more in queues
        ),
        preempts_after_s=preempts_after_s,
    )


def two(percent, *, is_split=True, **more):
    """Queues a and b; is_split: neither can borrow."""
    return tree(
        ("a", percent, percent if is_split else None, {}),
        ("b", 100 - percent, 100 - percent if is_split else None, {}),
        **more,
    )


def arrivals(rng, name, jobs, each_s, task_s):
    """Jobs of one task, a Poisson stream with exponential lengths."""
    at_s = 0.0
    for number in range(jobs):
        at_s += rng.expovariate(1 / each_s)
        yield map_reduce(
            f"{name}{number}", 1, max(0.001, rng.expovariate(1 / task_s)), pool=name, at_s=at_s
        )


def erlang_wait_s(servers, each_s, task_s, share):
    """The wait that a share of the jobs of M/M/c stays below. Source: Erlang's C formula."""
    load = task_s / each_s
    rho = load / servers
    last = load**servers / math.factorial(servers) / (1 - rho)
    c = last / (math.fsum(load**n / math.factorial(n) for n in range(servers)) + last)
    return max(0.0, math.log(c / (1 - share)) / (servers / task_s - 1 / each_s))


@pytest.mark.slow
@pytest.mark.no_invariants
def test_two_queues_wait_as_erlang_says():
    """M/M/2 and M/M/6 become M/M/4 each: the difference in closed form is in the interval."""
    rng = random.Random(11)
    jobs = [*arrivals(rng, "a", 1500, 60.0, 90.0), *arrivals(rng, "b", 1500, 30.0, 90.0)]
    history = Workload(cluster=cluster(8), jobs=tuple(jobs))
    found = sluice.whatif(history, two(50), two(25), seeds=5)

    for name, each_s, before, after in (("a", 60.0, 2, 4), ("b", 30.0, 6, 4)):
        effect = found.queues[f"root.{name}"]
        said = effect.differences["wait_s_p95"]
        truth = erlang_wait_s(after, each_s, 90.0, 0.95) - erlang_wait_s(before, each_s, 90.0, 0.95)
        assert said.low <= truth <= said.high, (name, said, truth)
    assert (["root.a"], ["root.b"]) == (found.winners, found.losers)


def waits(jobs, queues, containers=4, **more):
    """The wait of each job under a tree: the percentiles of queues with one job each."""
    history = Workload(cluster=cluster(containers), jobs=tuple(jobs))
    found = sluice.whatif(history, queues, seeds=1, **more)
    return {
        name.rpartition(".")[2]: queue.new["wait_s_p99"].mean
        for name, queue in found.queues.items()
    }


def test_a_queue_borrows_what_is_idle_up_to_its_maximum():
    """Eight 10 s tasks: on all 4 containers the second job of `a` waits 20 s, on 2 for 40 s."""
    jobs = [map_reduce("one", 8, 10.0, pool="a"), map_reduce("two", 1, 10.0, pool="a")]

    assert pytest.approx(0.99 * 20.0) == waits(jobs, two(50, is_split=False))["a"]
    assert pytest.approx(0.99 * 40.0) == waits(jobs, two(50))["a"]


def test_a_freed_container_goes_to_the_queue_below_its_guarantee():
    """`b` comes late and gets the next container; with preemption it does not wait so long."""
    jobs = [map_reduce("one", 4, 100.0, pool="a"), map_reduce("two", 1, 10.0, pool="b", at_s=5.0)]

    assert 95.0 == waits(jobs, two(50, is_split=False))["b"]
    assert 18.0 == waits(jobs, two(50, is_split=False, preempts_after_s=18.0))["b"]
    kept = tree(("a", 50, None, {"is_preemptible": False}), ("b", 50, None, {}), preempts_after_s=1)
    assert 95.0 == waits(jobs, kept)["b"]


def test_one_user_stays_below_the_limit():
    """Factor 1: one user has the guarantee of 2 containers, although 4 are idle."""
    jobs = [map_reduce("one", 4, 10.0, pool="a"), map_reduce("two", 1, 10.0, pool="a")]
    limited = tree(("a", 50, None, {"user_limit_factor": 1.0}), ("b", 50, None, {}))

    assert pytest.approx(0.99 * 10.0) == waits(jobs, two(50, is_split=False))["a"]
    assert pytest.approx(0.99 * 20.0) == waits(jobs, limited)["a"]


def test_users_share_a_queue_by_the_minimum_percentage():
    """At 50 %, the second user gets one of the first two containers that are given."""

    def history(percent):
        jobs = [
            replace(map_reduce("one", 4, 10.0, pool="a"), customer="x"),
            replace(map_reduce("two", 4, 10.0, pool="a"), customer="y"),
        ]
        queues = tree(("a", 100, 100, {"user_limit_percent": percent}))
        return waits(jobs, queues, containers=2)["a"]

    assert 0.0 == history(50.0)
    assert pytest.approx(0.99 * 20.0) == history(100.0)


def test_orders_and_limits_of_applications():
    jobs = [map_reduce("one", 8, 10.0, pool="a"), map_reduce("two", 4, 10.0, pool="a")]

    def late(**more):
        return waits(jobs, tree(("a", 100, 100, more)))["a"]

    assert pytest.approx(0.99 * 20.0) == late(order=LeafOrder.FIFO)
    assert 0.0 == late(order=LeafOrder.FAIR) or late(order=LeafOrder.FAIR) < 0.99 * 20.0
    assert pytest.approx(0.99 * 20.0) == late(order=LeafOrder.FAIR, jobs_max=1)


def test_a_pool_without_a_queue_is_refused_and_can_be_mapped():
    jobs = (map_reduce("one", 1, 10.0, pool="adhoc-7"),)
    history = Workload(cluster=cluster(2), jobs=jobs)
    with pytest.raises(InvalidInput, match="no leaf queue 'adhoc-7'") as caught:
        sluice.whatif(history, two(50), seeds=1)
    assert "--map" in str(caught.value)

    found = sluice.whatif(history, two(50), seeds=1, mapping={"adhoc-*": "root.b"})
    assert ["root.b"] == list(found.queues)


def test_pools_without_a_queue_go_to_the_default_queue():
    jobs = (map_reduce("one", 1, 10.0, pool="x"),)
    queues = tree(("default", 50, None, {}), ("x.y".replace(".", "-"), 50, None, {}))
    history = Workload(cluster=cluster(2), jobs=jobs)

    assert "root.default" == in_queues(history, queues, {}).jobs[0].pool


def test_a_resample_is_of_blocks_and_repeats():
    rng = random.Random(3)
    jobs = tuple(arrivals(rng, "a", 100, 10.0, 5.0))
    history = Workload(cluster=cluster(2), jobs=jobs)
    alone = {job.job_id: 5.0 for job in jobs}
    first, times = resampled(history, alone, 1)
    again, _ = resampled(history, alone, 1)
    other, _ = resampled(history, alone, 2)

    assert first == again != other
    assert len({job.job_id for job in first.jobs}) == len(first.jobs)
    assert {5.0} == {times[job.job_id] for job in first.jobs}
    known = {job.phases for job in jobs}
    assert {job.phases for job in first.jobs} < known, "some blocks are drawn twice, others never"
    last_s = max(job.submitted_at_s for job in jobs)
    assert all(0 <= job.submitted_at_s <= last_s + 1e-6 for job in first.jobs)
