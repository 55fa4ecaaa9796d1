"""When the jobs of a live queue start: three lists, history, limits, slots, intervals that hold."""

import json
import random
from statistics import median

import pytest
from tests.cli.terminal import sluice as command

import sluice
from sluice.bootstrap.queues.forecast import QueueForecast
from sluice.estimate.run_lengths import PastLength, RunLengths
from sluice.ingest.logs.live_queue import QueuedJob
from sluice.model.errors import InvalidInput
from sluice.planning.queues.starts import QueueEntry, starts

HEAD = "JOBID|NAME|USER|PARTITION|STATE|CPUS|TIME_LIMIT|TIME|PRIORITY"
ROWS = (
    "1|a|ann|p|RUNNING|4|1:00:00|30:00|9",
    "2|b|bob|p|PENDING|4|2:00:00|0:00|9",
    "3|c|cat|p|PENDING|1|0:20:00|0:00|8",
)


@pytest.fixture
def squeue(tmp_path):
    def of(*rows):
        path = tmp_path / "squeue.txt"
        path.write_text("\n".join([HEAD, *rows]))
        return path

    return of


@pytest.fixture
def sacct(tmp_path):
    """Past runs: name, user, processors, minutes of limit and of run."""

    def of(*runs):
        head = "JobID|JobName|User|Submit|Start|ElapsedRaw|TimelimitRaw|AllocCPUS|State"
        rows = [
            f"{900 + at}|{name}|{user}|2026-01-05T{at % 24:02}:00:00|2026-01-05T{at % 24:02}:00:00|"
            f"{60 * minutes:.0f}|{limit}|{cpus}|COMPLETED"
            for at, (name, user, cpus, limit, minutes) in enumerate(runs)
        ]
        path = tmp_path / "sacct.txt"
        path.write_text("\n".join([head, *rows]))
        return path

    return of


def expected(report):
    return {job.job_id: (job.starts_in_s.expected, job.ends_in_s.expected) for job in report.jobs}


def test_without_history_limits_say_the_latest(squeue):
    report = sluice.eta(squeue(*ROWS), slots=5)

    assert expected(report) == {"1": (0, 1800), "2": (1800, 9000), "3": (0, 1200)}
    second = report.jobs[1].document(0.9)
    assert (second["ends_in_s"]["low"], second["ends_in_s"]["high"]) == (None, 9000)
    assert second["reason"]["code"] == "reserved_from"
    assert second["reason"]["at_s"] == 1800


def test_past_runs_say_more_than_limits(squeue, sacct):
    """Jobs of ann took half of their limit: hers ends at once, so bob's starts at once."""
    past = [("a", "ann", 4, 60, 31)] * 20 + [("b", "bob", 4, 120, 12)] * 20
    report = sluice.eta(squeue(*ROWS[:2]), history=[sacct(*past)])
    starts_in, ends_in = expected(report)["2"]

    assert starts_in == pytest.approx(60 * 1.08, abs=5)  # waits are a little longer in the middle
    assert ends_in == pytest.approx(60 + 12 * 60, abs=60)
    waiting = report.waiting[0]
    low, high = waiting.ends_in_s.low, waiting.ends_in_s.high
    assert low is not None
    assert high is not None
    assert low <= ends_in <= high < 7200
    assert (waiting.runs, waiting.kind) == (20, "user, name and limit")


def test_nothing_is_guessed_where_nothing_is_known(squeue):
    rows = ("1|a|ann|p|RUNNING|4|UNLIMITED|30:00|9", "2|b|bob|p|PENDING|4|1:00:00|0:00|9")
    report = sluice.eta(squeue(*rows))

    assert expected(report) == {"1": (0, None), "2": (None, None)}
    assert command("eta", "--queue", squeue(*rows)).out.startswith(
        "1 job waits, and nothing is known"
    )


UNLIMITED = "1|a|ann|p|RUNNING|4|UNLIMITED|30:00|9"


def test_jobs_that_need_nothing_of_a_job_of_unknown_length_have_an_eta(squeue):
    """Of 8 slots it holds 4. The second needs 4 at once, the third 8, the others 4 in turn."""
    rows = (
        UNLIMITED, "2|b|bob|p|PENDING|4|1:00:00|0:00|9", "3|c|cat|p|PENDING|8|1:00:00|0:00|8",
        "4|d|dan|p|PENDING|4|1:00:00|0:00|7", "5|e|eve|p|PENDING|4|2:00:00|0:00|7",
    )  # fmt: skip
    report = sluice.eta(squeue(*rows), slots=8)

    assert expected(report) == {
        "1": (0, None), "2": (0, 3600), "3": (None, None), "4": (3600, 7200), "5": (7200, 14_400),
    }  # fmt: skip
    reasons = [job.document(0.9)["reason"] for job in report.waiting]
    assert reasons[1]["code"] == "awaits_unknown"
    assert reasons[1]["text"].endswith(
        "jobs of unknown length hold 4 of 8 slots, the first of them 1"
    )
    assert "1 job of unknown length does not end in this forecast: 1. Give --history." in (
        report.notes
    )
    assert "Infinity" not in json.dumps(report.document())
    answer = command("eta", "--queue", squeue(*rows), "--slots", 8)
    assert " ".join(answer.out.split()).startswith(
        "4 jobs wait: the first starts in 0 s, and the last known end is in 4 h 00 m."
        " No end is known of 1 job."
    )


