"""The tables of what may follow what: what they say, that the core obeys, that docs show them."""

import runpy
from itertools import chain, product
from pathlib import Path

import pytest
from tests.runs import scheduler_of

from sluice.core import events as ev
from sluice.core.commands import Kill
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import (
    ATTEMPT_ENDS,
    ATTEMPT_TRANSITIONS,
    JOB_ENDS,
    JOB_TRANSITIONS,
    AttemptInput,
    AttemptState,
    JobInput,
    JobState,
)
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.fifo import Fifo

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES = [
    pytest.param(
        ATTEMPT_TRANSITIONS, AttemptInput, AttemptState, AttemptState.LAUNCHED, ATTEMPT_ENDS,
        id="attempt",
    ),
    pytest.param(JOB_TRANSITIONS, JobInput, JobState, JobState.DEFERRED, JOB_ENDS, id="job"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "inputs", "states", "first", "ends"), TABLES)
def test_every_input_has_a_row_and_every_state_a_way(table, inputs, states, first, ends):
    """All states are reached from the first one, and an end is never left."""
    assert set(inputs) == set(table)
    assert all(row for row in table.values())
    reached = {first}
    for _ in states:
        reached |= {row[state] for row in table.values() for state in row if state in reached}
    assert set(states) == reached
    left = set(chain.from_iterable(table.values()))
    assert set(states) - left == ends


@pytest.mark.parametrize(("table", "inputs", "states", "first", "ends"), TABLES)
def test_every_life_can_end_from_everywhere(table, inputs, states, first, ends):
    """No state is a trap."""
    leads = {state: {row[state] for row in table.values() if state in row} for state in states}
    ending = set(ends)
    for _ in states:
        ending |= {state for state in states if leads[state] & ending}

    assert set(states) == ending


class Assassin(Fifo):
    """FIFO that ends whatever it is shown to end."""

    def __init__(self):
        self.targets = []

    def kills(self, state, now_s):
        said, self.targets = self.targets, []
        return said


def a_job():
    phase = Phase(name="map", kind=SlotKind.MAP, tasks=2)
    return Job(job_id=JobId("j"), pool=PoolId("p"), phases=(phase,))


def attempt_in(state):
    """A scheduler with one attempt, brought into a state by events."""
    policy = Assassin()
    scheduler = scheduler_of(policy)
    scheduler.handle(ev.NodeJoined(0.0, Node(node_id=NodeId("n"), map_slots=1)))
    scheduler.handle(ev.JobSubmitted(0.0, a_job()))
    (launch,) = scheduler.handle(ev.Tick(0.0))
    attempt = scheduler.state.running[launch.key]
    for cause in WAYS[state]:
        happen(scheduler, attempt, cause)
    assert attempt.state is state
    return scheduler, attempt


WAYS = {
    AttemptState.LAUNCHED: [],
    AttemptState.RUNNING: [AttemptInput.STARTED],
    AttemptState.KILLING: [AttemptInput.KILL_ASKED],
    AttemptState.DONE: [AttemptInput.FINISHED],
    AttemptState.FAILED: [AttemptInput.FAILED],
    AttemptState.KILLED: [AttemptInput.KILL_CONFIRMED],
    AttemptState.LOST: [AttemptInput.NODE_LOST],
}


def happen(scheduler, attempt, cause):
    """Show the scheduler of it, at an instant of its own."""
    key, at_s = attempt.key, scheduler.state.now_s + 1
    if cause is AttemptInput.KILL_ASKED:
        if key not in scheduler.state.running:
            return []
        scheduler.policies.tasks.targets.append((key, Reason(ReasonCode.TIMED_OUT)))
        return scheduler.handle(ev.Tick(at_s))
    return scheduler.handle(
        {
            AttemptInput.STARTED: ev.TaskStarted(at_s, key),
            AttemptInput.FINISHED: ev.TaskFinished(at_s, key, at_s),
            AttemptInput.FAILED: ev.TaskFailed(at_s, key, at_s, ev.FailureKind.EXIT),
            AttemptInput.KILL_CONFIRMED: ev.TaskFailed(at_s, key, at_s, ev.FailureKind.KILLED),
            AttemptInput.NODE_LOST: ev.NodeLost(at_s, NodeId("n")),
        }[cause]
    )


@pytest.mark.parametrize(("state", "cause"), list(product(AttemptState, AttemptInput)), ids=str)
def test_an_attempt_follows_its_table(state, cause):
    """Where the table has no row, the event is counted as stale and nothing else changes."""
    scheduler, attempt = attempt_in(state)
    before = sum(scheduler.state.ignored.values())
    commands = happen(scheduler, attempt, cause)
    after = ATTEMPT_TRANSITIONS[cause].get(state)
    stale = sum(scheduler.state.ignored.values()) - before

    if after is not None:
        assert after is attempt.state
        assert 0 == stale
    else:
        assert state is attempt.state
        assert [] == [command for command in commands if type(command) is Kill]
        # Asking to kill is no event; and a node is lost only once, whatever ran on it.
        is_event = cause not in {AttemptInput.KILL_ASKED, AttemptInput.NODE_LOST}
        assert stale == is_event or state is AttemptState.LOST


@pytest.mark.parametrize(("state", "cause"), list(product(JobState, JobInput)), ids=str)
def test_a_job_cannot_move_but_by_its_table(state, cause):
    """The one place that moves jobs raises where there is no row: a bug, never an event."""
    scheduler = scheduler_of()
    job = scheduler.state.add_job(a_job(), {}, alike=True)
    job.state = state
    after = JOB_TRANSITIONS[cause].get(state)

    if after is None:
        with pytest.raises(KeyError):
            job.move(cause)
    else:
        job.move(cause)
    assert job.state is (after or state)


@pytest.mark.parametrize("state", JobState, ids=str)
def test_a_job_has_ended_in_the_states_that_no_row_leaves(state):
    job = scheduler_of().state.add_job(a_job(), {}, alike=True)
    job.state = state

    assert job.has_ended == (state in JOB_ENDS)


def test_the_drawings_in_the_docs_are_current():
    """To mend: `python docs/draw_transitions.py`."""
    drawn = runpy.run_path(str(DOCS / "draw_transitions.py"))["files"]()

    assert drawn == {name: (DOCS / name).read_text("utf-8") for name in drawn}
