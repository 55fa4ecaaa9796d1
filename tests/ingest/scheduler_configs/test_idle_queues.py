"""Queues of the fair scheduler that have no jobs get no share (YARN-2026)."""

import pytest

import sluice
from sluice.ingest.scheduler_configs.reading import queue_tree_of

SITE = {"yarn.scheduler.fair.preemption": "true"}
WORK = sluice.parse_workload(
    "{version: 1, cluster: {containers: 100}, jobs: ["
    "{id: batch, pool: root.low, submitted_at_s: 0, maps: {tasks: 300, avg_s: 600}},"
    "{id: urgent, pool: root.high.c1, submitted_at_s: 60, maps: {tasks: 60, avg_s: 60}}]}"
)


def tree(children):
    below = "".join(f'<queue name="c{number}"/>' for number in range(1, children + 1))
    text = (
        "<allocations><defaultFairSharePreemptionTimeout>10</defaultFairSharePreemptionTimeout>"
        '<queue name="low"><weight>2</weight></queue>'
        f'<queue name="high"><weight>8</weight>{below}</queue></allocations>'
    )
    return queue_tree_of(text.encode(), "fair-scheduler.xml", SITE)


def slowdown(children):
    queue = sluice.whatif(WORK, tree(children), seeds=1).queues["root.high.c1"]
    return queue.new["slowdown_p95"].mean


def test_nine_idle_queues_change_nothing():
    """Preemption after 10 s frees the 60 containers, for 80 % are its share: 70 s for 60."""
    assert slowdown(1) == pytest.approx(70 / 60, abs=0.01)
    assert slowdown(10) == slowdown(1)


def test_weights_of_idle_queues_do_not_count_and_capacities_do():
    found = tree(4).containers(100, idle={"root.default", "root.high.c2", "root.high.c3"})

    assert found["root.low"][0] == pytest.approx(20)
    assert found["root.high.c1"][0] == found["root.high.c4"][0] == pytest.approx(40)
    assert found["root.high.c2"][0] == 0
