"""The discrete-event driver: what happens in which order, how far, and when it is over."""

import gc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.one_run import EVENTFUL
from tests.policies.registered import task_policy
from tests.runs import even_nodes, map_reduce, totals, trace
from tests.simulation.worlds import World

from sluice.core.events import JobSubmitted, NodeHeartbeat, NodeJoined, TaskFinished, Tick
from sluice.core.protocols import ReleaseOrder, ReleasePolicy
from sluice.core.transitions import JobState
from sluice.policies.orders.fifo import Fifo
from sluice.simulation import driver
from sluice.simulation.agenda import TASK_RANK, WAKE_RANK, Agenda


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(TASK_RANK, WAKE_RANK)), max_size=30))
def test_the_agenda_goes_by_instant_then_rank_then_order_of_adding(things):
    agenda = Agenda()
    for number, (at_s, rank) in enumerate(things):
        agenda.add(at_s, rank, number)
    popped = [agenda.pop() for _ in things]

    expected = sorted(range(len(things)), key=lambda number: (*things[number], number))
    assert expected == popped


def test_what_is_on_the_agenda_need_not_be_comparable():
    """Two things of one instant and rank: the running number decides, never the things."""
    agenda = Agenda()
    for item in (object(), None, {}, object()):
        agenda.add(1.0, 0, item)

    assert 4 == len(agenda)


@pytest.mark.interpreted  # it looks at the events
def test_at_one_instant_tasks_end_nodes_join_jobs_come_and_nodes_speak():
    """At 4 the first job's map ends, n1 is back, the second job comes, and n0 speaks."""
    jobs = [map_reduce("a", 1, 4.0), map_reduce("b", 1, 1.0, at_s=4.0)]
    world = World(even_nodes(2, 1, 0), jobs, heartbeat_s=4.0)
    world.lose("n1", 1.0, back_at_s=4.0)
    world.run()
    order = [type(event) for event in world.scheduler.heard if event.at_s == 4.0]

    # The end is shown by the heartbeat, so that it comes just before it.
    assert [NodeJoined, JobSubmitted, TaskFinished, NodeHeartbeat, Tick] == order


@pytest.mark.interpreted
def test_a_job_that_comes_as_a_slot_frees_gets_it():
    """Ends come before arrivals, and decisions after both."""
    jobs = [map_reduce("a", 1, 4.0), map_reduce("b", 1, 1.0, at_s=4.0)]
    world = World(totals(1, 0), jobs)

    assert 4.0 == world.run().jobs["b"].started_at_s
    kinds = [type(event) for event in world.scheduler.heard if event.at_s == 4.0]
    assert [TaskFinished, JobSubmitted, Tick] == kinds


@pytest.mark.interpreted
def test_every_instant_ends_with_one_tick():
    world = World(totals(2, 1), [map_reduce("a", 5, 2.0, 2, 1.0), map_reduce("b", 3, 1.0)])
    world.run()
    heard = [event for event in world.scheduler.heard if type(event) is not NodeJoined]

    for event, after in pairwise(heard):
        assert (type(event) is Tick) == (event.at_s < after.at_s)
    assert type(heard[-1]) is Tick


# --- how far --------------------------------------------------------------------------------------


def eventful(heartbeat_s, policy="fair"):
    jobs = [
        map_reduce(f"j{n}", 6 + n, 3.0, 3, 4.0, pool=f"p{n % 2}", at_s=n * 1.5) for n in range(5)
    ]
    settings = EVENTFUL | {"heartbeat_s": heartbeat_s}
    return World(even_nodes(4, 2, 1, racks=2), jobs, task_policy(policy), **settings)


@pytest.mark.parametrize("heartbeat_s", [0.0, 1.0])
def test_a_run_in_pieces_is_the_run(heartbeat_s):
    """Stopping to look changes nothing that comes after."""
    whole, pieces = eventful(heartbeat_s), eventful(heartbeat_s)
    expected = trace(whole.run())
    for until_s in (0.0, 0.5, 7.0, 7.0, 12.3, 30.0):
        now_s = pieces.run(until_s=until_s).now_s
        assert now_s <= until_s
    pieces.run()

    assert whole.scheduler.heard == pieces.scheduler.heard
    assert expected == trace(pieces.state)