def test_jobs_in_turn_wait_behind_one_that_waits_for_a_job_of_unknown_length(squeue):
    rows = (
        UNLIMITED, "2|b|bob|p|PENDING|8|1:00:00|0:00|9", "3|c|cat|p|PENDING|1|1:00:00|0:00|8",
    )  # fmt: skip
    report = sluice.eta(squeue(*rows), slots=8, backfills=False)

    assert expected(report) == {"1": (0, None), "2": (None, None), "3": (None, None)}
    assert [job.document(0.9)["reason"]["code"] for job in report.waiting] == [
        "awaits_unknown", "behind_in_line",
    ]  # fmt: skip


def test_a_waiting_job_of_unknown_length_has_a_start_and_no_end(squeue):
    rows = (*ROWS[:1], "2|b|bob|p|PENDING|5|UNLIMITED|0:00|9", "3|c|cat|p|PENDING|1|1:00|0:00|8")
    report = sluice.eta(squeue(*rows), slots=5)

    assert expected(report) == {"1": (0, 1800), "2": (1800, None), "3": (0, 60)}


def test_a_job_too_large_for_the_cluster_gives_no_instant_to_those_behind_it(squeue):
    rows = (
        ROWS[0], "2|b|bob|p|PENDING|9|1:00:00|0:00|9", "3|c|cat|p|PENDING|5|1:00:00|0:00|8",
        "4|d|dan|p|PENDING|1|9:00:00|0:00|7",
    )  # fmt: skip
    report = sluice.eta(squeue(*rows), slots=5)

    assert expected(report)["3"] == (1800, 5400)
    assert [job.document(0.9)["reason"]["code"] for job in report.waiting] == [
        "needs_together", "reserved_from", "would_delay",
    ]  # fmt: skip
    assert "Infinity" not in json.dumps(report.document())


@pytest.mark.parametrize(
    ("rows", "cpus", "slots"),
    [
        (ROWS, 64, 7),  # the first in line needs 4 and waits, so that fewer are free
        (ROWS[:1], 64, 64),  # nothing waits: what the history had in use
        (ROWS, 1, 4),
        ((*ROWS, "4|d|dan|p|PENDING|12|1:00:00|0:00|1"), 64, 12),
    ],
)
def test_the_slots_of_the_cluster_are_inferred(squeue, sacct, rows, cpus, slots):
    past = [("a", "ann", cpus, 60, 31)] * 10

    assert sluice.eta(squeue(*rows), history=[sacct(*past)]).slots == slots


def test_workloads_of_kueue_and_applications_of_yarn_are_queues_too(tmp_path):
    def workload(name, created, admitted=None, **spec):
        conditions = [
            {"type": "Admitted", "status": "True", "lastTransitionTime": f"2026-01-05T{admitted}Z"}
        ]
        return {
            "kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta1",
            "metadata": {"name": name, "namespace": "ns",
                         "creationTimestamp": f"2026-01-05T{created}Z"},
            "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 3}], **spec},
            "status": {"conditions": conditions if admitted else []},
        }  # fmt: skip

    limit = {"maximumExecutionTimeSeconds": 600}
    items = [
        workload("late", "08:03:20", **limit),
        workload("runs", "08:00:00", "08:01:40", **limit),
        workload("first", "08:03:20", priority=5, **limit),
        workload("off", "08:00:00", active=False),
    ]
    kueue = tmp_path / "kueue.json"
    kueue.write_text(json.dumps({"items": items}))
    report = sluice.eta(kueue)
    assert report.as_of == "2026-01-05T08:03:20Z"
    assert expected(report) == {
        "ns/runs": (0, 500), "ns/first": (500, 1100), "ns/late": (1100, 1700),
    }  # fmt: skip

    apps = [
        {"id": f"application_1_{n}", "user": "ann", "name": "query", "queue": "q", "state": state,
         "finalStatus": "UNDEFINED", "startedTime": 1_767_600_000_000 + n, "elapsedTime": 60_000,
         "launchTime": 1_767_600_000_000 if held else 0, "allocatedVCores": held}
        for n, (state, held) in enumerate((("RUNNING", 4), ("ACCEPTED", -1)))
    ]  # fmt: skip
    listed = tmp_path / "apps.json"
    listed.write_text(json.dumps({"apps": {"app": apps}}))
    over = [
        {**apps[0], "id": f"application_0_{n}", "state": "FINISHED", "finalStatus": "SUCCEEDED",
         "finishedTime": 1_767_600_090_000, "vcoreSeconds": 360}
        for n in range(9)
    ]  # fmt: skip
    history = tmp_path / "over.json"
    history.write_text(json.dumps({"apps": {"app": over}}))
    report = sluice.eta(listed, history=[history])
    assert [(job.job_id, job.slots) for job in report.jobs] == [
        ("application_1_0", 4), ("application_1_1", 4),
    ]  # fmt: skip
    assert expected(report)["application_1_1"][0] == pytest.approx(30, abs=5)
    assert "The slots of 1 job are those of past runs." in report.notes


