"""Why a job waits, and what happened to it, as the core shows them."""

import json
import time
from dataclasses import replace

import pytest
from tests.runs import map_reduce

from sluice.core.events import (
    FailureKind,
    JobKilled,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
    TaskProgress,
    Tick,
)
from sluice.core.explain.story import story
from sluice.core.explain.why import why
from sluice.core.protocols import AdmissionPolicy, Defer, Refuse, ReleaseOrder, ReleasePolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.transitions import JobState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.orders.fair import Fair
from sluice.policies.orders.fifo import Fifo

ASIDE = Reason(ReasonCode.NO_NODE)


class Answers(AdmissionPolicy):
    """An admission policy that always gives one answer."""

    def __init__(self, answer):
        self.answer = answer

    def decide(self, job, state):
        return self.answer


class HoldAll(ReleasePolicy):
    """A release policy that keeps every job waiting."""

    def release(self, waiting, state, now_s):
        return ReleaseOrder()


def composed(admission=None, release=None, tasks=None, rules=None):
    return Scheduler(
        Policies(
            admission=admission or AdmitAll(),
            release=release or ReleaseOnArrival(),
            tasks=tasks or Fifo(),
            pools=KeepPools(),
        ),
        rules=rules,
    )


def fed(*events, scheduler=None):
    """A scheduler that has handled the events, with a Tick after each."""
    scheduler = scheduler or composed()
    for event in events:
        scheduler.handle(event)
        scheduler.handle(Tick(event.at_s))
    return scheduler


def asked(scheduler, job_id="a"):
    return why(job_id, scheduler.state, scheduler.policies.tasks)


NODE = NodeJoined(0.0, Node(node_id="n1", map_slots=2, reduce_slots=1))
JOB = JobSubmitted(0.0, map_reduce("a", 3, 1.0, 1, 1.0))


def ended(task, at_s, phase=0, attempt=1):
    return TaskFinished(at_s, AttemptKey("a", phase, task, attempt), at_s)


@pytest.mark.parametrize(
    ("scheduler", "events", "code"),
    [
        (composed(Answers(Defer(ASIDE))), [NODE, JOB], ReasonCode.DEFERRED),
        (composed(Answers(Refuse(ASIDE))), [NODE, JOB], ReasonCode.REFUSED),
        (composed(release=HoldAll()), [NODE, JOB], ReasonCode.NOT_RELEASED),
        (composed(), [JOB], ReasonCode.NO_NODE),
        (composed(), [NODE, JOB, NodeLost(1.0, "n1")], ReasonCode.NO_NODE),
        (
            composed(),
            [NodeJoined(0.0, Node(node_id="n1", reduce_slots=1)), JOB],
            ReasonCode.NO_SLOT_KIND,
        ),
        (composed(), [NODE, JOB], ReasonCode.SLOTS_BUSY),
        (composed(), [NODE, JOB, ended(0, 1.0)], ReasonCode.ALL_RUNNING),
        (composed(), [NODE, JOB, JobKilled(1.0, "a")], ReasonCode.ENDED),
    ],
)
def test_the_outermost_cause_is_the_one_shown(scheduler, events, code):
    """From admission down to the task policy, the first that holds the job back."""
    answer = asked(fed(*events, scheduler=scheduler))

    assert code is answer.reason.code
    assert code.name.lower() == json.loads(json.dumps(answer.document()))["reason"]


def with_early_reduces(reduces_of_b):
    """Job a holds the only reduce slot from its first map on; job b has reduces alone."""
    scheduler = composed(tasks=Fair(), rules=Rules(slowstart=0.1))
    other = JobSubmitted(1.5, map_reduce("b", 0, 1.0, reduces_of_b, 1.0, at_s=1.5))
    return fed(NODE, JOB, ended(0, 1.0), other, scheduler=scheduler)


def test_slots_that_early_tasks_hold_name_the_tasks_that_these_wait_for():
    """Their slots are busy with tasks that wait themselves: slowstart is the cause."""
    scheduler = with_early_reduces(2)

    reason = asked(scheduler, "b").reason
    numbers = {"slots": 1, "kind": "reduce", "held": 1, "left": 2, "next": "a"}
    assert (ReasonCode.HELD_EARLY, numbers) == (reason.code, dict(reason.numbers))
    assert "hold 1 of them and wait for 2 tasks of a (slowstart)" in reason.text()

    fed(ended(1, 2.0), ended(2, 2.0), scheduler=scheduler)
    assert ReasonCode.SLOTS_BUSY is asked(scheduler, "b").reason.code, "a has its input now"


