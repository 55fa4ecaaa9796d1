"""The scheduler's own limit on the time of an attempt."""

from tests.core.test_node_faults import World

from sluice.core.commands import Kill
from sluice.core.events import FailureKind, Tick
from sluice.core.transitions import JobState


def kills(world, at_s):
    """The keys of the attempts that are killed at an instant, each with the reason."""
    commands = world.scheduler.handle(Tick(at_s))
    return [(command.key, command.reason.text()) for command in commands if type(command) is Kill]


def test_an_attempt_that_runs_too_long_is_killed_once():
    world = World("n", wall_s=100.0)
    ((key, _),) = world.tick(0.0)
    world.tick(1.0)
    assert world.wakes == [100.0]

    assert kills(world, 99.9) == []
    assert kills(world, 100.0) == [(key, "it ran longer than 100 s, the limit of every attempt")]
    assert kills(world, 101.0) == []


def test_an_attempt_that_ran_too_long_has_failed():
    world = World("n", wall_s=100.0, failures_max=2)
    for at_s in (0.0, 200.0):
        ((key, _),) = world.tick(at_s)
        assert len(kills(world, at_s + 100.0)) == 1
        world.fail(key, at_s + 101.0, FailureKind.KILLED, "ended")

    assert world.job.state is JobState.FAILED
    assert "failed 2 times" in world.job.reason


def test_a_node_that_is_lost_with_such_an_attempt_is_not_the_failure_of_its_task():
    world = World("n", wall_s=100.0, failures_max=1)
    ((key, _),) = world.tick(0.0)
    assert len(kills(world, 100.0)) == 1
    world.fail(key, 101.0, FailureKind.LOST, "frozen")

    assert world.job.state is JobState.RUNNING


def test_the_oldest_attempt_says_when_to_look_again():
    world = World("a", "b", wall_s=100.0)
    (first, second) = [key for key, _ in world.tick(0.0)]
    world.finish(first, 50.0)
    world.tick(50.0)
    world.finish(second, 60.0)
    world.tick(60.0)

    assert world.wakes == [150.0]
