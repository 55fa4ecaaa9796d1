"""Nodes speak at staggered instants, and the scheduler knows only what they have shown."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from tests.runs import even_nodes, map_reduce
from tests.simulation.worlds import World, spans
from tests.strategies import job_lists

from sluice.core.events import FailureKind, NodeHeartbeat, TaskFailed, TaskFinished
from sluice.model.attempts import AttemptKey
from sluice.simulation.agenda import Agenda
from sluice.simulation.heartbeats import Heartbeats


def beats_of(world):
    """When each node spoke."""
    beats = defaultdict(list)
    for beat in world.heard(NodeHeartbeat):
        beats[beat.node_id].append(beat.at_s)
    return dict(beats)


@pytest.mark.interpreted  # it looks at the events
def test_node_i_of_n_speaks_at_i_nths_of_the_interval():
    """Nodes that all spoke at once would hide what a scheduler does with one node at a time."""
    world = World(even_nodes(4, 1, 0), [map_reduce("j", 100, 30.0)], heartbeat_s=2.0)
    world.run(until_s=7.0)

    assert beats_of(world) == {
        "n0": [0.0, 2.0, 4.0, 6.0],
        "n1": [0.5, 2.5, 4.5, 6.5],
        "n2": [1.0, 3.0, 5.0, 7.0],
        "n3": [1.5, 3.5, 5.5],
    }


@pytest.mark.interpreted
def test_an_end_is_shown_with_the_next_heartbeat_and_dated_when_it_was():
    """n1 speaks at 1.5, 4.5, 7.5: its map of 4 s ends at 5.5, which nobody knows before 7.5."""
    jobs = [map_reduce("j", 2, 4.0, 1, 1.0)]
    world = World(even_nodes(2, 1, 1), jobs, heartbeat_s=3.0)
    state = world.run()
    said = [(end.key.phase, end.finished_at_s, end.at_s) for end in world.heard(TaskFinished)]

    assert [(0, 4.0, 6.0), (0, 5.5, 7.5), (1, 8.5, 10.5)] == said
    assert [(4.0, 0.0), (5.5, 1.5), (8.5, 7.5)] == [
        (attempt.finished_at_s, attempt.started_at_s) for attempt in state.closed
    ]
    assert 8.5 == state.jobs["j"].finished_at_s


def test_a_freed_slot_is_refilled_by_the_same_heartbeat():
    world = World(even_nodes(1, 1, 0), [map_reduce("j", 3, 4.0)], heartbeat_s=3.0)

    assert [0.0, 6.0, 12.0] == [attempt.started_at_s for attempt in world.run().closed]


def test_what_ends_with_a_heartbeat_is_shown_with_it():
    """At one instant tasks end before nodes speak, also where 0.1 + 0.2 is a hair above 0.3."""
    jobs = [map_reduce("j", 1, 0.1 + 0.2)]
    state = World(even_nodes(1, 1, 0), jobs, heartbeat_s=0.3).run()

    assert state.jobs["j"].finished_at_s == pytest.approx(0.3)


@pytest.mark.interpreted
def test_nodes_with_nothing_to_say_keep_quiet_while_nothing_waits():
    """A thousand seconds of work on one of four nodes is no reason for a thousand messages."""
    world = World(even_nodes(4, 1, 0), [map_reduce("j", 1, 1000.0)], heartbeat_s=3.0)
    world.run()

    assert {"n0": [0.0, 1002.0]} == {n: b for n, b in beats_of(world).items() if n == "n0"}
    assert len(world.heard(NodeHeartbeat)) <= 5


def test_a_node_speaks_up_for_a_job_that_comes_later():
    """n1 of two speaks at 1, 3, 5 ...; the job comes at 4.2, when n0's next word is due at 6."""
    jobs = [map_reduce("j", 2, 1.0, at_s=4.25)]
    state = World(even_nodes(2, 1, 0), jobs, heartbeat_s=2.0).run()

    assert [("n1", 5.0), ("n0", 6.0)] == [(a.launch.node_id, a.started_at_s) for a in state.closed]


