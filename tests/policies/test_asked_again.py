"""Parts from outside are asked again only after something that they could see has changed."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import clusters, job_lists

import sluice
from sluice.core.indexes.job_ranking import JobRanking
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.policies.composing import slot_lender
from sluice.policies.copies.copy_order import LOOK_S, CopyOrder
from sluice.policies.data.delay import DelayScheduling
from sluice.policies.orders.candidate_order import RankedJobs
from sluice.policies.orders.deadline import EarliestDeadline
from sluice.policies.orders.fair import Fair
from sluice.policies.orders.fewest_running import FewestRunning
from sluice.policies.orders.order_decorator import OrderDecorator, Tiers
from sluice.policies.orders.promised import Promised
from sluice.policies.rooms.composed import AnySlots, Composed
from sluice.policies.rooms.line import Line
from sluice.policies.rooms.loanable import Loanable
from sluice.policies.rooms.room import Lent, Room
from sluice.policies.settings import LentSettings

FIRST = Reason(ReasonCode.FIRST_IN_LINE)
KINDS = (SlotKind.MAP, SlotKind.REDUCE)
asked: Counter[object] = Counter()


@pytest.fixture(autouse=True)
def nothing_asked():
    asked.clear()


# --- rooms ----------------------------------------------------------------------------------------


class AskedEachTime(Room):
    """A node runs one reduce at most, but for those of phases of three, six or nine."""

    def fits(self, phase, node):
        asked[self.fits_by_node] += 1
        if phase.kind is SlotKind.MAP or phase.tasks % 3 == 0:
            return True
        return not node.used(SlotKind.REDUCE)


class AskedByNode(AskedEachTime):
    fits_by_node = True


class OneEach(Room):
    """A node runs one reduce at most, of whatever phase."""

    def fits(self, phase, node):
        asked[self.fits_by_kind] += 1
        return phase.kind is not SlotKind.REDUCE or not node.used(SlotKind.REDUCE)


class OneEachByKind(OneEach):
    fits_by_kind = True


class OneEachByNode(OneEachByKind):
    fits_by_node = True


class EveryOther(OrderDecorator):
    """Leaves out every other phase, so that not all that waits is asked about."""

    def candidates(self, kind):
        return iter(list(self.inner.candidates(kind))[::2])


class Looks(CopyOrder):
    """Copies what has run for 20 s."""

    def worth_a_copy(self, kind):
        asked[kind, self.state.now_s // LOOK_S] += 1
        for one in self.state.running.values():
            if one.phase.kind is kind and self.state.now_s - one.started_at_s >= 20:
                yield one


def in_room(room, order, around=None, delay_s=None):
    """A scheduler of an order, with a decorator of it or copies, over a room."""
    delay = None if delay_s is None else DelayScheduling(delay_s, delay_s)
    if around is Looks:
        return Composed(Looks(Line(order, room, delay)), room)
    return Composed(Line(order if around is None else around(order), room, delay), room)


WORLDS = {
    "plain": {},
    "heartbeats": {"heartbeat_s": 2.0},
    "failing tasks": {"p_slow": 0.2, "task_failure": 0.1},
    "lost nodes": {"node_mtbf_s": 60.0, "node_repair_s": 10.0},
}


DRAWN = {
    "cluster": clusters(kinds_min=2, nodes_max=5),
    "jobs": job_lists(tasks_max=8),
    "order": st.sampled_from([EarliestDeadline, FewestRunning, Fair]),
    "around": st.sampled_from([None, EveryOther, Looks]),
}


@pytest.mark.parametrize("world", WORLDS)
@settings(max_examples=30, deadline=None)
@given(**DRAWN, delay_s=st.sampled_from([None, 2.0]))
def test_a_room_that_looks_at_the_node_alone_may_be_asked_less_often(
    world, cluster, jobs, order, around, delay_s
):
    workload = Workload(cluster=cluster, jobs=tuple(jobs))
    each, by_node = (
        sluice.simulate(
            workload, tasks=in_room(room(), order(), around, delay_s), settings=WORLDS[world]
        )
        for room in (AskedEachTime, AskedByNode)
    )

    assert each.digest == by_node.digest
    assert asked[True] <= asked[False]


@pytest.mark.parametrize("world", WORLDS)
@settings(max_examples=30, deadline=None)
@given(**DRAWN)
def test_a_room_that_looks_at_the_kind_alone_may_be_asked_about_one_phase(
    world, cluster, jobs, order, around
):
    workload = Workload(cluster=cluster, jobs=tuple(jobs))
    each, *by_kind = (
        sluice.simulate(
            workload, tasks=in_room(room(), order(), around), settings=WORLDS[world]
        ).digest
        for room in (OneEach, OneEachByKind, OneEachByNode)
    )

    assert by_kind == [each, each]


def test_of_phases_that_wait_for_the_same_room_one_is_asked_about():
    """Reduces of 30 jobs wait for the 4 nodes; at each start and end on one, one of them is."""
    jobs = "".join(
        f"  - {{id: j{index}, reduces: {{tasks: 4, avg_s: 9}}}}\n" for index in range(30)
    )
    text = "version: 1\ncluster: {nodes: 4, node: {map_slots: 1, reduce_slots: 3}}\njobs:\n"
    workload = sluice.parse_workload(text + jobs)
    for room in (OneEach, OneEachByNode):
        sluice.simulate(workload, tasks=in_room(room(), FewestRunning()))

    assert asked[True] <= 2 * 120
    assert asked[False] > 4 * asked[True]


def test_nodes_without_room_are_left_alone_while_others_work():
    """8 nodes run a long reduce each, with a free slot for another; 400 maps end meanwhile."""
    text = """
    version: 1
    cluster: {nodes: 8, node: {map_slots: 1, reduce_slots: 2}}
    jobs:
      - {id: long, reduces: {tasks: 13, avg_s: 500}}
      - {id: maps, maps: {tasks: 400, avg_s: 1}}
    settings: {jitter: 0.3}
    """
    workload = sluice.parse_workload(text)
    for room in (AskedEachTime, AskedByNode):
        sluice.simulate(workload, tasks=in_room(room(), FewestRunning()))

    assert asked[True] < 900
    assert asked[False] > 3000


class Begun(FewestRunning):
    """Counts the nodes that are offered, and the looks for one."""

    def begin(self, now_s):
        asked["begun"] += 1
        super().begin(now_s)


@pytest.mark.parametrize("loans", [None, Loanable()])
def test_slots_that_are_kept_for_a_promise_are_not_offered_to_those_that_wait(loans):
    """`long` runs one map, and slots are kept for its 16 reduces; 300 maps of `others` wait."""
    text = """
    version: 1
    cluster: {nodes: 8, node: {map_slots: 2, reduce_slots: 1, cpu: 100}}
    jobs:
      - {id: due, deadline_s: 1000, maps: {tasks: 12, avg_s: 10}, demand: {map: {cpu: 40}}}
      - {id: long, deadline_s: 345, maps: {tasks: 1, avg_s: 300}, reduces: {tasks: 16, avg_s: 10}}
      - {id: others, submitted_at_s: 1, maps: {tasks: 300, avg_s: 6}, demand: {map: {cpu: 40}}}
    settings: {contention: shared, jitter: 0.3}
    """
    room = Lent()
    room.loans = loans
    line = Line(Promised(Begun()), room)
    lender = slot_lender(
        line, LentSettings(), by_pool=False, prescheduling=False, promises=True, loans=loans
    )
    run = sluice.simulate(
        sluice.parse_workload(text), tasks=AnySlots(lender, line, room), admission="capacity"
    )

    assert {"made": 2, "kept": 2, "broken": 0} == run.document()["promises"]
    assert len(run.attempts) == 329
    assert asked["begun"] < 1000  # it was 2,420 where slots are lent as they fit, and 3,302


# --- orders ---------------------------------------------------------------------------------------


def left(job):
    asked["left"] += 1
    return (sum(one.tasks - one.done for one in job.phases), job.release_seq)


class Sorted(TaskPolicy):
    """The job with the fewest tasks left, found among all at each start."""

    def first(self, kind, state):
        phases = state.backlogs[kind].phases()
        return min(phases, key=lambda one: (*left(one.job), one.index), default=None)

    def assign(self, node, state, now_s):
        for kind in KINDS:
            while node.free[kind] and (phase := self.first(kind, state)) is not None:
                yield Assignment(phase, kind, FIRST)


class Kept(Sorted):
    """The same by a ranking."""

    def attach(self, state):
        self.queue = JobRanking(state, left)

    def first(self, kind, state):
        return self.queue.first_phase(kind)


class Ranked(RankedJobs):
    def key(self, job):
        return left(job)


@pytest.mark.parametrize("world", WORLDS)
@settings(max_examples=15, deadline=None)
@given(cluster=clusters(kinds_min=2, nodes_max=5), jobs=job_lists(tasks_max=8))
def test_a_ranking_gives_the_order_of_keys_worked_out_at_each_start(world, cluster, jobs):
    workload = Workload(cluster=cluster, jobs=tuple(jobs))
    found = [
        sluice.simulate(workload, settings=WORLDS[world], **one).digest
        for one in ({"tasks": Sorted}, {"tasks": Kept}, {"tasks": in_room(Room(), Ranked())})
    ]

    assert [found[0]] * 3 == found


def test_a_key_is_asked_for_after_the_job_has_changed():
    """20 jobs of 10 maps: a start and an end of each task, and the release, not 20 for each."""
    jobs = "".join(f"  - {{id: j{index}, maps: {{tasks: 10, avg_s: 1}}}}\n" for index in range(20))
    workload = sluice.parse_workload(f"version: 1\ncluster: {{map_slots: 1}}\njobs:\n{jobs}")
    sluice.simulate(workload, tasks=Kept)

    assert asked["left"] <= 420


class Sorts(OrderDecorator):
    """Jobs of an even number of tasks first, by a look at all that wait."""

    def candidates(self, kind):
        yield from sorted(self.inner.candidates(kind), key=lambda one: parity(one.job))

    def job_place(self, job, kind):
        return (parity(job), super().job_place(job, kind))


class InTiers(Tiers):
    def tier(self, job):
        return parity(job)


def parity(job):
    asked["parity"] += 1
    return (sum(one.tasks for one in job.phases) % 2,)


@pytest.mark.parametrize("world", WORLDS)
@settings(max_examples=15, deadline=None)
@given(
    cluster=clusters(kinds_min=2, nodes_max=5),
    jobs=job_lists(tasks_max=8),
    order=st.sampled_from([EarliestDeadline, FewestRunning, Fair]),
)
def test_tiers_are_the_order_that_sorting_all_that_waits_gives(world, cluster, jobs, order):
    workload = Workload(cluster=cluster, jobs=tuple(jobs))
    sorts, tiers = (
        sluice.simulate(workload, tasks=in_room(Room(), order(), one), settings=WORLDS[world])
        for one in (Sorts, InTiers)
    )

    assert sorts.digest == tiers.digest


def test_a_tier_is_asked_for_after_the_job_has_changed():
    """20 jobs of 10 maps: a start and an end of each task, and the release, not 20 for each."""
    jobs = "".join(f"  - {{id: j{index}, maps: {{tasks: 10, avg_s: 1}}}}\n" for index in range(20))
    workload = sluice.parse_workload(f"version: 1\ncluster: {{map_slots: 1}}\njobs:\n{jobs}")
    sluice.simulate(workload, tasks=in_room(Room(), FewestRunning(), InTiers))

    assert asked["parity"] <= 420


class PassesOn(OrderDecorator):
    """Answers whether a task fits, and nothing else; counts what it is asked."""

    def __getattribute__(self, name):
        asked[name] += 1
        return super().__getattribute__(name)

    def fits(self, phase, node):
        return True


def test_a_part_is_not_asked_what_it_only_passes_on():
    text = "version: 1\ncluster: {map_slots: 1}\njobs: [{id: a, maps: {tasks: 50, avg_s: 1}}]\n"
    sluice.simulate(sluice.parse_workload(text), tasks=in_room(Room(), Eager(), PassesOn))

    assert asked["fits"] >= 50
    assert asked["candidates"] + asked["begin"] + asked["has_room"] + asked["wake_at_s"] <= 10


# --- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", WORLDS)
def test_which_attempts_deserve_a_copy_is_asked_once_in_three_seconds(world):
    text = """
    version: 1
    cluster: {nodes: 4, node: {map_slots: 2, reduce_slots: 1}}
    jobs: [{id: a, maps: {tasks: 60, avg_s: 5}, reduces: {tasks: 6, avg_s: 15}}]
    settings: {p_slow_node: 0.3, slow_node_factor: 8}
    """
    run = sluice.simulate(
        sluice.parse_workload(text),
        tasks=in_room(Room(), FewestRunning(), Looks),
        settings=WORLDS[world],
        seed=3,
    )

    assert any(one.is_copy for one in run.attempts)
    assert set(asked.values()) == {1}


class Eager(FewestRunning):
    """Wants to be asked also if no task waits."""

    def wants_offer(self, state):
        return True

    def wake_at_s(self, state, now_s):
        asked["idle"] += not state.startable


@pytest.mark.parametrize("around", [None, EveryOther, Looks])
def test_an_order_is_asked_when_to_wake_it_whatever_is_around_it(around):
    text = "version: 1\ncluster: {map_slots: 4}\njobs: [{id: a, maps: {tasks: 4, avg_s: 5}}]\n"
    sluice.simulate(sluice.parse_workload(text), tasks=in_room(Room(), Eager(), around))

    assert asked["idle"] >= 1
