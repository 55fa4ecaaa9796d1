"""Anything may happen in any order: the scheduler neither breaks nor loses nor doubles work.

The machine below plays a hostile world. It submits jobs of up to four phases, loses nodes and
brings them back changed, and tells of attempts whatever it likes, about any attempt that ever
ran: late, twice, out of order, or of attempts nobody launched. The task policy is restless: it
copies and kills attempts by whim. After every event the conservation laws are recounted
(`tests/conftest.py`); every change of state must follow the transition tables; an event about
something that does not run is counted in `state.ignored` and changes nothing. In the end the
world calms down, and everything that was not killed or failed gets done, each task once.

That these properties bite was tried by planting bugs in the core, one at a time, by hand; see
`PLANTED` at the end of this file.
"""

import random
from collections import Counter
from itertools import chain

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sluice.core import events as ev
from sluice.core.commands import Kill, Launch
from sluice.core.protocols import Assignment
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import (
    ATTEMPT_TRANSITIONS,
    JOB_TRANSITIONS,
    AttemptState,
    JobState,
)
from sluice.model.cluster import Node
from sluice.policies.fifo import Fifo
from tests.runs import scheduler_of
from tests.strategies import graphs

NODE_IDS = ("n0", "n1", "n2")
SEEN: Counter[str] = Counter()
WHIM = Reason(ReasonCode.TIMED_OUT)


def reachable(table):
    """From each state, the states that some sequence of inputs leads to, itself included."""
    steps = {}
    for row in table.values():
        for before, after in row.items():
            steps.setdefault(before, set()).add(after)
    found = {}
    for state in {*steps, *chain.from_iterable(steps.values())}:
        seen, front = {state}, [state]
        while front:
            more = steps.get(front.pop(), set()) - seen
            seen |= more
            front += more
        found[state] = seen
    return found


JOB_REACHES = reachable(JOB_TRANSITIONS)
ATTEMPT_REACHES = reachable(ATTEMPT_TRANSITIONS)


class Restless(Fifo):
    """FIFO that now and then starts a copy of an attempt, or ends one, without good reason."""

    def __init__(self, whim):
        self.whim = whim

    def assign(self, node, state, now_s):
        for attempt in list(state.running.values()):
            kind = attempt.launch.slot_kind
            can_be_copied = (
                attempt.state in {AttemptState.LAUNCHED, AttemptState.RUNNING}
                and attempt.launch.tasks == 1
            )
            if can_be_copied and node.free[kind] and self.whim() < 0.1:
                yield Assignment(attempt.phase, kind, WHIM, copy_of=attempt)
        yield from super().assign(node, state, now_s)

    def kills(self, state, now_s):
        return [(key, WHIM) for key in list(state.running) if self.whim() < 0.05]