# --- against a simulation in which every node speaks every time -----------------------------------


class Line:
    """One job in the naive simulation."""

    def __init__(self, job):
        self.job = job
        self.to_start = [list(range(phase.tasks)) for phase in job.phases]
        self.left = [phase.tasks for phase in job.phases]

    def next_task(self, kind, now_s):
        """Phase and number of the next task of a kind that may start; None for none."""
        if self.job.submitted_at_s > now_s:
            return None
        for index, phase in enumerate(self.job.phases):
            if phase.kind.value == kind and not any(self.left[before] for before in phase.after):
                if self.to_start[index]:
                    return index, self.to_start[index].pop(0)
                return None
        return None


def length_s(phase, task):
    each_s = getattr(phase.lengths, "durations_s", None)
    return phase.lengths.average_s if each_s is None else each_s[task]


def eagerly(jobs, nodes, slots, interval_s):
    """FIFO where each node speaks at each of its instants, busy or not: (spans, shown ends)."""
    lines = sorted(map(Line, jobs), key=lambda line: line.job.submitted_at_s)
    free = [dict(slots) for _ in range(nodes)]
    running: list[list[Any]] = [[] for _ in range(nodes)]
    ran = []
    said: dict[str, float] = {}
    beat = 0
    while any(any(line.left) for line in lines):
        node = beat % nodes
        now_s = node * (interval_s / nodes) + beat // nodes * interval_s
        beat += 1
        for end in [end for end in running[node] if end[0] <= now_s]:
            running[node].remove(end)
            ended_at_s, kind, line, index = end
            free[node][kind] += 1
            line.left[index] -= 1
            said[line.job.job_id] = max(ended_at_s, said.get(line.job.job_id, 0.0))
        for kind in ("map", "reduce"):
            for line in lines:
                while free[node][kind] and (task := line.next_task(kind, now_s)) is not None:
                    index, number = task
                    ends_at_s = now_s + length_s(line.job.phases[index], number)
                    free[node][kind] -= 1
                    running[node].append((ends_at_s, kind, line, index))
                    name = (line.job.job_id, index, number)
                    ran.append((*name, f"n{node}", now_s, ends_at_s))
    return sorted(ran), said


@settings(max_examples=60, deadline=None)
@given(
    job_lists(jobs_max=4, tasks_max=6),
    st.sampled_from([1, 2, 4]),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from([0.25, 1.0, 3.0, 8.0]),
)
def test_silent_nodes_change_nothing(jobs, nodes, map_slots, reduce_slots, interval_s):
    """Heartbeats that are left out would not have done anything: same tasks, nodes, instants."""
    world = World(even_nodes(nodes, map_slots, reduce_slots), jobs, heartbeat_s=interval_s)
    state = world.run()
    slots = {"map": map_slots, "reduce": reduce_slots}
    expected, said = eagerly(jobs, nodes, slots, interval_s)
    event(f"heartbeats left out: {len(world.heard(NodeHeartbeat)) < state.now_s / interval_s}")

    assert expected == spans(state)
    assert said == {job_id: job.finished_at_s for job_id, job in state.jobs.items()}


# --- the part by itself ---------------------------------------------------------------------------


@given(
    st.integers(1, 50),
    st.data(),
    st.sampled_from([0.1, 0.3, 1.0, 3.0]),
    st.one_of(st.floats(0, 100), st.floats(0, 2e9)),
)
def test_the_next_beat_is_later_and_no_more_than_an_interval(nodes, data, interval_s, now_s):
    """A beat that comes again at its own instant is a simulation that never ends; jobs submitted
    at instants of the calendar have shown it.
    """
    agenda = Agenda()
    heartbeats = Heartbeats(even_nodes(nodes, 1, 1), interval_s, agenda)
    node_id = f"n{data.draw(st.integers(0, nodes - 1))}"
    heartbeats.arm(node_id, now_s, at_once=True)
    first_s = agenda.next_at_s
    agenda.pop()
    heartbeats.take(node_id)
    heartbeats.arm(node_id, first_s)
    second_s = agenda.next_at_s
    hair_s = 1e-6 + 4e-16 * now_s

    assert now_s <= first_s <= now_s + interval_s + hair_s
    assert first_s < second_s
    assert second_s - first_s == pytest.approx(interval_s, abs=hair_s)


