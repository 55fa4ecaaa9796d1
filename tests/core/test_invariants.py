"""The recount notices every counter that slips: each is moved by hand here, and `check` must show.

A check that lets one of these pass would let a real bug pass in every other test of the house.
"""

import re

import pytest
from tests.invariants import check
from tests.runs import map_reduce, scheduler_of

from sluice.core import events as ev
from sluice.core.transitions import AttemptState, JobState
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind

pytestmark = pytest.mark.no_invariants


@pytest.fixture
def state():
    """Job `a` is half through its maps, `b` waits in line, `c` is done, `d` was killed."""
    scheduler = scheduler_of()
    nodes = [Node(node_id=NodeId(name), map_slots=2, reduce_slots=1) for name in ("n0", "n1")]
    events = [
        *(ev.NodeJoined(0.0, node) for node in nodes),
        ev.JobSubmitted(0.0, map_reduce("c", 1, reduces=1)),
        ev.JobSubmitted(0.0, map_reduce("d", 1)),
        ev.JobSubmitted(0.0, map_reduce("a", 6, reduces=2)),
        ev.JobSubmitted(0.0, map_reduce("b", 2), {}, alike=True),
        ev.Tick(0.0),
        ev.TaskFinished(1.0, ev.AttemptKey(JobId("c"), 0, 0, 1), 1.0),
        ev.JobKilled(1.0, JobId("d")),
        ev.Tick(1.0),
        ev.TaskFinished(2.0, ev.AttemptKey(JobId("c"), 1, 0, 1), 2.0),
        ev.TaskFinished(2.0, ev.AttemptKey(JobId("a"), 0, 0, 1), 2.0),
        ev.Tick(2.0),
    ]
    for event in events:
        scheduler.handle(event)
    check(scheduler.state)
    return scheduler.state


def running(state):
    """An attempt of job `a` that runs in earnest."""
    return next(a for a in state.running.values() if a.phase.job_id == "a")


def maps_of(state, job_id):
    return state.jobs[job_id].phases[0]


def _lose_a_waiting_task(state):
    maps_of(state, "a").pending.take_one()


def _forget_an_attempt(state):
    state.running.remove(running(state))


def _run_one_task_twice(state):
    first, second = [a for a in state.running.values() if a.phase.job_id == "a"][:2]
    second.task, second.number = first.task, 2
    second._key = second._launch = None  # named again


def _give_a_slot_back_early(state):
    attempt = running(state)
    attempt.node.give_back(attempt.launch.slot_kind, attempt.span)


def _hold_a_slot_twice(state):
    first, second = [a for a in state.running.values() if a.node.node_id == "n1"][:2]
    second.span = first.span
    second._launch = None  # made again


def _open_the_reduces_early(state):
    state.jobs["a"].phases[1].is_open = True
    state.startable += 2


def _lose_the_place_in_line(state):
    maps_of(state, "a").is_queued = False


def _stand_in_no_line(state):
    state.backlogs[SlotKind.MAP]._line.clear()


def _miscount_a_line(state):
    state.backlogs[SlotKind.MAP].leave()


def _kill_a_node_only(state):
    state.nodes["n0"].is_up = False
    for kind in SlotKind:
        state.slots[kind] -= state.nodes["n0"].node.slots(kind)


def _lose_an_output_unnoticed(state):
    for node in state.nodes.values():
        node.forget_done()


def _record(state, name, value):
    """Change the first ended attempt in the record."""
    attempt = state.closed[0]
    setattr(attempt, name, value)
    state.closed._kept[0] = attempt


def _end_before_the_start(state):
    _record(state, "finished_at_s", -1.0)


def _close_without_an_end(state):
    _record(state, "state", AttemptState.RUNNING)


def _close_twice(state):
    state.closed.add(state.closed[0])


def _offer_a_full_node(state):
    node = next(a.node for a in state.running.values() if not a.node.free[SlotKind.MAP])
    state.open_nodes.maps.add(node.index)