@pytest.mark.parametrize(
    ("slots", "early", "code"),
    [
        (2, {"a": 1}, ReasonCode.HELD_EARLY), (3, {"a": 1}, ReasonCode.SLOTS_BUSY),
        (3, {"a": 2}, ReasonCode.HELD_EARLY), (5, {"a": 2, "c": 1}, ReasonCode.HELD_EARLY),
        (5, {"c": 1, "a": 2}, ReasonCode.HELD_EARLY),
    ],
)  # fmt: skip
def test_early_tasks_are_the_cause_if_they_hold_half_of_the_slots(slots, early, code):
    """The reduces of b have their input. Of two jobs, the one that holds more slots is named."""
    scheduler = composed(rules=Rules(slowstart=0.1))
    scheduler.handle(NodeJoined(0.0, Node(node_id="n1", map_slots=4, reduce_slots=slots)))
    for name, reduces in early.items():
        scheduler.handle(JobSubmitted(0.0, map_reduce(name, 3, 1.0, reduces, 1.0)))
        scheduler.handle(Tick(0.0))
        fed(TaskFinished(1.0, AttemptKey(name, 0, 0, 1), 1.0), scheduler=scheduler)
    maps, reduces = map_reduce("maps", 9), map_reduce("b", 0, 1.0, slots, 1.0)
    fed(JobSubmitted(1.0, reduces), JobSubmitted(1.0, maps), scheduler=scheduler)

    reason = asked(scheduler, "b").reason
    assert code is reason.code
    assert code is ReasonCode.SLOTS_BUSY or "a" == dict(reason.numbers)["next"]
    assert ReasonCode.SLOTS_BUSY is asked(scheduler, "maps").reason.code


def test_nodes_that_rest_are_the_cause_once_all_of_them_do():
    """The one that failed last is named."""
    nodes = (NodeJoined(0.0, Node(node_id=name, map_slots=1)) for name in ("n1", "n2"))
    scheduler = fed(*nodes, JobSubmitted(0.0, map_reduce("a", 3)))
    codes = []
    for task, at_s in ((0, 1.0), (1, 1.5)):
        key = AttemptKey("a", 0, task, 1)
        fed(TaskFailed(at_s, key, at_s, FailureKind.NODE_FAULT, "disk"), scheduler=scheduler)
        codes.append(asked(scheduler).reason.code)

    assert [ReasonCode.SLOTS_BUSY, ReasonCode.NODES_REST] == codes
    assert "n2" == dict(asked(scheduler).reason.numbers)["node"]


def test_a_job_waits_while_tasks_are_held_back_and_not_for_phases_before_them():
    found = [asked(fed(NODE, JOB, *more)) for more in ((), (ended(0, 1.0),))]

    assert [True, False] == [one.is_waiting for one in found]
    assert ["map", None] == [one.held_back and one.held_back.phase for one in found]


def test_slots_that_are_filled_by_heartbeats_may_be_empty():
    """A phase says so once it shows how long its tasks take."""
    scheduler = fed(NODE, JOB)
    before = why("a", scheduler.state, scheduler.policies.tasks, by_heartbeat=True)
    assert ReasonCode.SLOTS_BUSY is before.reason.code

    scheduler.handle(ended(0, 1.0))  # and no decision: the node has not asked
    after = why("a", scheduler.state, scheduler.policies.tasks, by_heartbeat=True)
    assert ReasonCode.TO_REPORT is after.reason.code
    assert "its tasks take 1 s" in after.reason.text()


def test_a_later_phase_waits_for_what_is_left_before_it():
    later = asked(fed(NODE, JOB, ended(0, 1.0))).phases[1]

    assert Reason(ReasonCode.BARRIER, (("left", 2),)) == later.reason
    assert (1, 0, 0) == (later.waiting, later.running, later.done)


def test_a_done_phase_has_no_reason_to_wait():
    events = [ended(0, 1.0), ended(1, 1.0), ended(2, 2.0)]

    assert asked(fed(NODE, JOB, *events)).phases[0].reason is None


