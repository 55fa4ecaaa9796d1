"""News that comes late, twice, or against each other: what the scheduler makes of each.

Each of these was a way to lose or double work, found by a storm (`test_event_storms.py`).
"""

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core import events as ev
from sluice.core.checks import WrongDecision
from sluice.core.commands import Kill, Launch
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import JobState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.fifo import Fifo

COPY = Reason(ReasonCode.FIRST_IN_LINE)


class Copying(Fifo):
    """FIFO that copies the attempts it is shown to copy."""

    def __init__(self):
        self.wanted = []

    def fill(self, offer):
        wanted, self.wanted = self.wanted, []
        for attempt in wanted:
            kind = attempt.launch.slot_kind
            offer.start(attempt.phase, kind, COPY, copy_of=attempt)
        super().fill(offer)


def node(name, map_slots=2, reduce_slots=2):
    return Node(node_id=name, map_slots=map_slots, reduce_slots=reduce_slots)


def chain_of(job_id, phases):
    """A job of single-task phases, each after the one before."""
    return Job(
        job_id=job_id,
        pool=PoolId("p"),
        phases=tuple(
            Phase(name=f"s{i}", kind=SlotKind.MAP, tasks=1, after=(i - 1,) if i else ())
            for i in range(phases)
        ),
    )


def launched(commands):
    return [command.key for command in commands if type(command) is Launch]


def done(scheduler, key, at_s):
    scheduler.handle(ev.TaskFinished(at_s, key, at_s))
    return launched(scheduler.handle(ev.Tick(at_s)))


def test_an_end_shown_before_its_start_makes_no_negative_length():
    """Reports travel separately; the trace must stay one of things that can be."""
    scheduler = scheduler_of()
    scheduler.handle(ev.NodeJoined(0.0, node("n")))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 1)))
    (key,) = launched(scheduler.handle(ev.Tick(5.0)))
    scheduler.handle(ev.TaskStarted(7.0, key))
    scheduler.handle(ev.TaskFinished(7.0, key, 6.5))
    (attempt,) = scheduler.state.closed

    assert (7.0, 7.0) == (attempt.started_at_s, attempt.finished_at_s)


@pytest.mark.parametrize(
    ("said_s", "began_s"),
    [(5.2, 5.2), (None, 9.0), (4.0, 5.0), (12.0, 9.0)],
    ids=["as the agent says", "unknown", "clock behind", "clock ahead"],
)
def test_a_start_read_late_does_not_shorten_the_attempt(said_s, began_s):
    """A busy driver reads start and end together; lengths feed predictions, so 0 s is harmful."""
    scheduler = scheduler_of()
    scheduler.handle(ev.NodeJoined(0.0, node("n")))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 1)))
    (key,) = launched(scheduler.handle(ev.Tick(5.0)))
    scheduler.handle(ev.TaskStarted(9.0, key, said_s))
    scheduler.handle(ev.TaskFinished(9.0, key, 9.5))

    (attempt,) = scheduler.state.closed
    assert (began_s, 9.5) == (attempt.started_at_s, attempt.finished_at_s)


def test_a_start_is_never_earlier_than_its_launch():
    """Or the slot would be held before the one who had it gave it back."""
    scheduler = scheduler_of()
    scheduler.handle(ev.NodeJoined(0.0, node("n")))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 1)))
    (key,) = launched(scheduler.handle(ev.Tick(5.0)))
    scheduler.handle(ev.TaskStarted(3.0, key))

    assert 5.0 == scheduler.state.running[key].started_at_s


def test_a_start_shown_twice_is_counted():
    scheduler = scheduler_of()
    scheduler.handle(ev.NodeJoined(0.0, node("n")))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 1)))
    (key,) = launched(scheduler.handle(ev.Tick(0.0)))
    scheduler.handle(ev.TaskStarted(1.0, key))
    scheduler.handle(ev.TaskStarted(2.0, key))

    assert {"start late or repeated": 1} == dict(scheduler.state.ignored)
    assert 1.0 == scheduler.state.running[key].started_at_s