def _forget_a_node_with_room(state):
    node = next(node for node in state.nodes.values() if node.free[SlotKind.REDUCE])
    state.open_nodes.reduces.discard(node.index)


def _run_what_has_ended(state):
    running(state).state = AttemptState.DONE


def _mark_moot_without_a_kill(state):
    running(state).is_moot = True
    maps_of(state, "a").pending.put_back(0)
    state.startable += 1


def _keep_running_for_an_ended_job(state):
    attempt = next(a for a in state.running.values() if a.phase.job_id == "d")
    attempt.is_moot = False


def _keep_an_ended_job(state):
    state.active.add(state.jobs["c"])


def _end_without_an_instant(state):
    state.jobs["c"].finished_at_s = float("nan")


def _declare_done_too_early(state):
    state.jobs["d"].state = JobState.DONE


def _reserve_for_nobody(state):
    state.nodes["n0"].reserve(Resources(cpu=5.0))


def _count(name, change):
    def tamper(state):
        setattr(state, name, getattr(state, name) + change)

    return tamper


def _count_of_phase(name, change):
    def tamper(state):
        phase = maps_of(state, "a")
        setattr(phase, name, getattr(phase, name) + change)

    return tamper


def _lose_slots(state):
    state.slots[SlotKind.MAP] -= 1


def _lose_a_free_slot(state):
    state.nodes["n0"].free.reduces.count -= 1


def _count_phases_left(state):
    state.jobs["a"].phases_left -= 1


TAMPERED = [
    (_lose_a_waiting_task, "startable is|wait"),
    (_forget_an_attempt, "running is"),
    (_run_one_task_twice, "wait, .* run"),
    (_give_a_slot_back_early, "free"),
    (_hold_a_slot_twice, "held twice"),
    (_open_the_reduces_early, "is_open is True"),
    (_lose_the_place_in_line, "is_queued is False"),
    (_stand_in_no_line, "backlogs disagree"),
    (_miscount_a_line, "phases wait for"),
    (_kill_a_node_only, "gone"),
    (_lose_an_output_unnoticed, "lost without notice"),
    (_end_before_the_start, "before"),
    (_close_without_an_end, "done is|is closed and"),
    (_close_twice, "done is|twice"),
    (_offer_a_full_node, "the index says otherwise"),
    (_forget_a_node_with_room, "the index says otherwise"),
    (_run_what_has_ended, "and runs"),
    (_mark_moot_without_a_kill, "moot|twice|wait"),
    (_keep_running_for_an_ended_job, "in earnest"),
    (_keep_an_ended_job, "released jobs are counted"),
    (_end_without_an_instant, "its end is at nan"),
    (_declare_done_too_early, "of its phases are not"),
    (_reserve_for_nobody, "is reserved"),
    (_count("startable", 1), "startable is"),
    (_count("distinct_jobs", -1), "distinct_jobs is"),
    (_count_of_phase("running", 1), "running is"),
    (_count_of_phase("done", 1), "done is"),
    (_lose_slots, "map slots are"),
    (_lose_a_free_slot, "reduce slots: free is"),
    (_count_phases_left, "phases_left"),
]


NAMES = [f"{index}{tamper.__name__}" for index, (tamper, _) in enumerate(TAMPERED)]


@pytest.mark.parametrize(("tamper", "telling"), TAMPERED, ids=NAMES)
def test_what_slips_is_shown(state, tamper, telling):
    tamper(state)

    with pytest.raises(AssertionError) as said:
        check(state)
    assert re.search(telling, str(said.value)), said.value


def test_a_check_changes_nothing(state):
    """Or a run under the laws would not be the run without them."""
    before = {kind: list(state.backlogs[kind]._line) for kind in SlotKind}
    check(state)

    assert before == {kind: list(state.backlogs[kind]._line) for kind in SlotKind}