class Storm(RuleBasedStateMachine):
    """A world that tells the scheduler anything."""

    @initialize(
        seed=st.integers(0, 9999),
        slowstart=st.sampled_from([1.0, 1.0, 0.0, 0.5]),
        by_heartbeat=st.booleans(),
        failures_max=st.sampled_from([1, 2, 4]),
        jobs=st.tuples(graphs("j0"), graphs("j1")),
    )
    def begin(self, seed, slowstart, by_heartbeat, failures_max, jobs):
        self.policy = Restless(random.Random(seed).random)
        self.scheduler = scheduler_of(
            self.policy, slowstart=slowstart, by_heartbeat=by_heartbeat, failures_max=failures_max
        )
        self.state = self.scheduler.state
        self.launches = []
        self.asked_to_end = []
        self.jobs = []
        self.now_s = 0.0
        self.job_states = {}
        self.attempts = {}
        for node_id in NODE_IDS[:2]:
            self.tell(ev.NodeJoined(0.0, Node(node_id=node_id, map_slots=2, reduce_slots=1)))
        for job in jobs:
            self.jobs.append(job)
            self.tell(ev.JobSubmitted(0.0, job))
        self.decide()

    def decide(self):
        """An instant is complete."""
        for node_id in self.state.nodes if self.scheduler.rules.by_heartbeat else ():
            self.tell(ev.NodeHeartbeat(self.now_s, node_id))
        self.tell(ev.Tick(self.now_s))

    def tell(self, event):
        """Hand the event to the scheduler; note what it asks for."""
        commands = self.scheduler.handle(event)
        for command in commands:
            if type(command) is Launch:
                self.launches.append(command)
            elif type(command) is Kill:
                self.asked_to_end.append(command.key)
        return commands

    def tell_of(self, event, *, counts):
        """Tell of an attempt or a thing; if it does not count, it is counted as ignored."""
        before = sum(self.state.ignored.values())
        facts = (len(self.state.closed), set(self.state.running), self.state.startable)
        commands = self.tell(event)
        ignored = sum(self.state.ignored.values()) - before

        assert ignored == (not counts), f"{event} was ignored {ignored} times"
        if not counts:
            assert [] == commands
            assert facts == (len(self.state.closed), set(self.state.running), self.state.startable)

    def runs(self, key):
        return key in self.state.running

    # --- jobs -------------------------------------------------------------------------------

    @rule(data=st.data(), alike=st.booleans(), is_located=st.booleans())
    def submit(self, data, alike, is_located):
        job = data.draw(graphs(f"j{len(self.jobs)}"))
        places = st.lists(st.sampled_from([*NODE_IDS, "nowhere"]), max_size=2, unique=True)
        locations = {}
        if is_located and not alike:
            tasks = job.phases[0].tasks
            drawn = data.draw(st.lists(places, min_size=tasks, max_size=tasks))
            locations[0] = tuple(map(tuple, drawn))
        self.jobs.append(job)
        self.tell_of(ev.JobSubmitted(self.now_s, job, locations, alike), counts=True)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def submit_again(self, data):
        job = data.draw(st.sampled_from(self.jobs))
        self.tell_of(ev.JobSubmitted(self.now_s, job), counts=False)

    @precondition(lambda self: self.jobs)
    @rule(index=st.integers(0, 99))
    def kill_job(self, index):
        job_id = f"j{index % (len(self.jobs) + 1)}"
        job = self.state.jobs.get(job_id)
        is_live = job is not None and not job.has_ended
        self.tell_of(ev.JobKilled(self.now_s, job_id), counts=is_live)

    # --- time and nodes ---------------------------------------------------------------------

    @rule(passed_s=st.sampled_from([0.0, 0.5, 3.0]))
    def pass_time(self, passed_s):
        self.now_s += passed_s
        self.decide()

    @rule(node_id=st.sampled_from([*NODE_IDS, "nowhere"]))
    def heartbeat(self, node_id):
        node = self.state.nodes.get(node_id)
        is_up = node is not None and node.is_up
        self.tell_of(ev.NodeHeartbeat(self.now_s, node_id), counts=is_up)

    @rule(
        node_id=st.sampled_from(NODE_IDS),
        map_slots=st.integers(1, 3),
        reduce_slots=st.integers(0, 2),
    )
    def join(self, node_id, map_slots, reduce_slots):
        node = Node(node_id=node_id, map_slots=map_slots, reduce_slots=reduce_slots)
        known = self.state.nodes.get(node_id)
        self.tell_of(
            ev.NodeJoined(self.now_s, node), counts=known is None or not known.is_up
        )

    @rule(node_id=st.sampled_from([*NODE_IDS, "nowhere"]), late_s=st.sampled_from([0.0, 5.0]))
    def lose(self, node_id, late_s):
        node = self.state.nodes.get(node_id)
        is_up = node is not None and node.is_up
        self.tell_of(ev.NodeLost(self.now_s - late_s, node_id), counts=is_up)
        self.decide()

    # --- attempts: any that was ever launched -------------------------------------------------

    @precondition(lambda self: self.launches)
    @rule(data=st.data(), late_s=st.sampled_from([0.0, 1.0]))
    def start(self, data, late_s):
        key = data.draw(self.any_launch()).key
        attempt = self.state.running.get(key)
        is_new = attempt is not None and attempt.state is AttemptState.LAUNCHED
        self.tell_of(ev.TaskStarted(self.now_s - late_s, key), counts=is_new)

    @precondition(lambda self: self.launches)
    @rule(data=st.data(), fraction=st.floats(0, 1))
    def progress(self, data, fraction):
        key = data.draw(self.any_launch()).key
        self.tell_of(ev.TaskProgress(self.now_s, key, fraction), counts=self.runs(key))

    @precondition(lambda self: self.launches)
    @rule(data=st.data(), late_s=st.sampled_from([0.0, 2.0]))
    def finish(self, data, late_s):
        launch = data.draw(self.any_launch())
        at_s = self.now_s - late_s
        event = ev.TaskFinished(self.now_s, launch.key, at_s, launch.tasks)
        self.tell_of(event, counts=self.runs(launch.key))
        self.decide()

    @precondition(lambda self: self.launches)
    @rule(data=st.data(), kind=st.sampled_from(ev.FailureKind), late_s=st.sampled_from([0.0, 2.0]))
    def fail(self, data, kind, late_s):
        launch = data.draw(self.any_launch())
        blames = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), max_size=2)
        event = ev.TaskFailed(
            self.now_s, launch.key, self.now_s - late_s, kind, "storm", launch.tasks,
            blames=tuple(data.draw(blames)),
        )  # fmt: skip
        self.tell_of(event, counts=self.runs(launch.key))

    @rule(
        job=st.sampled_from(["j0", "j1", "stranger"]),
        place=st.tuples(st.integers(-1, 5), st.integers(-1, 9), st.integers(-1, 9)),
        told=st.sampled_from(["started", "progress", "finished", "failed"]),
    )
    def tell_of_a_stranger(self, job, place, told):
        key = ev.AttemptKey(job, *place)
        if self.runs(key):
            return
        self.tell_of(
            {
                "started": ev.TaskStarted(self.now_s, key),
                "progress": ev.TaskProgress(self.now_s, key, 0.5),
                "finished": ev.TaskFinished(self.now_s, key, self.now_s),
                "failed": ev.TaskFailed(self.now_s, key, self.now_s, ev.FailureKind.EXIT),
            }[told],
            counts=False,
        )

    def any_launch(self):
        """Mostly those that still run, or the storm would stir nothing."""
        alive = [launch for launch in self.launches if self.runs(launch.key)]
        return st.sampled_from(alive + self.launches[-3:] if alive else self.launches)

    # --- what holds all the time, and in the end ----------------------------------------------

    @invariant()
    def every_change_follows_the_tables(self):
        for job_id, job in self.state.jobs.items():
            before = self.job_states.get(job_id, JobState.DEFERRED)
            assert job.state in JOB_REACHES[before]
            self.job_states[job_id] = job.state
        for attempt in chain(self.state.running.values(), self.state.closed):
            before = self.attempts.get(attempt.key, AttemptState.LAUNCHED)
            assert attempt.state in ATTEMPT_REACHES[before]
            self.attempts[attempt.key] = attempt.state

    @invariant()
    def every_launch_is_new(self):
        keys = [launch.key for launch in self.launches]
        assert len(set(keys)) == len(keys)

    def teardown(self):
        if not hasattr(self, "scheduler"):
            return
        SEEN.update(self.sights())
        self.calm_down()
        done = {}
        for attempt in self.state.closed:
            if attempt.state is AttemptState.DONE and not (attempt.is_moot or attempt.is_undone):
                place = (attempt.key.job_id, attempt.key.phase)
                tasks = range(attempt.key.task, attempt.key.task + attempt.launch.tasks)
                done.setdefault(place, []).extend(tasks)
        for job_id, job in self.state.jobs.items():
            assert job.has_ended
            assert job.state in {JobState.DONE, JobState.KILLED, JobState.FAILED}
            if job.state is JobState.DONE:
                for phase in job.phases:
                    assert list(range(phase.tasks)) == sorted(done[job_id, phase.index])

    def sights(self):
        """What happened, so that a storm can be shown to stir things up."""
        attempts = [*self.state.running.values(), *self.state.closed]
        return Counter(
            {
                "attempts": len(attempts),
                "again": sum(attempt.key.attempt > 1 for attempt in attempts),
                "copies": sum(attempt.launch.is_copy for attempt in attempts),
                "undone": sum(attempt.is_undone for attempt in attempts),
                "moot": sum(attempt.is_moot for attempt in attempts),
                "bulk": sum(attempt.launch.tasks > 1 for attempt in attempts),
                "ignored": sum(self.state.ignored.values()),
                **Counter(attempt.state.value for attempt in self.state.closed),
                **Counter(f"job {job.state.value}" for job in self.state.jobs.values()),
            }
        )

    def calm_down(self):
        """Nodes come back, nothing fails any more, kills are confirmed."""
        self.policy.whim = lambda: 1.0
        for node_id in NODE_IDS:
            self.tell(ev.NodeLost(self.now_s, node_id))
            node = Node(node_id=node_id, map_slots=2, reduce_slots=2)
            self.tell(ev.NodeJoined(self.now_s, node))
        for _ in range(1000):
            self.now_s += 1.0
            for key, attempt in list(self.state.running.items()):
                if attempt.state is AttemptState.KILLING:
                    kind = ev.FailureKind.KILLED
                    self.tell(ev.TaskFailed(self.now_s, key, self.now_s, kind))
                else:
                    self.tell(ev.TaskFinished(self.now_s, key, self.now_s, attempt.launch.tasks))
            for node_id in NODE_IDS:
                self.tell(ev.NodeHeartbeat(self.now_s, node_id))
            self.tell(ev.Tick(self.now_s))
            if not (self.state.running or self.state.active):
                return
        pytest.fail(f"never ended: {[job.job_id for job in self.state.active.values()]}")


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


class TestStorm(Storm.TestCase):
    """A short storm for every change."""

    settings = settings(
        max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=QUIET
    )


@pytest.mark.slow
class TestLongStorm(Storm.TestCase):
    """A long one for every night."""

    settings = settings(
        max_examples=700, stateful_step_count=80, deadline=None, suppress_health_check=QUIET
    )
def test_zz(): print(SEEN)