def test_what_happens_at_the_very_instant_counts():
    world = World(totals(1, 0), [map_reduce("j", 3, 2.0)])

    assert 2 == len(world.run(until_s=4.0).closed)
    assert 1 == len(world.state.running)
    assert not world.simulation.is_over
    assert 3 == len(world.run().closed)
    assert world.simulation.is_over


def test_before_the_first_arrival_nothing_has_happened():
    world = World(totals(1, 0), [map_reduce("j", 1, 2.0, at_s=5.0)])

    assert {} == world.run(until_s=4.9).jobs
    assert not world.simulation.is_over


def test_the_observer_is_shown_now_and_then_of_ended_tasks(monkeypatch):
    monkeypatch.setattr(driver, "_PROGRESS_INSTANTS", 3)
    said = []
    world = World(totals(1, 0), [map_reduce("j", 10, 2.0)], on_progress=lambda *at: said.append(at))
    world.run()

    assert [(4.0, 2), (10.0, 5), (16.0, 8)] == said


def test_an_observer_that_raises_stops_the_run_and_leaves_the_collector_on(monkeypatch):
    """Ctrl-C comes to the progress callback like this."""
    monkeypatch.setattr(driver, "_PROGRESS_INSTANTS", 1)
    seen = []

    def interrupt(now_s, ended):
        seen.append(gc.isenabled())
        raise KeyboardInterrupt

    assert gc.isenabled()
    with pytest.raises(KeyboardInterrupt):
        World(totals(1, 0), [map_reduce("j", 3, 2.0)], on_progress=interrupt).run()
    assert [False] == seen
    assert gc.isenabled()


# --- when it is over ------------------------------------------------------------------------------


def test_without_jobs_there_is_nothing_to_do():
    world = World(totals(1, 1), [])

    assert [] == list(world.run().closed)
    assert world.simulation.is_over


@pytest.mark.parametrize("heartbeat_s", [0.0, 30.0])
def test_work_that_can_never_start_ends_the_run_not_the_patience(heartbeat_s):
    """There is no reduce slot. With heartbeats, nodes would ask for ever."""
    jobs = [map_reduce("j", 1, 2.0, 1, 2.0)]
    world = World(even_nodes(2, 1, 0), jobs, heartbeat_s=heartbeat_s)
    state = world.run()

    assert JobState.RUNNING is state.jobs["j"].state
    assert 1 == state.startable
    assert not world.simulation.is_over


class HeldBack(Fifo):
    """FIFO that starts nothing before an instant, and says so."""

    def __init__(self, until_s):
        self.until_s = until_s

    def fill(self, offer):
        if offer.now_s >= self.until_s:
            super().fill(offer)

    def wake_at_s(self, state, now_s):
        return self.until_s if state.startable and now_s < self.until_s else None


@pytest.mark.parametrize("heartbeat_s", [0.0, 300.0])
def test_a_policy_may_hold_work_back_as_long_as_it_likes(heartbeat_s):
    """Ten days are far beyond the patience with nodes that ask in vain."""
    world = World(
        even_nodes(1, 1, 0), [map_reduce("j", 1, 2.0)], HeldBack(864_000.0), heartbeat_s=heartbeat_s
    )

    assert 864_000.0 == world.run().jobs["j"].started_at_s


def test_the_next_job_may_be_long_in_coming():
    """Patience is about nodes that ask in vain, not about time that passes."""
    jobs = [map_reduce("a", 1, 1.0), map_reduce("b", 1, 1.0, at_s=1e7)]
    state = World(even_nodes(2, 1, 0), jobs, heartbeat_s=3.0).run()

    assert [JobState.DONE] * 2 == [job.state for job in state.jobs.values()]


class Patient(ReleasePolicy):
    """Releases nothing before an instant, for which it asks to be woken."""

    def __init__(self, at_s):
        self.at_s = at_s

    def release(self, waiting, state, now_s):
        if now_s >= self.at_s:
            return ReleaseOrder(order=waiting)
        return ReleaseOrder(wake_at_s=self.at_s)


@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
def test_a_policy_is_woken_when_it_asks_to_be(heartbeat_s):
    jobs = [map_reduce("j", 1, 2.0)]
    world = World(even_nodes(1, 1, 0), jobs, release=Patient(6.0), heartbeat_s=heartbeat_s)

    assert 6.0 == world.run().jobs["j"].started_at_s
