"""Anything may happen in any order: the scheduler neither breaks nor loses nor doubles work.

The machine below plays a hostile world. It submits jobs of up to four phases, loses nodes and
brings them back changed, and shows of attempts whatever it likes, about any attempt that ever
ran: late, twice, out of order, or of attempts nobody launched. The task policy is restless: it
copies and kills attempts by whim. After every event the conservation laws are recounted
(`tests/conftest.py`); every change of state must follow the transition tables; an event about
something that does not run is counted in `state.ignored` and changes nothing. In the end the
world calms down, and everything that was not killed or failed gets done, each task once.

That these properties bite was tried by planting bugs, one at a time. Each was caught by:
- slots not given back: "n free and n held are not n";
- a task launched twice, an attempt number used twice: "running is n, attempts run m";
- a task lost on failure, or with its node: "n wait, n run, n are done, of n tasks";
- outputs of a lost node kept: "output of .. is gone, and a phase needs it";
- outputs forgotten that were lost while nothing needed them: the same, three phases or more;
- the twin of a winner not moot: "a task runs or is done twice";
- a late moot twin that ends its successors: "is closed and KILLING";
- a phase left open when what it reads is lost: "is_open is True .. 1 tasks are left before it";
- a repeated start not counted: "was ignored 0 times";
- waiting tasks of an ended job kept: "has ended, n tasks wait";
- a phase not put back in line: "is_queued is False with n waiting tasks";
- an end before its start: "ended at .., before ..".
"""

import random
from collections import Counter
from enum import Enum
from functools import partial
from itertools import chain

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.effort import IS_THOROUGH, of_today
from tests.runs import scheduler_of

from sluice.core import events as ev
from sluice.core.commands import Kill, Launch
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import ATTEMPT_TRANSITIONS, JOB_TRANSITIONS, AttemptState, JobState
from sluice.model.cluster import Node
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.fifo import Fifo

NODE_IDS = (NodeId("n0"), NodeId("n1"), NodeId("n2"))
NOWHERE = NodeId("nowhere")
WHIM = Reason(ReasonCode.TIMED_OUT)


def reachable(table):
    """From each state, the states that some sequence of inputs leads to, itself included."""
    steps: dict[Enum, set[Enum]] = {}
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


seeds = st.integers(0, 9999)
lateness_s = st.sampled_from([0.0, 2.0])
blames = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), max_size=2).map(tuple)


def a_job(job_id, draw):
    """A job of up to four phases, each after any of those before it: more than map and reduce."""
    phases = []
    for index in range(draw.randint(1, 4)):
        after = draw.sample(range(index), draw.randint(0, min(2, index)))
        kind = draw.choice([SlotKind.MAP, SlotKind.MAP, SlotKind.REDUCE])
        phases.append(
            Phase(name=f"s{index}", kind=kind, tasks=draw.randint(1, 4), after=tuple(sorted(after)))
        )
    return Job(job_id=job_id, pool=draw.choice(["p0", "p1"]), phases=tuple(phases))


class Restless(Fifo):
    """FIFO that now and then starts a copy of an attempt, or ends one, without good reason."""

    def __init__(self, whim):
        super().__init__()
        self.whim = whim

    def fill(self, offer):
        for attempt in list(offer.state.running.values()):
            kind = attempt.launch.slot_kind
            can_be_copied = (
                attempt.state in {AttemptState.LAUNCHED, AttemptState.RUNNING}
                and attempt.launch.tasks == 1
            )
            if can_be_copied and offer.free(kind) and self.whim() < 0.1:
                offer.start(attempt.phase, kind, WHIM, copy_of=attempt)
        super().fill(offer)

    def kills(self, state, now_s):
        return [(key, WHIM) for key in list(state.running) if self.whim() < 0.05]