def test_outputs_lost_while_not_needed_are_made_anew_when_they_are():
    """s0's output is lost after s1 read it; then s1's own is lost, and s1 must read s0 again."""
    scheduler = scheduler_of()
    scheduler.handle(ev.NodeJoined(0.0, node("n0", 1)))
    scheduler.handle(ev.JobSubmitted(0.0, chain_of("j", 3)))
    (s0,) = launched(scheduler.handle(ev.Tick(0.0)))
    (s1,) = done(scheduler, s0, 1.0)
    scheduler.handle(ev.NodeLost(2.0, NodeId("n0")))
    scheduler.handle(ev.NodeJoined(2.0, node("n1", 1)))

    assert ["j/0/0/2"] == [str(key) for key in launched(scheduler.handle(ev.Tick(2.0)))]

    (s1,) = done(scheduler, AttemptKey(JobId("j"), 0, 0, 2), 3.0)
    scheduler.handle(ev.NodeJoined(3.0, node("n2", 1)))
    done(scheduler, s1, 4.0)
    assert ("n1", "n1") == tuple(a.node.node_id for a in scheduler.state.closed[-2:])
    scheduler.handle(ev.NodeLost(5.0, NodeId("n1")))
    again = launched(scheduler.handle(ev.Tick(5.0)))

    assert 0 == again[0].phase
    assert scheduler.state.jobs["j"].phases[1].pending.count == 1


def test_a_whole_chain_is_made_anew():
    """One node holds everything; its loss while the last phase runs takes all phases back."""
    scheduler = scheduler_of()
    scheduler.handle(ev.NodeJoined(0.0, node("n0")))
    scheduler.handle(ev.JobSubmitted(0.0, chain_of("j", 4)))
    (key,) = launched(scheduler.handle(ev.Tick(0.0)))
    for at_s in (1.0, 2.0, 3.0):
        (key,) = done(scheduler, key, at_s)
    assert 3 == key.phase
    scheduler.handle(ev.NodeLost(4.0, NodeId("n0")))
    scheduler.handle(ev.NodeJoined(4.0, node("n1")))

    (key,) = launched(scheduler.handle(ev.Tick(4.0)))
    order = [key.phase]
    for at_s in (5.0, 6.0, 7.0):
        (key,) = done(scheduler, key, at_s)
        order.append(key.phase)
    done(scheduler, key, 8.0)

    assert [0, 1, 2, 3] == order
    assert scheduler.state.jobs["j"].state is JobState.DONE


def test_a_late_twin_does_not_kill_the_attempts_that_came_after_it():
    """The twin of a winner whose output was lost since ends at last: it has no say any more."""
    policy = Copying()
    scheduler = scheduler_of(policy)
    state = scheduler.state
    for name in ("n0", "n1"):
        scheduler.handle(ev.NodeJoined(0.0, node(name, 1, 0)))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 1, reduces=1)))
    (winner,) = launched(scheduler.handle(ev.Tick(0.0)))
    # Something must wait for nodes to be offered: a second job does.
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("k", 9)))
    policy.wanted = [state.running[winner]]
    (twin, *_) = launched(scheduler.handle(ev.Tick(1.0)))
    assert winner._replace(attempt=2) == twin
    commands = scheduler.handle(ev.TaskFinished(2.0, winner, 2.0))
    assert [twin] == [command.key for command in commands if type(command) is Kill]

    scheduler.handle(ev.NodeLost(3.0, state.closed[-1].node.node_id))
    scheduler.handle(ev.NodeJoined(3.0, node("n2", 2, 0)))
    third = launched(scheduler.handle(ev.Tick(3.0)))[0]
    assert winner._replace(attempt=3) == third
    scheduler.handle(ev.NodeJoined(4.0, node("n3", 1, 0)))
    policy.wanted = [state.running[third]]
    fourth = launched(scheduler.handle(ev.Tick(4.0)))[0]
    assert winner._replace(attempt=4) == fourth
    commands = scheduler.handle(ev.TaskFinished(5.0, twin, 5.0))

    assert [] == commands
    assert not state.running[third].is_moot
    assert not state.running[fourth].is_moot