def test_the_phases_of_a_job_that_has_ended_or_waits_have_its_reason_unless_they_are_done():
    killed = fed(NODE, JOB, *(ended(task, 1.0) for task in range(3)), JobKilled(2.0, "a"))
    assert [None, ReasonCode.ENDED] == [
        phase.reason and phase.reason.code for phase in asked(killed).phases
    ]

    refused = fed(NODE, JOB, scheduler=composed(Answers(Refuse(ASIDE))))
    assert [ReasonCode.REFUSED] * 2 == [phase.reason.code for phase in asked(refused).phases]


def test_slots_that_no_task_has_used_yet_are_slots():
    scheduler = composed()
    for event in (NODE, JOB):  # and no decision
        scheduler.handle(event)

    assert ReasonCode.NO_SLOT_KIND is not asked(scheduler).reason.code


def test_what_the_policy_said_is_shown_as_well():
    answer = asked(fed(JOB, scheduler=composed(Answers(Defer(ASIDE)))))

    assert "no node is up" == answer.detail


def test_an_unknown_job_is_answered_with_the_nearest():
    with pytest.raises(InvalidInput, match="'wordcount'"):
        asked(fed(JobSubmitted(0.0, map_reduce("wordcount", 1))), "wordcuont")
    with pytest.raises(InvalidInput, match="'wordcount'"):
        asked(to_come(wordcount=("running",)), "wordcuont")


def whole_story():
    """Three maps, of which one fails, one is lost with its node, and one is done and lost."""
    late = replace(JOB.job, deadline_at_s=2.5)
    second = NodeJoined(0.0, Node(node_id="n2", map_slots=2, reduce_slots=1))
    error = "exit 3\nTraceback\nValueError: bad"
    return fed(
        NODE,
        second,
        JobSubmitted(0.0, late),
        TaskFailed(1.0, AttemptKey("a", 0, 0, 1), 1.0, FailureKind.EXIT, error),
        ended(2, 1.5),
        NodeLost(2.0, "n2"),
        ended(1, 3.0),
        ended(0, 4.0, attempt=2),
        ended(2, 5.0, attempt=2),
        ended(0, 6.0, phase=1),
    ).state


def test_a_jobs_story_shows_all_that_mattered_in_order():
    said = story("a", whole_story())
    lines = [(line.at_s, line.what) for line in said.lines]

    assert "job" == said.kind
    assert sorted(lines, key=lambda line: line[0]) == lines
    assert [
        (0.0, "submitted"),
        (0.0, "released to the cluster"),
        (0.0, "map begins on n1, first of 3 tasks"),
        (1.0, "map task 0 failed on n1"),
        (1.5, "map task 2 done"),
        (2.5, "deadline missed"),
        (5.0, "map ends, all tasks done"),
        (5.0, "reduce begins on n1"),
        (6.0, "reduce ends"),
        (6.0, "job done"),
    ] == lines


def test_a_failure_is_shown_with_what_the_task_wrote_last():
    failed = next(line for line in story("a", whole_story()).lines if "failed" in line.what)

    assert failed.why.endswith("ValueError: bad")


def test_a_tasks_story_shows_each_attempt():
    said = story("a/map/2", whole_story())

    assert "task" == said.kind
    assert [
        "attempt 1 starts on n2, map slot 0",
        "attempt 1 done",
        "attempt 2 starts on n1, map slot 1",
        "attempt 2 done",
    ] == [line.what for line in said.lines]
    assert "its output was lost later, with node n2" == said.lines[1].why


def test_output_that_could_not_be_read_is_not_said_to_be_lost_with_its_node():
    key = AttemptKey("a", 1, 0, 1)
    state = fed(
        NODE,
        JOB,
        *(ended(task, 1.0) for task in range(3)),
        TaskFailed(2.0, key, 2.0, FailureKind.EXIT, "gone", blames=((0, 1),)),
        ended(1, 3.0, attempt=2),
        ended(0, 4.0, attempt=2, phase=1),
    ).state

    done = next(line for line in story("a/map/1", state).lines if line.what == "attempt 1 done")
    assert "reduce task 0 could not read its output later" == done.why
    assert state.jobs["a"].state is JobState.DONE


def test_a_task_may_be_named_by_the_place_of_its_phase():
    state = whole_story()

    assert story("a/map/2", state).lines == story("a/0/2", state).lines


def test_a_nodes_story_shows_its_work_and_its_losses():
    state = fed(NODE, JOB, NodeLost(1.0, "n1", "no heartbeat")).state
    said = story("n1", state)

    assert [
        (
            0.0,
            "a: map begins here, first of 2 attempts",
            "first job in the queue with a task that can start",
        ),
        (1.0, "lost, with 2 running tasks", "no heartbeat"),
    ] == list(said.lines)