class Storm(RuleBasedStateMachine):
    """A world that shows the scheduler anything."""

    @initialize(
        seed=seeds,
        slowstart=st.sampled_from([1.0, 1.0, 0.0, 0.5]),
        by_heartbeat=st.booleans(),
        failures_max=st.sampled_from([4, 2, 1]),
    )
    def begin(self, seed, slowstart, by_heartbeat, failures_max):
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
            self.hear(ev.NodeJoined(0.0, Node(node_id=node_id, map_slots=2, reduce_slots=1)))
        self.submit(seed, manner="alike")
        self.submit(seed + 1, manner="apart")

    def decide(self):
        """An instant is complete."""
        for node_id in self.state.nodes if self.scheduler.rules.by_heartbeat else ():
            self.hear(ev.NodeHeartbeat(self.now_s, node_id))
        self.hear(ev.Tick(self.now_s))

    def hear(self, event):
        """Hand the event to the scheduler; note what it asks for."""
        commands = self.scheduler.handle(event)
        for command in commands:
            if type(command) is Launch:
                self.launches.append(command)
            elif type(command) is Kill:
                self.asked_to_end.append(command.key)
        return commands

    def show_of(self, event, *, counts):
        """Show of an attempt or a thing; if it does not count, it is counted as ignored."""
        before = sum(self.state.ignored.values())
        facts = (len(self.state.closed), set(self.state.running), self.state.startable)
        commands = self.hear(event)
        ignored = sum(self.state.ignored.values()) - before

        assert ignored == (not counts), f"{event} was ignored {ignored} times"
        if not counts:
            assert [] == commands
            assert facts == (len(self.state.closed), set(self.state.running), self.state.startable)

    def runs(self, key):
        return key in self.state.running

    # --- jobs -------------------------------------------------------------------------------

    @rule(seed=seeds, manner=st.sampled_from(["alike", "apart", "located"]))
    def submit(self, seed, manner):
        draw = random.Random(seed)
        job = a_job(f"j{len(self.jobs)}", draw)
        locations: dict[int, tuple[tuple[NodeId, ...], ...]] = {}
        if manner == "located":
            tasks = range(job.phases[0].tasks)
            places = [*NODE_IDS, NOWHERE]
            locations[0] = tuple(tuple(draw.sample(places, draw.randint(0, 2))) for _ in tasks)
        self.jobs.append(job)
        event = ev.JobSubmitted(self.now_s, job, locations, manner == "alike")
        self.show_of(event, counts=True)
        self.decide()

    @rule(index=st.integers(0, 3))
    def submit_again(self, index):
        job = self.jobs[index % len(self.jobs)]
        is_new = job.job_id not in self.state.jobs  # it was withdrawn
        self.show_of(ev.JobSubmitted(self.now_s, job), counts=is_new)
        if is_new:
            self.decide()

    @rule(index=st.integers(0, 9))
    def kill_job(self, index):
        job_id = JobId(f"j{index}")
        job = self.state.jobs.get(job_id)
        is_live = job is not None and not job.has_ended
        self.show_of(ev.JobKilled(self.now_s, job_id), counts=is_live)

    @rule(index=st.integers(0, 9), comes_again=st.booleans())
    def withdraw_job(self, index, comes_again):
        job_id = JobId(f"j{index}")
        job = self.state.jobs.get(job_id)
        has_started = any(launch.key.job_id == job_id for launch in self.launches)
        may_leave = job is not None and not (job.has_ended or has_started)
        self.show_of(ev.JobWithdrawn(self.now_s, job_id), counts=may_leave)
        if may_leave:
            assert job_id not in self.state.jobs
            self.job_states.pop(job_id, None)
            if comes_again:
                self.show_of(ev.JobSubmitted(self.now_s, job.job), counts=True)
                self.decide()

    # --- time and nodes ---------------------------------------------------------------------

    @rule(passed_s=st.sampled_from([0.0, 0.5, 3.0]))
    def pass_time(self, passed_s):
        self.now_s += passed_s
        self.decide()

    @rule(node_id=st.sampled_from([*NODE_IDS, NOWHERE]))
    def heartbeat(self, node_id):
        node = self.state.nodes.get(node_id)
        is_up = node is not None and node.is_up
        self.show_of(ev.NodeHeartbeat(self.now_s, node_id), counts=is_up)

    @rule(
        node_id=st.sampled_from(NODE_IDS),
        map_slots=st.integers(1, 3),
        reduce_slots=st.integers(0, 2),
    )
    def join(self, node_id, map_slots, reduce_slots):
        node = Node(node_id=node_id, map_slots=map_slots, reduce_slots=reduce_slots)
        known = self.state.nodes.get(node_id)
        self.show_of(ev.NodeJoined(self.now_s, node), counts=known is None or not known.is_up)

    @rule(node_id=st.sampled_from([*NODE_IDS, NOWHERE]), late_s=lateness_s)
    def lose(self, node_id, late_s):
        node = self.state.nodes.get(node_id)
        is_up = node is not None and node.is_up
        self.show_of(ev.NodeLost(self.now_s - late_s, node_id), counts=is_up)
        self.decide()

    @rule(node_id=st.sampled_from([*NODE_IDS, NOWHERE]), is_cordoned=st.booleans())
    def cordon(self, node_id, is_cordoned):
        event = ev.NodeCordoned(self.now_s, node_id, is_cordoned, "away" if is_cordoned else "")
        self.show_of(event, counts=node_id in self.state.nodes)

    @rule(index=seeds)
    def lose_output(self, index):
        done = [one for one in self.state.closed if one.state is AttemptState.DONE]
        if done:
            key = done[index % len(done)].key
            self.hear(ev.OutputLost(self.now_s, key.job_id, key.phase, key.task, "flipped"))

    # --- attempts: any that was ever launched -------------------------------------------------

    @precondition(lambda self: self.state.running)
    @rule(most=st.integers(1, 9))
    def get_work_done(self, most):
        """The world is not only hostile."""
        self.now_s += 1.0
        for key, attempt in list(self.state.running.items())[:most]:
            self.hear(ev.TaskFinished(self.now_s, key, self.now_s, attempt.launch.tasks))
        self.decide()

    @precondition(lambda self: self.launches)
    @rule(index=seeds, late_s=lateness_s)
    def start(self, index, late_s):
        key = self.some_launch(index).key
        attempt = self.state.running.get(key)
        is_new = attempt is not None and attempt.state is AttemptState.LAUNCHED
        self.show_of(ev.TaskStarted(self.now_s - late_s, key), counts=is_new)

    @precondition(lambda self: self.launches)
    @rule(index=seeds, fraction=st.sampled_from([0.0, 0.5, 1.0]))
    def progress(self, index, fraction):
        key = self.some_launch(index).key
        self.show_of(ev.TaskProgress(self.now_s, key, fraction), counts=self.runs(key))

    @precondition(lambda self: self.launches)
    @rule(index=seeds, late_s=lateness_s)
    def finish(self, index, late_s):
        launch = self.some_launch(index)
        at_s = self.now_s - late_s
        event = ev.TaskFinished(self.now_s, launch.key, at_s, launch.tasks)
        self.show_of(event, counts=self.runs(launch.key))
        self.decide()

    @precondition(lambda self: self.launches)
    @rule(index=seeds, kind=st.sampled_from(list(ev.FailureKind)), late_s=lateness_s, blames=blames)
    def fail(self, index, kind, late_s, blames):
        launch = self.some_launch(index)
        at_s = self.now_s - late_s
        event = ev.TaskFailed(
            self.now_s, launch.key, at_s, kind, "storm", launch.tasks, blames=blames
        )
        self.show_of(event, counts=self.runs(launch.key))

    @rule(
        job=st.sampled_from(["j0", "j1", "stranger"]),
        place=st.tuples(st.integers(-1, 5), st.integers(-1, 9), st.integers(-1, 9)),
        said=st.sampled_from(["started", "progress", "finished", "failed"]),
    )
    def show_of_a_stranger(self, job, place, said):
        key = ev.AttemptKey(job, *place)
        if self.runs(key):
            return
        self.show_of(
            {
                "started": ev.TaskStarted(self.now_s, key),
                "progress": ev.TaskProgress(self.now_s, key, 0.5),
                "finished": ev.TaskFinished(self.now_s, key, self.now_s),
                "failed": ev.TaskFailed(self.now_s, key, self.now_s, ev.FailureKind.EXIT),
            }[said],
            counts=False,
        )

    def some_launch(self, index):
        """One that still runs, if the number is even; else any that ever was launched."""
        alive = list(self.state.running.values())
        if alive and index % 2 == 0:
            return alive[index // 2 % len(alive)].launch
        return self.launches[index // 2 % len(self.launches)]

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
        self.calm_down()
        done: dict[tuple[JobId, int], list[int]] = {}
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
        """Count the things that happened, so that a storm can be shown to stir things up."""
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
            self.hear(ev.NodeCordoned(self.now_s, node_id, is_cordoned=False))
            self.hear(ev.NodeLost(self.now_s, node_id))
            node = Node(node_id=node_id, map_slots=2, reduce_slots=2)
            self.hear(ev.NodeJoined(self.now_s, node))
        for _ in range(1000):
            self.now_s += 1.0
            for key, attempt in list(self.state.running.items()):
                if attempt.state is AttemptState.KILLING:
                    kind = ev.FailureKind.KILLED
                    self.hear(ev.TaskFailed(self.now_s, key, self.now_s, kind))
                else:
                    self.hear(ev.TaskFinished(self.now_s, key, self.now_s, attempt.launch.tasks))
            for node_id in NODE_IDS:
                self.hear(ev.NodeHeartbeat(self.now_s, node_id))
            self.hear(ev.Tick(self.now_s))
            if not (self.state.running or self.state.active):
                return
        pytest.fail(f"never ended: {[job.job_id for job in self.state.active.values()]}")


class LongStorm(Storm):
    """For those with more patience."""


TestStorm = Storm.TestCase
TestStorm.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestLongStorm = pytest.mark.slow(LongStorm.TestCase)
TestLongStorm.settings = settings(
    max_examples=500 if IS_THOROUGH else 80, stateful_step_count=60, deadline=None
)


def random_storm(seed, steps):
    """The same storm at random: less cunning than Hypothesis, and it gets much deeper."""
    draw = random.Random(seed)
    index = partial(draw.randrange, 10_000)
    late_s = partial(draw.choice, [0.0, 2.0])
    node_id = partial(draw.choice, [*NODE_IDS, NOWHERE])
    storm = Storm()
    storm.begin(
        seed=seed,
        slowstart=draw.choice([1.0, 1.0, 0.0, 0.5]),
        by_heartbeat=draw.random() < 0.3,
        failures_max=draw.choice([4, 2, 1]),
    )
    moves = {
        lambda: storm.submit(index(), draw.choice(["alike", "apart", "located"])): 2,
        lambda: storm.submit_again(index()): 1,
        lambda: storm.kill_job(draw.randrange(40)): 1,
        lambda: storm.pass_time(draw.choice([0.0, 0.5])): 2,
        lambda: storm.heartbeat(node_id()): 1,
        lambda: storm.join(draw.choice(NODE_IDS), draw.randint(1, 3), draw.randint(0, 2)): 3,
        lambda: storm.lose(node_id(), late_s()): 1,
        lambda: storm.get_work_done(draw.randint(1, 6)): 6,
        lambda: storm.start(index(), late_s()): 3,
        lambda: storm.progress(index(), draw.random()): 1,
        lambda: storm.finish(index(), late_s()): 3,
        lambda: storm.fail(
            index(),
            draw.choice(list(ev.FailureKind)),
            late_s(),
            ((draw.randint(-1, 2), draw.randint(-1, 3)),) * draw.randint(0, 1),
        ): 3,
    }  # fmt: skip
    for move in draw.choices(list(moves), list(moves.values()), k=steps):
        move()
        storm.every_change_follows_the_tables()
    storm.every_launch_is_new()
    seen = storm.sights()
    storm.teardown()
    return seen


@pytest.mark.slow
def test_random_storms_break_nothing_and_stir_everything():
    """Each of the things that can happen did happen, or the storm proves little."""
    seen: Counter[str] = Counter()
    for seed in range(70):
        seen += random_storm(seed, 80)
    expected = {
        "again", "copies", "undone", "moot", "bulk", "ignored", "done", "failed", "killed", "lost",
        "job done", "job killed", "job failed", "job running", "job queued",
    }  # fmt: skip

    assert {} == {sight: seen[sight] for sight in expected if seen[sight] < 9}


@pytest.mark.slow
def test_many_random_storms_break_nothing():
    """A failing seed repeats as `random_storm(seed, 120)`."""
    for seed in of_today(range(1000, 2000), 25):
        random_storm(seed, 120)