def fail_blaming(scheduler, blame, times):
    """A reduce fails again and again and blames; how often the map was made anew."""
    scheduler.handle(ev.NodeJoined(0.0, node("n")))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 1, reduces=1)))
    (key,) = launched(scheduler.handle(ev.Tick(0.0)))
    (key,) = done(scheduler, key, 1.0)
    remade = 0
    for at_s in range(2, 2 + times):
        scheduler.handle(
            ev.TaskFailed(at_s, key, at_s, ev.FailureKind.EXIT, "unreadable", blames=(blame,))
        )
        keys = launched(scheduler.handle(ev.Tick(at_s)))
        if keys and keys[0].phase == 0:
            remade += 1
            keys = done(scheduler, keys[0], at_s)
        key = keys[0] if keys else key
    return remade


@pytest.mark.parametrize("blame", [(7, 0), (-1, 0), (0, 99), (1, 0)])
def test_blaming_what_nobody_made_is_no_excuse(blame):
    """Nor a crash: the reduce is charged itself, and fails its job like any other."""
    scheduler = scheduler_of(failures_max=2)

    assert 0 == fail_blaming(scheduler, blame, times=2)
    assert scheduler.state.jobs["j"].state is JobState.FAILED
    assert "reduce task 0 failed 2 times, last: unreadable" == scheduler.state.jobs["j"].reason


def test_output_that_stays_unreadable_is_charged_to_its_maker():
    """Or a job whose input is broken for good would make it anew for ever."""
    scheduler = scheduler_of(failures_max=3)

    assert 2 == fail_blaming(scheduler, (0, 0), times=3)
    assert scheduler.state.jobs["j"].state is JobState.FAILED
    assert "map task 0 failed 3 times, last: unreadable" == scheduler.state.jobs["j"].reason


def test_output_that_was_made_again_is_not_blamed_for_what_it_replaced():
    """All reduces meet the same damage. The last of them to report it has not seen the repair."""
    scheduler = scheduler_of(failures_max=2)
    scheduler.handle(ev.NodeJoined(0.0, node("n", 1, 2)))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 1, reduces=2)))
    (first,) = launched(scheduler.handle(ev.Tick(0.0)))
    quick, slow = done(scheduler, first, 1.0)

    def blame(key, at_s):
        failed = ev.FailureKind.EXIT
        scheduler.handle(ev.TaskFailed(at_s, key, at_s, failed, "unreadable", blames=((0, 0),)))
        return launched(scheduler.handle(ev.Tick(at_s)))

    (again,) = blame(quick, 2.0)
    assert again == first._replace(attempt=2)
    assert done(scheduler, again, 3.0) == [quick._replace(attempt=2)]
    assert blame(slow, 4.0) == [slow._replace(attempt=2)]
    # What the new attempts blame is the new output.
    assert blame(slow._replace(attempt=2), 5.0) == []
    assert scheduler.state.jobs["j"].reason == "map task 0 failed 2 times, last: unreadable"


def test_a_permanent_failure_ends_its_job_at_once():
    """Another attempt would fail in the same way; the other attempts of the job are ended."""
    scheduler = scheduler_of(failures_max=4)
    scheduler.handle(ev.NodeJoined(0.0, node("n")))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 2, reduces=1)))
    first, second = launched(scheduler.handle(ev.Tick(0.0)))
    failed = ev.TaskFailed(1.0, first, 1.0, ev.FailureKind.PERMANENT, "the input has changed")
    commands = scheduler.handle(failed)

    job = scheduler.state.jobs["j"]
    assert job.state is JobState.FAILED
    assert job.reason == "map task 0 failed: the input has changed"
    assert [command.key for command in commands] == [second]
    assert launched(scheduler.handle(ev.Tick(1.0))) == []


def test_several_tasks_at_once_are_not_copied_as_one():
    """The copy would stand for one task only, and the end of the original is everyone's."""
    policy = Copying()
    scheduler = scheduler_of(policy)
    scheduler.handle(ev.NodeJoined(0.0, node("n", 3)))
    scheduler.handle(ev.JobSubmitted(0.0, map_reduce("j", 2), {}, alike=True))
    (key,) = launched(scheduler.handle(ev.Tick(0.0)))
    scheduler.handle(ev.JobSubmitted(1.0, map_reduce("k", 9)))
    policy.wanted = [scheduler.state.running[key]]

    with pytest.raises(WrongDecision, match="cannot be copied"):
        scheduler.handle(ev.Tick(1.0))