def test_killed_attempts_say_why():
    key = AttemptKey("a", 0, 0, 1)
    killed = TaskFailed(2.0, key, 2.0, FailureKind.KILLED)
    state = fed(NODE, JOB, JobKilled(1.0, "a"), killed).state

    assert "its job had ended" in [line.why for line in story("a", state).lines]
    assert (1.0, "job killed", "") in story("a", state).lines


@pytest.mark.parametrize("name", ["b", "a/map", "a/map/3", "a/sort/0", "a/map/-1", "n9", ""])
def test_what_does_not_exist_has_no_story(name):
    with pytest.raises(InvalidInput, match="no job, node or task"):
        story(name, fed(NODE, JOB).state)


def test_a_story_is_plain_json():
    json.dumps(story("a", whole_story()).document(), allow_nan=False)


# --- jobs that have not come ----------------------------------------------------------------------


def to_come(**after):
    """A scheduler that knows which jobs come after which, and where `done` has ended."""
    scheduler = fed(NODE, JobSubmitted(0.0, map_reduce("done", 1)))
    fed(TaskFinished(1.0, AttemptKey("done", 0, 0, 1), 1.0), scheduler=scheduler)
    fed(JobSubmitted(1.0, map_reduce("running", 1)), scheduler=scheduler)
    scheduler.state.to_come = after
    return scheduler


def test_a_job_that_has_not_come_waits_for_jobs_or_for_its_own_instant():
    scheduler = to_come(a=(), b=("done",), c=("running",), d=("done", "x", "running"))

    answers = [asked(scheduler, name) for name in "abcd"]
    assert [
        Reason(ReasonCode.NOT_SUBMITTED),
        Reason(ReasonCode.NOT_SUBMITTED),
        Reason(ReasonCode.AFTER_JOB, (("job", "running"),)),
        Reason(ReasonCode.AFTER_JOBS, (("job", "x"), ("more", 1))),
    ] == [answer.reason for answer in answers]
    document = answers[3].document()
    assert ("not submitted", "after_jobs", {"job": "x", "more": 1}, []) == tuple(
        document[key] for key in ("state", "reason", "numbers", "phases")
    )


def test_a_job_that_has_come_is_shown_as_it_is():
    document = asked(to_come(running=("done",)), "running").document()

    assert ("running", "all_running", 1.0) == tuple(
        document[key] for key in ("state", "reason", "at_s")
    )


def test_a_phase_that_is_done_has_no_reason_in_the_document_either():
    events = [ended(0, 1.0), ended(1, 1.0), ended(2, 2.0)]
    first, second = asked(fed(NODE, JOB, *events)).document()["phases"]

    assert {"reason": None, "text": None, "numbers": {}}.items() <= first.items()
    assert ("all_running", {"running": 1}) == (second["reason"], second["numbers"])


# --- running attempts -----------------------------------------------------------------------------


def reported(task, at_s, fraction):
    return TaskProgress(at_s, AttemptKey("a", 0, task, 1), fraction)


def test_the_slowest_running_attempts_come_with_their_last_report_and_why_they_have_no_copy():
    job = JobSubmitted(0.0, map_reduce("a", 2, 1.0, 1, 1.0))
    scheduler = fed(NODE, job, reported(0, 4.0, 0.1), reported(1, 5.0, 0.8))
    scheduler.pass_time(10.0)
    maps, reduces = asked(scheduler).phases

    assert ["a/map/0/1", "a/map/1/1"] == [one.attempt for one in maps.slowest]
    assert [("n1", 10.0, 0.1, 6.0), ("n1", 10.0, 0.8, 5.0)] == [
        (one.node, one.age_s, one.progress, one.reported_s) for one in maps.slowest
    ]
    assert {ReasonCode.COPIES_OFF} == {one.no_copy.code for one in maps.slowest}
    assert () == reduces.slowest
    document = json.loads(json.dumps(asked(scheduler).document()))["phases"][0]["slowest"][0]
    assert ("a/map/0/1", "copies_off") == (document["attempt"], document["reason"])


