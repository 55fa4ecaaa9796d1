"""The simulator may speak to the scheduler in events, as live engines do, or with attempts in hand.

Both are the same transitions, so that every run is the same: digest, count of events, and what was
ignored.
"""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.in_events import speak_in_events
from tests.one_run import EVENTFUL, run
from tests.policies.registered import NAMES, task_policy
from tests.runs import map_reduce, scheduler_of, totals
from tests.strategies import clusters, job_lists

from sluice.core.events import JobSubmitted, NodeJoined
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

pytestmark = pytest.mark.no_invariants

WORLDS = [
    {},
    {"jitter": 0.3},
    {"heartbeat_s": 3.0},
    {"contention": "shared"},
    EVENTFUL,
    EVENTFUL | {"heartbeat_s": 3.0},
]


def outcome(cluster, jobs, policy, world, *, seed=0, slowstart=1.0):
    """All that a run can be known by."""
    by_heartbeat = world.get("heartbeat_s", 0.0) > 0
    scheduler = scheduler_of(policy, slowstart=slowstart, by_heartbeat=by_heartbeat)
    given = SimulationSettings(**world)
    Simulation(scheduler, cluster, jobs, settings=given, seed=seed).run()
    state = scheduler.state
    ends_s = [str(job.finished_at_s) for job in state.jobs.values()]
    return state.closed.digest(is_totals=False), scheduler.events, state.ignored, ends_s


def both_ways(monkeypatch_context, *arguments, **more):
    """The outcomes with attempts in hand and in events."""
    outcomes = []
    for in_events in (False, True):
        with monkeypatch_context() as patch:
            if in_events:
                speak_in_events(patch)
            outcomes.append(outcome(*(make() for make in arguments), **more))
    return outcomes


@pytest.mark.interpreted  # the driver is made inside of what these run
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12, deadline=None)
@given(
    cluster=clusters(kinds_min=2, racks_max=2),
    jobs=job_lists(),
    world=st.sampled_from(WORLDS),
    slowstart=st.sampled_from([1.0, 0.3]),
)
def test_every_policy_gives_one_run_both_ways(name, cluster, jobs, world, slowstart):
    one, other = both_ways(
        pytest.MonkeyPatch.context,
        lambda: cluster, lambda: jobs, lambda: task_policy(name), lambda: world,
        slowstart=slowstart,
    )  # fmt: skip

    assert one == other


@pytest.mark.interpreted
@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_eventful_run_is_one_run_both_ways(name, heartbeat_s, monkeypatch):
    digests = set()
    for in_events in (False, True):
        if in_events:
            speak_in_events(monkeypatch)
        digests.add(run(name, 5, heartbeat_s).closed.digest(is_totals=False))

    assert 1 == len(digests)


def test_an_attempt_that_ended_before_is_counted_and_changes_nothing():
    """As an event about it would be: it may have ended with its node, unknown to its driver."""
    scheduler = scheduler_of()
    scheduler.handle(NodeJoined(0.0, totals(1, 0).nodes[0]))
    scheduler.handle(JobSubmitted(0.0, map_reduce("j", 2)))
    (attempt,) = scheduler.complete_instant(0.0).all()
    assert [] == scheduler.finish_attempt(attempt, 1.0, 1.0, math.nan).all()
    assert [] == scheduler.finish_attempt(attempt, 2.0, 2.0, math.nan).all()

    assert {"attempt late or unknown": 1} == scheduler.state.ignored
    assert [1.0] == [ended.finished_at_s for ended in scheduler.state.closed]