def test_jobs_may_be_submitted_at_an_instant_of_the_calendar():
    jobs = [map_reduce("j", 3, 4.0, 1, 2.0, at_s=1_700_000_000.3)]
    state = World(even_nodes(3, 1, 1), jobs, heartbeat_s=0.3).run(until_s=1_700_000_100.0)

    assert "done" == state.jobs["j"].state.value


def report(task, at_s):
    return TaskFailed(at_s, AttemptKey("j", 0, task, 1), at_s, FailureKind.EXIT)


def test_a_node_is_due_once_however_much_it_has_to_show():
    agenda = Agenda()
    heartbeats = Heartbeats(even_nodes(2, 1, 1), 4.0, agenda)
    heartbeats.keep("n1", report(0, 3.0), 3.0)
    heartbeats.keep("n1", report(1, 5.0), 5.0)

    assert 1 == len(agenda)
    assert (6.0, NodeHeartbeat(6.0, "n1")) == (agenda.next_at_s, agenda.pop())
    assert [report(0, 3.0), report(1, 5.0)] == heartbeats.take("n1")
    assert [] == heartbeats.take("n1")


def test_a_dead_node_takes_what_it_had_to_show_with_it():
    agenda = Agenda()
    heartbeats = Heartbeats(even_nodes(1, 1, 1), 4.0, agenda)
    heartbeats.keep("n0", report(0, 1.0), 1.0)
    heartbeats.silence("n0")

    assert heartbeats.take("n0") is None
    heartbeats.arm("n0", 5.0)
    assert 1 == len(agenda), "a dead node is not asked"
    heartbeats.awaken("n0")
    assert [] == heartbeats.take("n0")


@pytest.mark.interpreted
def test_while_a_node_is_down_an_instant_costs_no_search_of_the_cluster(monkeypatch):
    """Each of 100 nodes was looked at in each instant until the last of them was back."""
    arm, asked = Heartbeats.arm, []

    def counted_arm(self, node_id, now_s, **more):
        asked.append(node_id)
        arm(self, node_id, now_s, **more)

    monkeypatch.setattr(Heartbeats, "arm", counted_arm)
    world = World(even_nodes(100, 1, 0), [map_reduce("j", 1000, 5.0)], heartbeat_s=2.0)
    world.lose("n7", 3.0, noticed_at_s=10.0)
    world.run()

    beats = len(world.heard(NodeHeartbeat))
    assert beats > 1000
    assert len(asked) < 3 * beats


NEWS = st.tuples(
    st.sampled_from(["n0", "n1", "n2"]), st.sampled_from(["dies", "is back", "is due", "speaks"])
)


@given(st.lists(NEWS, max_size=30))
@example([("n0", "is due"), ("n0", "dies"), ("n0", "is back")])
def test_each_node_that_is_up_and_no_other_gets_a_heartbeat(news):
    world = World(even_nodes(3, 1, 0), [], heartbeat_s=3.0)
    heartbeats, agenda = world.simulation._heartbeats, world.simulation._agenda
    up, due, now_s = set(world.nodes), set(), 0.0
    for node_id, what in news:
        event(what)
        if what == "dies":
            heartbeats.silence(node_id)
            up.discard(node_id)
        elif what == "is back":
            heartbeats.awaken(node_id)
            up.add(node_id)
        elif what == "is due":
            heartbeats.arm(node_id, now_s)
            due |= {node_id} & up
        elif due:
            now_s = agenda.next_at_s
            beat = agenda.pop()
            due.remove(beat.node_id)
            assert (heartbeats.take(beat.node_id) is not None) == (beat.node_id in up)
    heartbeats.arm_all(world.state, now_s)

    assert sorted(due | up) == sorted(agenda.pop().node_id for _ in range(len(agenda)))
