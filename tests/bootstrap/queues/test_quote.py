"""One job more in a live queue: its promise, what would help, and that each offer holds."""

import json
import re

import pytest
from tests.cli.terminal import sluice as command

import sluice
from sluice.bootstrap.queues import forecast
from sluice.model.errors import InvalidInput
from sluice.planning.queues.starts import LastInLine

HEAD = "JOBID|NAME|USER|PARTITION|STATE|CPUS|TIME_LIMIT|TIME|PRIORITY"
ROWS = ("1|a|ann|p|RUNNING|4|1:00:00|30:00|9", "2|b|bob|p|PENDING|5|2:00:00|0:00|9")


@pytest.fixture
def squeue(tmp_path):
    path = tmp_path / "squeue.txt"
    path.write_text("\n".join([HEAD, *ROWS]))
    return path


@pytest.fixture
def sacct(tmp_path):
    """Past runs of dan took five minutes of ten hours."""
    head = "JobID|JobName|User|Submit|Start|ElapsedRaw|TimelimitRaw|AllocCPUS|State"
    rows = [
        f"{900 + at}|fit|dan|2026-01-05T{at:02}:00:00|2026-01-05T{at:02}:00:00|{290 + at}|600|1|"
        "COMPLETED"
        for at in range(20)
    ]
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([head, *rows]))
    return path


def asked(**job):
    more = {key: job.pop(key) for key in ("cluster", "prices") if key in job}
    lengths = {"tasks": job.pop("tasks", 1), "avg_s": job.pop("avg_s", 300)}
    phases = [{"name": "job", **lengths}]
    found = {"id": "fit", "customer": "dan", "gang": True, "phases": phases, **job}
    return sluice.parse_workload(json.dumps({"version": 1, "jobs": [found], **more}))


def ends_in(quoted):
    """When it is expected to end."""
    assert quoted.job.ends_in_s.expected is not None
    return quoted.job.ends_in_s.expected


def test_it_starts_behind_the_queue_and_costs_its_slots(squeue):
    priced = {"cluster": {"containers": 5, "containers_per_vm": 2}, "prices": {"vm_hour_usd": 4}}
    job = asked(limit_s=36_000, tasks=2, avg_s=1800, deadline_s=20_000, **priced)
    document = sluice.quote(job, squeue, slots=5).document()

    assert document["decision"] == "accepted"
    # 1 ends at its limit after 30 min, 2 runs for 2 h, then comes this one.
    assert document["starts_in_s"] == {"expected": 9000, "low": 9000, "high": 9000}
    assert document["ends_in_s"]["expected"] == 10_800
    assert document["cost_usd"]["expected"] == 2.0  # half an hour of a VM
    assert (document["deadline_probability"], document["deadline_guaranteed"]) == (1.0, False)
    assert document["reason"]["code"] == "behind_in_line"
    assert document["tenant"] == "dan"


def test_a_shorter_limit_lets_it_start_before_the_reservation(squeue, sacct):
    """Slot 5 is free for 30 min. By its limit of 10 h it would delay job 2, by 6 min not."""
    job = asked(limit_s=36_000, deadline_s=1200)
    quoted = sluice.quote(job, squeue, history=[sacct], slots=5)
    best = quoted.offers[0]

    assert quoted.deadline_probability is not None
    assert quoted.deadline_probability < 0.2
    assert quoted.job.reason.code.name == "WOULD_DELAY"
    assert best.kind == "shorter_limit"
    assert 300 < best.change[1] < 400
    assert best.deadline_probability == 1
    assert best.more_usd == 0


@pytest.mark.parametrize(("tasks", "kind"), [(1, "shorter_limit"), (4, "more_vms")])
def test_each_offer_holds_when_it_is_taken(squeue, sacct, tasks, kind):
    job = {"limit_s": 36_000, "tasks": tasks, "avg_s": 300}
    quoted = sluice.quote(asked(**job), squeue, history=[sacct], slots=5)
    assert kind in {offer.kind for offer in quoted.offers}
    for offer in quoted.offers:
        _, value = offer.change
        changed, slots = dict(job), 5.0
        if offer.kind == "shorter_limit":
            changed["limit_s"] = value
        elif offer.kind == "more_vms":
            slots += value
            fewer = sluice.quote(asked(**job), squeue, history=[sacct], slots=int(slots - 1))
            assert ends_in(fewer) > 1.05 * offer.ends_in_s
        else:
            continue
        again = sluice.quote(asked(**changed), squeue, history=[sacct], slots=int(slots))
        assert ends_in(again) == pytest.approx(offer.ends_in_s, rel=0.05)


