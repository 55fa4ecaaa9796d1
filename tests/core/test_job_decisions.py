"""When admission and release are asked, and what follows from their answers."""

from dataclasses import replace

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core.checks import WrongDecision
from sluice.core.commands import Command, Launch, Provision, Reject, Wake
from sluice.core.events import JobKilled, JobSubmitted, JobWithdrawn, NodeJoined, TaskFinished, Tick
from sluice.core.protocols import (
    AdmissionPolicy,
    Admit,
    Defer,
    PoolPolicy,
    Refuse,
    ReleaseOrder,
    ReleasePolicy,
    Reservation,
)
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.transitions import JobState
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId
from sluice.policies.orders.fifo import Fifo

WHY = Reason(ReasonCode.JOB_ENDED)


class Answers(AdmissionPolicy):
    """Gives each job the answer that a test has set. due_s: of its next round, if it has any."""

    name = "answers"

    def __init__(self, answer):
        super().__init__()
        self.answer = answer
        self.asked = []
        self.due_s = self.every_s = None

    def decide(self, job, state):
        self.asked.append(job.job_id)
        if self.due_s is not None:
            self.due_s = state.now_s + self.every_s
        return self.answer

    def round_at_s(self, now_s):
        return self.due_s


class Holds(ReleasePolicy):
    """Releases what a test says, and asks to be woken then."""

    name = "holds"

    def __init__(self):
        super().__init__()
        self.next: list[str] = []
        self.wake_at_s = None
        self.seen = []

    def release(self, waiting, state, now_s):
        self.seen.append([entry.job_id for entry in waiting])
        return ReleaseOrder([state.jobs[name] for name in self.next], self.wake_at_s)


class Rents(PoolPolicy):
    """Rents a machine for each job that waits."""

    name = "rents"

    def reserve(self, waiting, state, now_s):
        return [Reservation("small", len(waiting), WHY)] if waiting else []


class World:
    """One node of two map slots, and policies that do what a test sets."""

    def __init__(self, answer=None):
        self.admission, self.release = Answers(answer or Admit()), Holds()
        policies = Policies(
            admission=self.admission, release=self.release, tasks=Fifo(), pools=Rents()
        )
        self.scheduler = Scheduler(policies)
        self.state = self.scheduler.state
        self.scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("n"), map_slots=2)))

    def submit(self, *names, at_s=0.0, **more):
        """The commands of the last one."""
        commands: list[Command] = []
        for name in names:
            job = replace(map_reduce(name, 1), **more)
            commands = self.scheduler.handle(JobSubmitted(at_s, job))
        return commands

    def tick(self, at_s=0.0):
        return self.scheduler.handle(Tick(at_s))

    def states(self):
        return {str(name): job.state for name, job in self.state.jobs.items()}


def of_type(kind, commands):
    return [one for one in commands if isinstance(one, kind)]


def test_a_job_that_is_submitted_twice_is_counted_and_not_asked_about_again():
    world = World()
    world.submit("a", "a")

    assert ["a"] == world.admission.asked
    assert 1 == world.state.ignored["job already known"]


def test_a_refused_job_is_over_and_its_user_is_given_the_reason():
    world = World(Refuse(WHY))

    assert [Reject(JobId("a"), WHY)] == world.submit("a")
    assert {"a": JobState.REFUSED} == world.states()
    assert WHY.text() == world.state.jobs["a"].reason
    assert [] == of_type(Launch, world.tick())


def test_a_deferred_job_is_asked_about_again_at_each_decision():
    world = World(Defer(WHY))
    world.submit("a")
    assert {"a": JobState.DEFERRED} == world.states()
    world.tick(1.0)
    world.admission.answer = Admit()
    world.tick(2.0)

    assert ["a", "a", "a"] == world.admission.asked
    assert {"a": JobState.WAITING} == world.states()
    world.tick(3.0)
    assert 3 == len(world.admission.asked)


def test_an_admitted_job_waits_until_it_is_released():
    world = World()
    world.submit("a", "b")
    world.tick()
    assert {"a": JobState.WAITING, "b": JobState.WAITING} == world.states()

    world.release.next = ["b"]
    (launch,) = of_type(Launch, world.tick(1.0))
    assert "b" == launch.key.job_id
    assert [["a", "b"], ["a", "b"]] == world.release.seen


def test_a_job_with_containers_of_its_own_is_released_at_once():
    world = World(Admit(1))
    world.submit("a")

    assert {"a": JobState.QUEUED} == world.states()
    assert {"a": 1} == {name: job.promised for name, job in world.state.promises.items()}


def test_only_a_job_that_waits_may_be_released():
    world = World()
    world.submit("a", "b")
    world.release.next = ["a"]
    world.tick()

    with pytest.raises(WrongDecision, match="'a' was released but does not wait"):
        world.tick(1.0)


