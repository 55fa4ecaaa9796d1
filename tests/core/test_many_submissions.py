"""Each submission pays for its own indexing, so that no decision pays for all of them."""

import pytest

from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.events import JobSubmitted, NodeHeartbeat, NodeJoined
from sluice.core.indexes.place_order import Order
from sluice.core.indexes.ranking import Ranking
from sluice.core.scheduler import Scheduler
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind

JOBS = 500


def submitted(scheduler: Scheduler, number: int, pools: int) -> None:
    job = Job(
        job_id=JobId(f"job-{number}"),
        pool=PoolId(f"pool-{number % pools}"),
        submitted_at_s=0.0,
        phases=(Phase(name="map", kind=SlotKind.MAP, tasks=3),),
    )
    assert not scheduler.handle(JobSubmitted(0.0, job))


@pytest.mark.interpreted
@pytest.mark.no_invariants
@pytest.mark.parametrize("pools", [1, 10, JOBS])
@pytest.mark.parametrize("tasks", ["fair", "yarn-like", "dynamicmr"])
def test_the_first_decision_places_few_jobs(tasks, pools, monkeypatch):
    placed: list[object] = []
    for order, method in ((Ranking, "_place"), (Order, "put")):
        place = getattr(order, method)

        def counted(self, thing, *where, place=place):
            placed.append(thing)
            place(self, thing, *where)

        monkeypatch.setattr(order, method, counted)
    settings = resolved_settings({}, ["heartbeat_s=3"])
    scheduler = scheduler_for(tasks=tasks, settings=settings)
    node = Node(node_id=NodeId("a"), rack="r", map_slots=2, reduce_slots=1)
    scheduler.handle(NodeJoined(0.0, node))
    for number in range(JOBS):
        submitted(scheduler, number, pools)
    before = len(placed)
    commands = scheduler.handle(NodeHeartbeat(1.0, NodeId("a")))

    assert len(commands) >= 2
    assert before > 0
    assert len(placed) - before < 100


def test_a_job_is_released_when_it_arrives():
    scheduler = scheduler_for(tasks="fifo", settings=resolved_settings({}, []))
    submitted(scheduler, 0, 1)

    assert not scheduler.state.waiting
    assert list(scheduler.state.active) == ["job-0"]