def test_while_tasks_wait_only_attempts_far_behind_are_shown():
    """Two of three maps run; the mean of the finished one is 1 s."""
    scheduler = fed(NODE, JOB)
    assert () == asked(scheduler).phases[0].slowest
    job = JobSubmitted(0.0, map_reduce("a", 4, 1.0))
    scheduler = fed(NODE, job, ended(1, 1.0))
    scheduler.pass_time(2.0)
    assert () == asked(scheduler).phases[0].slowest
    scheduler.pass_time(2.5)

    (slow,) = asked(scheduler).phases[0].slowest
    assert ("a/map/0/1", None) == (slow.attempt, slow.reported_s)


def test_far_behind_is_over_twice_the_mean_of_all_that_have_finished():
    """Those took 1 s and 3 s. Another that took 3 s failed."""
    node = NodeJoined(0.0, Node(node_id="n1", map_slots=4))
    failed = TaskFailed(3.0, AttemptKey("a", 0, 3, 1), 3.0, FailureKind.EXIT, "")
    job = JobSubmitted(0.0, map_reduce("a", 8))
    scheduler = fed(node, job, ended(1, 1.0), ended(2, 3.0), failed)
    scheduler.pass_time(4.0)
    assert () == asked(scheduler).phases[0].slowest
    scheduler.pass_time(4.1)

    assert ["a/map/0/1"] == [one.attempt for one in asked(scheduler).phases[0].slowest]


def test_progress_counts_for_the_time_that_an_attempt_has_run():
    """Half in 10 s is slower than a fifth in 2 s."""
    failed = TaskFailed(8.0, AttemptKey("a", 0, 1, 1), 8.0, FailureKind.EXIT, "")
    scheduler = fed(NODE, JobSubmitted(0.0, map_reduce("a", 2)), failed)
    again = TaskProgress(10.0, AttemptKey("a", 0, 1, 2), 0.2)
    fed(reported(0, 10.0, 0.5), again, scheduler=scheduler)

    assert ["a/map/0/1", "a/map/1/2"] == [one.attempt for one in asked(scheduler).phases[0].slowest]


def test_the_three_with_the_least_progress_for_their_time_are_shown():
    """One that has just started is last; of two without progress the first task is first."""
    node = NodeJoined(0.0, Node(node_id="n1", map_slots=5))
    scheduler = fed(node, JobSubmitted(0.0, map_reduce("a", 4)))
    fed(reported(0, 4.0, 0.4), reported(1, 4.0, 0.2), scheduler=scheduler)
    fed(JobSubmitted(4.0, map_reduce("b", 1)), scheduler=scheduler)

    assert ["a/map/2/1", "a/map/3/1", "a/map/1/1"] == [
        one.attempt for one in asked(scheduler).phases[0].slowest
    ]
    assert [(0.0, None)] == [
        (one.age_s, one.reported_s) for one in asked(scheduler, "b").phases[0].slowest
    ]


def test_a_deferral_for_another_reason_is_shown_in_the_story():
    policy = Answers(Defer(ASIDE))
    scheduler = fed(NODE, JOB, scheduler=composed(policy))
    fed(Tick(1.0), scheduler=scheduler)
    policy.answer = Defer(Reason(ReasonCode.NO_LENGTHS))
    fed(Tick(2.0), Tick(3.0), scheduler=scheduler)

    lines = [line for line in story("a", scheduler.state, Fifo()).lines if line.what == "deferred"]
    assert [(line.at_s, line.why) for line in lines] == [
        (0.0, ASIDE.text()),
        (2.0, "the lengths of its tasks are unknown"),
    ]


def cpu_s_of_why(ended):
    """CPU seconds of many questions about a job that waits, after attempts that have ended."""
    scheduler = fed(
        NodeJoined(0.0, Node(node_id="n1", map_slots=1)),
        JobSubmitted(0.0, map_reduce("old", ended)),
        *(
            TaskFinished(task + 1.0, AttemptKey("old", 0, task, 1), task + 1.0)
            for task in range(ended)
        ),
        JobSubmitted(ended + 1.0, map_reduce("busy", 1)),
        JobSubmitted(ended + 2.0, map_reduce("late", 1)),
    )
    assert len(scheduler.state.closed) == ended
    began_s = time.process_time()
    for _ in range(300):
        assert asked(scheduler, "late").phases[0].waiting == 1
    return time.process_time() - began_s


@pytest.mark.no_invariants
def test_why_does_not_go_through_all_attempts_that_have_ended():
    assert cpu_s_of_why(ended=2000) < 5 * cpu_s_of_why(ended=20) + 0.01