def test_a_later_deadline_is_the_one_that_holds(squeue):
    job = asked(limit_s=3600, tasks=5, avg_s=600, deadline_s=60)
    quoted = sluice.quote(job, squeue, slots=5)
    later = next(one for one in quoted.offers if one.kind == "later_deadline")

    assert list(later.change) == ["deadline_s", 9600]
    assert later.deadline_probability == 1


def test_what_is_too_large_is_refused_and_what_is_unknown_has_no_promise(squeue, tmp_path):
    refused = sluice.quote(asked(tasks=9), squeue, slots=5).document()
    assert (refused["decision"], refused["reason"]["code"]) == ("refused", "needs_together")

    unlimited = tmp_path / "unlimited.txt"
    unlimited.write_text(f"{HEAD}\n1|a|ann|p|RUNNING|4|UNLIMITED|30:00|9")
    unknown = sluice.quote(asked(tasks=4), unlimited, slots=5).document()
    assert unknown["decision"] == "accepted_without_promise"
    assert unknown["ends_at"] == {"expected": None, "low": None, "high": None}
    assert "unknown length" in str(unknown["why_not"])
    assert [(one["kind"], one["change"]) for one in unknown["counter_offers"]] == [
        ("fewer_slots", {"slots": 1}), ("more_vms", {"slots_more": 3}),
    ]  # fmt: skip


def test_a_job_that_could_start_now_has_nothing_to_improve(squeue):
    quoted = sluice.quote(asked(limit_s=1200, avg_s=600), squeue, slots=5)

    assert quoted.job.starts_in_s.expected == 0
    assert quoted.offers == ()


@pytest.mark.parametrize(
    ("names", "message"), [(["1"], "has a job"), (["x", "y"], "it has 2 jobs")]
)
def test_one_new_job_is_asked_about(squeue, names, message):
    phases = [{"name": "s", "tasks": 1, "avg_s": 1}]
    source = {"version": 1, "jobs": [{"id": name, "phases": phases} for name in names]}

    with pytest.raises(InvalidInput, match=message):
        sluice.quote(source, squeue)


def test_the_command_answers_in_a_sentence_and_a_table(squeue, sacct, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.json").write_text(
        json.dumps(
            {"version": 1, "jobs": [{"id": "fit", "customer": "dan", "limit_s": 36000,
             "deadline_s": 1200, "phases": [{"name": "job", "tasks": 1, "avg_s": 300}]}]}
        )
    )  # fmt: skip
    words = ("quote", "job.json", "--queue", "squeue.txt", "--history", "sacct.txt", "--slots", 5)
    answer = command(*words)
    document = json.loads(command(*words, "--json").out)

    assert answer.code == 0
    assert re.match(r"fit starts in 3\d m \d\d s and ends in (3|4)\d m \d\d s \(90%: ", answer.out)
    assert "a limit of" in answer.out
    assert max(map(len, answer.out.splitlines()[1:])) <= 80
    offer = document["counter_offers"][0]
    assert offer["kind"] == "shorter_limit"
    assert document["made_at"] < offer["valid_until"] < offer["ends_at"]
    assert document == json.loads(command(*words, "--json").out)


def test_futures_that_are_alike_are_walked_once(squeue, sacct, monkeypatch):
    """Without past runs every future goes by limits: one line for today's slots."""
    lines = []

    class Counted(LastInLine):
        def __init__(self, *line, **more):
            lines.append(line)
            super().__init__(*line, **more)

    monkeypatch.setattr(forecast, "LastInLine", Counted)
    job = asked(limit_s=3600, tasks=1, avg_s=600, deadline_s=36_000)
    sluice.quote(job, squeue, slots=5)
    assert len(lines) == 1

    sluice.quote(job, squeue, history=[sacct], slots=5)
    assert len(lines) > 3
