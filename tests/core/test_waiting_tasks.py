"""The clever indexes of waiting work against naive models: pending tasks, backlogs, rankings."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sluice.core.indexes.backlog import Backlog, QueuedPhase
from sluice.core.indexes.pending import LocatedTasks, PendingTasks, Surroundings
from sluice.core.indexes.ranking import Ranking
from sluice.model.cluster import Locality
from sluice.model.ids import NodeId

RACK_OF = {NodeId(name): name[0] for name in ("a1", "a2", "b1", "b2")}
NODES = sorted(RACK_OF)
ELSEWHERE = NodeId("elsewhere")


class NaiveWaiting:
    """Waiting tasks as two plain sets; every answer is found by looking at all of them."""

    def __init__(self, tasks, locations=None):
        self.fresh = set(range(tasks))
        self.again = set()
        self.locations = locations

    @property
    def count(self):
        return len(self.fresh) + len(self.again)

    def distance(self, task, node_id):
        places = self.locations[task] if self.locations else ()
        if not places:
            return None
        if node_id in places:
            return Locality.NODE
        racks = {RACK_OF.get(place) for place in places}
        return Locality.RACK if RACK_OF[node_id] in racks else Locality.ANY

    def turn(self):
        return min(self.again) if self.again else min(self.fresh)

    def nearest(self, node_id):
        """Failed and lost ones first, in task order; then by distance, then in task order."""
        if self.again:
            return min(self.again)
        # A task whose input lies nowhere has no distance: it is as well placed here as anywhere.
        rank = [Locality.NODE, Locality.RACK, None, Locality.ANY]
        return min(self.fresh, key=lambda task: (rank.index(self.distance(task, node_id)), task))

    def is_within(self, node_id, level):
        """A task that runs again, or has no input anywhere, may run on any node."""
        if level is Locality.ANY or self.again or not self.locations:
            return True
        near = {None, Locality.NODE, level}
        return any(self.distance(task, node_id) in near for task in self.fresh)

    def remove(self, task):
        self.fresh.discard(task)
        self.again.discard(task)


class WaitingTasks(RuleBasedStateMachine):
    """Take and put back in any order, counted and located; clear in the end.

    Few wait to run again at a time: while one does, no data is looked for.
    """

    @initialize(tasks=st.integers(4, 30), seed=st.none() | st.integers(0, 999))
    def begin(self, tasks, seed):
        places = None
        if seed is not None:
            draw = random.Random(seed)
            choices = [*NODES, ELSEWHERE]
            places = [tuple(draw.sample(choices, draw.randint(0, 3))) for _ in range(tasks)]
        self.tasks = tasks
        self.naive = NaiveWaiting(tasks, places)
        self.around = Surroundings(RACK_OF)
        self.waiting = (
            PendingTasks(tasks) if places is None else LocatedTasks(tasks, places, self.around)
        )

    @invariant()
    def the_counts_agree(self):
        assert self.naive.count == self.waiting.count
        assert bool(self.naive.again) == self.waiting.has_again

    @precondition(lambda self: self.naive.count)
    @rule()
    def take_one(self):
        task = self.naive.turn()
        self.naive.remove(task)
        assert task == self.waiting.take_one()

    @precondition(lambda self: self.naive.count)
    @rule(most=st.integers(1, 12))
    def take_run(self, most):
        first, run = self.waiting.take_run(most)
        assert first == self.naive.turn()
        assert 1 <= run <= most
        if not self.waiting.is_placed and first not in self.naive.again:
            assert run == min(most, len(self.naive.fresh))
        for task in range(first, first + run):
            assert task in self.naive.fresh | self.naive.again
            self.naive.remove(task)

    @precondition(lambda self: self.naive.count)
    @rule(node_id=st.sampled_from(NODES), most=st.integers(1, 3))
    def take_nearest(self, node_id, most):
        """The task that is nearest is shown before it is taken."""
        rack = RACK_OF[node_id]
        for _ in range(min(most, self.naive.count)):
            task = self.naive.nearest(node_id) if self.naive.locations else self.naive.turn()
            distance = self.naive.distance(task, node_id)
            # One that runs again does so wherever there is room.
            expected = None if task in self.naive.again else distance
            assert expected == self.waiting.nearest(node_id, rack)
            assert (task, distance) == self.waiting.take_nearest(node_id, rack)
            self.naive.remove(task)

    @rule(node_id=st.sampled_from(NODES), level=st.sampled_from(Locality))
    def ask_how_near(self, node_id, level):
        expected = self.naive.is_within(node_id, level)
        assert expected == self.waiting.is_within(node_id, RACK_OF[node_id], level)

    @precondition(lambda self: not self.naive.again)
    @rule(index=st.integers(0, 29))
    def put_back(self, index):
        task = index % self.tasks
        if task not in self.naive.fresh:
            self.naive.again.add(task)
            self.waiting.put_back(task)

    def teardown(self):
        """After `clear` no task is near any node, and one that is put back runs anywhere."""
        if not hasattr(self, "waiting"):
            return
        self.waiting.clear()
        assert (0, None) == (self.waiting.count, self.waiting.nearest("a1", "a"))
        for level in Locality:
            expected = level is Locality.ANY or not self.waiting.is_placed
            assert expected == self.waiting.is_within("a1", "a", level)
        assert not any(map(self.around.is_near_data, NODES))
        self.waiting.put_back(0)
        assert (1, 0) == (self.waiting.count, self.waiting.take_one())


TestWaitingTasks = WaitingTasks.TestCase
TestWaitingTasks.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)


class Thing:
    """Something with a key that changes."""

    def __init__(self, key=None):
        self.key = key


keys = st.none() | st.tuples(st.integers(0, 3)) | st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(st.lists(st.tuples(st.integers(0, 5), keys, st.sampled_from(["touch", "first", "all"]))))
def test_a_ranking_orders_as_sorting_would(changes):
    """However many changes fall between two questions."""
    things = [Thing() for _ in range(6)]
    ranking: Ranking[Thing] = Ranking(lambda thing: thing.key)
    for index, key, question in changes:
        things[index].key = key
        ranking.touch(things[index])
        ranked = [thing for thing in things if thing.key is not None]
        least = min((thing.key for thing in ranked), default=None)
        if question == "first":
            first = ranking.first()
            assert least == (None if first is None else first.key)
        elif question == "all":
            order = list(ranking.in_order())
            assert sorted(thing.key for thing in ranked) == [thing.key for thing in order]
            assert set(ranked) == set(order)
            assert len(ranked) == len(ranking)


def test_a_ranking_keeps_one_entry_of_each_thing():
    """A thing touched a thousand times leaves no thousand entries behind."""
    thing = Thing((0,))
    ranking: Ranking[Thing] = Ranking(lambda thing: thing.key)
    for number in range(1000):
        thing.key = (number,)
        ranking.touch(thing)
        assert [thing] == list(ranking.in_order()) or ranking.first() is thing

    assert [thing] == [entry[2] for entry in ranking._order]


def phase_in_line(number):
    """As much of a phase as a backlog looks at."""
    phase = QueuedPhase(0)
    phase.release_seq = number
    return phase


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["join", "leave", "first", "look"]))))
def test_a_backlog_is_the_queued_phases_in_order_of_release(steps):
    """Also when one leaves and comes back, and when somebody stops looking half-way."""
    phases = [phase_in_line(number) for number in range(6)]
    backlog: Backlog[QueuedPhase] = Backlog()
    for index, step in steps:
        phase = phases[index]
        if step == "join" and not phase.is_queued:
            phase.is_queued = True
            backlog.add(phase)
        elif step == "leave":
            phase.is_queued = False
        queued = [phase for phase in phases if phase.is_queued]
        if step == "first":
            assert (queued or [None])[0] is backlog.first()
        elif step == "look":
            assert queued[: index + 1] == [
                phase for phase, _ in zip(backlog.in_order(), range(index + 1), strict=False)
            ]
            assert queued == list(backlog.in_order())
        assert set(queued) == backlog.phases()


def test_a_backlog_forgets_those_that_left_behind_a_first_one_that_waits():
    """Looking through it took as long as all jobs that were ever backfilled past the first."""
    draw = random.Random(3)
    backlog: Backlog[QueuedPhase] = Backlog()
    first, *others = [phase_in_line(number) for number in range(2000)]
    queued = [first]
    first.is_queued = True
    backlog.add(first)
    for phase in others:
        phase.is_queued = True
        backlog.add(phase)
        queued.append(phase)
        while len(queued) > draw.randint(2, 9):
            gone = queued.pop(draw.randrange(1, len(queued)))
            gone.is_queued = False
            backlog.leave()
        assert len(backlog._line) <= 64
    assert queued == list(backlog.in_order())
    assert (first, len(queued)) == (backlog.first(), backlog.count)


def test_the_nearest_task_is_the_first_one_on_the_node_then_in_the_rack_then_without_a_place():
    """Task 0 is on n0, task 1 has no place, and n2 is in another rack than n0 and n1."""
    n0, n1, n2 = map(NodeId, ("n0", "n1", "n2"))
    waiting = LocatedTasks(2, [(n0,), ()], Surroundings({n0: "r0", n1: "r0", n2: "r1"}))

    assert waiting.nearest(n0, "r0") is Locality.NODE
    assert waiting.nearest(n1, "r0") is Locality.RACK
    assert waiting.nearest(n2, "r1") is None
