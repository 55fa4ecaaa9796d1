"""A guard changes no answer of the policy inside, whichever methods that policy defines."""

import random

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core.commands import Launch
from sluice.core.events import JobSubmitted, NodeJoined, Tick
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.ids import NodeId
from sluice.model.slot_kind import SlotKind
from sluice.policies.guard import guarded

SHAPES = ((1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1))  # map slots, reduce slots, containers


class Usual(TaskPolicy):
    """Starts nothing, and leaves all else to the base class."""

    name = "usual"

    def assign(self, node, state, now_s):
        return ()


class UsesReduces(Usual):
    def could_use(self, slot_kind, state):
        return slot_kind is SlotKind.REDUCE


class WantsOffers(Usual):
    def wants_offer(self, state):
        return True


class TakesAnySlot(Usual):
    has_any_slot = True


class TakesTheLast(Usual):
    def next_node(self, index, state):
        return len(state.node_at) - 1 if index < len(state.node_at) else -1


POLICIES = (Usual, UsesReduces, WantsOffers, TakesAnySlot, TakesTheLast)


def cluster_of(draw):
    """A state with nodes of random shapes, and at most one job that waits."""
    scheduler = scheduler_of(Usual())
    for number in range(draw.randint(1, 5)):
        maps, reduces, containers = draw.choice(SHAPES)
        name = NodeId(f"n{number}")
        node = Node(node_id=name, map_slots=maps, reduce_slots=reduces, containers=containers)
        scheduler.handle(NodeJoined(0.0, node))
    maps, reduces = draw.choice([(0, 0), (2, 0), (2, 2), (0, 2)])
    if maps or reduces:
        scheduler.handle(JobSubmitted(0.0, map_reduce("a", maps, reduces=reduces)))
    scheduler.handle(Tick(0.0))
    return scheduler.state


@pytest.mark.parametrize("made", POLICIES)
def test_the_next_node_of_a_guarded_policy_is_its_own(made):
    policy, found = made(), set()
    for seed in range(40):
        state = cluster_of(random.Random(seed))
        behind = guarded(policy, "p")
        for index in range(len(state.node_at) + 1):
            expected = policy.next_node(index, state)
            assert expected == behind.next_node(index, state)
            found.add(expected)
        for kind in SlotKind:
            assert policy.could_use(kind, state) == behind.could_use(kind, state)
    assert found > {-1, 0}


@pytest.mark.parametrize("wrong", [-2, 0, 3, "n1", None])
def test_a_next_node_that_is_not_from_the_index_on_is_refused(wrong):
    """The cluster has nodes 0, 1 and 2, and the first node from 1 on is asked for."""

    class Wrong(Usual):
        def next_node(self, index, state):
            return wrong

    scheduler = scheduler_of(Usual())
    for number in range(3):
        scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId(f"n{number}"), map_slots=1)))

    with pytest.raises(InvalidInput, match=r"TaskPolicy\.next_node returned"):
        guarded(Wrong(), "p").next_node(1, scheduler.state)


@pytest.mark.parametrize("answer", [-1, 1, 2])
def test_a_next_node_from_the_index_on_is_passed_on(answer):
    class Right(Usual):
        def next_node(self, index, state):
            return answer

    scheduler = scheduler_of(Usual())
    for number in range(3):
        scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId(f"n{number}"), map_slots=1)))

    assert answer == guarded(Right(), "p").next_node(1, scheduler.state)


WHY = Reason(ReasonCode.GAVE_WAY)


class Kills(Usual):
    """Kills what it is given, and raises then, if it is given an error."""

    def __init__(self, kills, error=None):
        super().__init__()
        self._kills = kills
        self._error = error

    def kills(self, state, now_s):
        yield from self._kills
        if self._error is not None:
            raise self._error


def killed(kills, error=None):
    """The kills behind a guard where tasks 0 and 1 of job a run."""
    scheduler = scheduler_of()
    scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("n"), map_slots=2)))
    scheduler.handle(JobSubmitted(0.0, map_reduce("a", 3)))
    scheduler.handle(Tick(0.0))
    return list(guarded(Kills(kills, error), "p").kills(scheduler.state, 1.0))


def key(task):
    return AttemptKey("a", 0, task, 1)


@pytest.mark.parametrize("tasks", [(), (0,), (1, 0)])
def test_what_a_guarded_policy_kills_is_passed_on(tasks):
    expected = [(key(task), WHY) for task in tasks]
    assert expected == killed(expected)


@pytest.mark.parametrize(
    "wrong",
    [(), (key(0),), (key(0), WHY, WHY), (key(2), WHY), (key(0), "why"), (key(2), "why"), "ab", 7],
)
def test_a_kill_that_is_not_of_a_running_attempt_with_a_reason_is_refused(wrong):
    with pytest.raises(InvalidInput, match=r"policy p: TaskPolicy\.kills gave"):
        killed([(key(0), WHY), wrong])


def test_what_a_policy_raises_between_its_kills_names_it():
    with pytest.raises(InvalidInput, match=r"policy p: TaskPolicy\.kills raised ZeroDivisionError"):
        killed([(key(0), WHY)], ZeroDivisionError())


def test_an_error_of_the_family_between_kills_stays_as_it_is():
    error = SluiceError("enough")
    with pytest.raises(SluiceError) as found:
        killed([], error)

    assert error is found.value


class StartsOne(Usual):
    """Starts the task it is given where there is a free slot."""

    def __init__(self, wrong=None):
        super().__init__()
        self._wrong = wrong

    def assign(self, node, state, now_s):
        phase = state.backlogs[SlotKind.MAP].first()
        if self._wrong is not None:
            return self._wrong(phase)
        return [Assignment(phase, SlotKind.MAP, WHY)] if phase and node.free.maps.count else ()


class FillsAlone(Usual):
    """Starts a task itself, and is not asked for assignments."""

    def fill(self, offer):
        phase = offer.state.backlogs[SlotKind.MAP].first()
        if phase is not None:
            offer.start(phase, SlotKind.MAP, WHY)

    def assign(self, node, state, now_s):
        raise AssertionError("it fills the slots itself")


def launches(policy):
    """The commands of a guarded policy where a node with one slot and two maps wait."""
    scheduler = scheduler_of(guarded(policy, "p"))
    scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("n"), map_slots=1)))
    scheduler.handle(JobSubmitted(0.0, map_reduce("a", 2)))
    return [one.key for one in scheduler.handle(Tick(0.0)) if isinstance(one, Launch)]


@pytest.mark.parametrize("made", [StartsOne, FillsAlone])
def test_what_a_guarded_policy_starts_is_started(made):
    assert [key(0)] == launches(made())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda _: None, "assign returned None"),
        (lambda _: [7], "assign gave 7"),
        (lambda _: [Assignment("a", SlotKind.MAP, WHY)], "assign returned 'a'"),
        (lambda phase: [Assignment(phase, SlotKind.REDUCE, WHY)], "assign asked for a wrong start"),
        (lambda phase: phase.none, r"assign raised AttributeError: .*\(line \d+ of .*\.py\)"),
    ],
)
def test_a_wrong_start_is_refused_with_its_policy(wrong, said):
    with pytest.raises(InvalidInput, match=rf"policy p: TaskPolicy\.{said}"):
        launches(StartsOne(wrong))


def test_the_unfinished_jobs_of_a_guarded_policy_are_its_own():
    class Holds(Usual):
        def unfinished_jobs(self):
            return ["one"]

    assert [] == list(guarded(Usual(), "p").unfinished_jobs())
    assert ["one"] == list(guarded(Holds(), "p").unfinished_jobs())