def test_the_same_seed_gives_the_same_answer_and_the_command_says_it_in_a_sentence(squeue, sacct):
    past = [("a", "ann", 4, 60, 20 + at) for at in range(20)]
    args = ("eta", "--queue", squeue(*ROWS), "--history", sacct(*past))
    first, second = (json.loads(command(*args, "--json").out) for _ in range(2))
    answer = command(*args)

    assert first == second
    assert set(first["jobs"]["2"]) >= {"starts_in_s", "ends_in_s", "level", "reason"}
    assert answer.out.startswith("2 jobs wait: the first starts in")
    assert max(map(len, answer.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.5}, "level is 1.5"),
        ({"replications": 0}, "replications is 0"),
        ({"slots": 0}, "slots is 0"),
    ],
)
def test_odd_options_are_refused(squeue, options, message):
    with pytest.raises(InvalidInput, match=message):
        sluice.eta(squeue(*ROWS), **options)


def test_a_log_of_the_past_is_no_queue(sacct, tmp_path):
    with pytest.raises(InvalidInput, match="it is a log of sacct, not a list of jobs that wait"):
        sluice.eta(sacct(("a", "ann", 1, 60, 1)))
    (tmp_path / "empty").write_text("")
    with pytest.raises(InvalidInput, match=r"no known format.*Give the output of squeue"):
        sluice.eta(tmp_path / "empty")


def test_a_list_in_json_says_when_it_was_made(tmp_path):
    def job(number, state, started_at_s):
        return {"job_id": number, "job_state": [state], "time_limit": 60, "partition": "p",
                "name": "a", "user_name": "u", "cpus": 4, "start_time": started_at_s}  # fmt: skip

    now_s = 1_767_600_000
    jobs = [job(1, "RUNNING", now_s - 600), job(2, "PENDING", 0)]
    path = tmp_path / "squeue.json"
    path.write_text(json.dumps({"jobs": jobs, "last_update": now_s}))
    report = sluice.eta(path)

    assert report.as_of == "2026-01-05T08:00:00Z"
    assert expected(report) == {"1": (0, 3000), "2": (3000, 6600)}


def test_intervals_hold_as_often_as_they_say_in_a_world_that_is_as_assumed():
    """Users whose jobs take a share of their limit; of each, all jobs in the queue are alike."""
    draw = random.Random(6)
    held = asked = 0
    errors, by_limits = [], []
    for _ in range(40):
        users = {f"u{n}": draw.uniform(0.05, 0.9) for n in range(4)}
        past = [
            PastLength("x", user, 2, 3600.0, 3600 * min(1.0, share * draw.uniform(0.6, 1.4)))
            for user, share in users.items()
            for _ in range(40)
        ]
        now = {user: draw.uniform(0.6, 1.4) for user in users}
        jobs, lengths_s = [], []
        for at in range(24):
            user = draw.choice(list(users))
            length_s = 3600 * min(1.0, users[user] * now[user])
            ran_s = length_s * draw.random() if at < 4 else None
            jobs.append(QueuedJob(f"j{at}", "x", user, draw.randint(1, 3), 3600.0, ran_s))
            lengths_s.append(length_s - (ran_s or 0.0))
        forecast = QueueForecast(jobs, RunLengths(past), 8, backfills=True)
        entries = [QueueEntry(job.slots or 1, 3600.0 - (job.ran_s or 0.0)) for job in jobs]
        truth = starts(entries, lengths_s, 8, running=4)
        latest = starts(entries, [one.estimate_s for one in entries], 8, running=4)
        for at, eta in enumerate(forecast.etas(0.9, 100, 0)[4:], start=4):
            end_s = truth[at] + lengths_s[at]
            asked += 1
            found = eta.ends_in_s
            assert found.low is not None
            assert found.high is not None
            assert found.expected is not None
            held += found.low <= end_s <= found.high
            errors.append(abs(found.expected / end_s - 1))
            by_limits.append(abs((latest[at] + 3600) / end_s - 1))

    assert 0.84 <= held / asked <= 0.97
    assert median(errors) < 0.25 < median(by_limits)