def test_release_is_asked_again_when_it_wants_to_be_woken():
    world = World()
    world.submit("a")
    assert [] == of_type(Wake, world.tick())
    world.release.wake_at_s = 7.0

    assert [Wake(7.0)] == of_type(Wake, world.tick(1.0))


def test_machines_are_rented_for_jobs_that_wait():
    world = World()
    assert [] == world.tick()
    world.submit("a", "b")

    assert [Provision("small", 2, WHY)] == of_type(Provision, world.tick())


def test_jobs_that_left_the_queue_do_not_wait_any_more():
    world = World()
    world.submit("a", "b", "c", "d")
    world.tick()
    world.scheduler.handle(JobKilled(1.0, JobId("b")))
    world.scheduler.handle(JobWithdrawn(1.0, JobId("c")))
    world.release.next = ["a"]
    world.tick(1.0)
    world.release.next = []
    world.tick(2.0)

    assert [["a", "b", "c", "d"], ["a", "d"], ["d"]] == world.release.seen


def test_a_withdrawn_job_leaves_as_if_it_had_not_come():
    world = World()
    world.submit("a")
    world.scheduler.handle(JobWithdrawn(1.0, JobId("a")))
    assert {} == world.states()

    world.submit("a", at_s=2.0)
    assert {"a": JobState.WAITING} == world.states()


def test_a_job_without_tasks_is_done_as_soon_as_it_is_released():
    world = World()
    world.submit("a", phases=())
    world.release.next = ["a"]
    world.tick(4.0)

    job = world.state.jobs["a"]
    assert (JobState.DONE, 4.0, 4.0) == (job.state, job.started_at_s, job.finished_at_s)


# --- rounds ---------------------------------------------------------------------------------------


def in_rounds(answer):
    """Rounds at 10 s, and 10 s after each other."""
    world = World(answer)
    world.admission.due_s, world.admission.every_s = 10.0, 10.0
    return world


def test_a_job_that_comes_between_two_rounds_is_asked_about_in_the_next():
    world = in_rounds(Admit())
    world.submit("a", at_s=1.0)
    assert {"a": JobState.DEFERRED} == world.states()
    assert ReasonCode.AWAITS_ROUND.value == world.state.jobs["a"].reason

    assert [Wake(10.0)] == of_type(Wake, world.tick(1.0))
    assert [] == of_type(Wake, world.tick(2.0))  # it was requested already
    assert [] == world.admission.asked
    assert [] == of_type(Wake, world.tick(10.0))  # no job is left for the next round
    assert ["a"] == world.admission.asked
    assert {"a": JobState.WAITING} == world.states()


def test_a_job_that_is_deferred_in_a_round_is_asked_about_in_each_that_follows():
    world = in_rounds(Defer(WHY))
    world.submit("a", at_s=1.0)
    world.tick(1.0)

    assert [Wake(20.0)] == of_type(Wake, world.tick(10.0))
    assert [] == of_type(Wake, world.tick(19.0))
    assert ["a"] == world.admission.asked
    assert [Wake(30.0)] == of_type(Wake, world.tick(20.0))
    assert ["a", "a"] == world.admission.asked


def test_a_round_that_is_due_now_needs_no_wake_up():
    """Its policy says when the next one is only later."""
    world = in_rounds(Defer(WHY))
    world.admission.every_s = 0.0
    world.submit("a", at_s=1.0)

    assert [] == of_type(Wake, world.tick(10.0))


# --- jobs after jobs ------------------------------------------------------------------------------


def test_a_job_after_jobs_that_have_ended_counts_from_the_last_of_their_ends():
    world = World()
    world.submit("a", "b")
    world.release.next = ["a", "b"]
    launches = of_type(Launch, world.tick())
    world.release.next = []
    for at_s, launch in zip((5.0, 4.0), launches, strict=True):
        world.scheduler.handle(TaskFinished(5.0, launch.key, at_s))
    after = (JobId("a"), JobId("b"))
    world.submit("c", at_s=6.0, submitted_at_s=2.0, after=after)
    world.submit("d", at_s=6.0, submitted_at_s=6.0, after=after)
    world.submit("e", at_s=6.0, submitted_at_s=2.0, after=(JobId("c"), JobId("unknown")))

    assert [5.0, 6.0, 2.0] == [world.state.jobs[name].submitted_at_s for name in "cde"]


@pytest.mark.parametrize(
    ("promised", "running", "is_owed", "held"),
    [(0, 0, False, 0), (2, 1, True, 2), (2, 2, False, 2), (2, 3, False, 2), (9, 3, True, 4)],
)
def test_a_job_is_owed_what_it_was_promised_and_does_not_run(promised, running, is_owed, held):
    """Of five tasks one is done: no more than four containers are kept for it."""
    scheduler = scheduler_of()
    scheduler.handle(JobSubmitted(0.0, map_reduce("promised", 5)))
    job = scheduler.state.jobs["promised"]
    job.promised, job.phases[0].done, job.phases[0].running = promised, 1, running

    assert (is_owed, held) == (job.is_owed, job.held)
