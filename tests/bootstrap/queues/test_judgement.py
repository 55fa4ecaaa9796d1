"""How often intervals hold in a log: a generated one, and what cannot be judged."""

import json
import random
from pathlib import Path
from statistics import fmean

import pytest
from tests.cli.terminal import sluice as command

import sluice
from sluice.bootstrap.queues import judgement
from sluice.bootstrap.queues.judgement import EndedJob, judged_etas
from sluice.estimate.run_lengths import RunLengths
from sluice.model.errors import InvalidInput

SLOTS = 32


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log in SWF: users submit batches of alike jobs, which take a share of their limit."""
    draw = random.Random(4)
    users = [draw.uniform(0.1, 0.8) for _ in range(6)]
    rows, at_s = [f"; MaxProcs: {SLOTS}", "; UnixStartTime: 1767600000"], 0.0
    for _ in range(70):
        at_s += draw.expovariate(1 / 1300)
        user = draw.randrange(len(users))
        ran_s = round(3600 * users[user] * draw.uniform(0.4, 1.25))
        for _ in range(draw.randint(3, 9)):
            cpus = draw.choice((1, 2, 4, 8, 16))
            rows.append(
                f"{len(rows)} {at_s:.0f} 0 {ran_s} {cpus} -1 -1 {cpus} 3600 -1 1 {user}"
                " 1 1 1 1 -1 -1"
            )
    path = tmp_path_factory.mktemp("log") / "made.swf"
    path.write_text("\n".join(rows))
    return path


def test_intervals_hold_in_a_generated_log_and_ends_are_nearer_than_by_limits(log):
    found = sluice.judge_eta(log, instants=40, replications=40, seed=1)

    assert (found.instants, found.slots, found.level) == (40, SLOTS, 0.9)
    assert found.jobs > 100
    assert 0.86 <= found.held <= 0.97
    assert found.error < 0.3 < found.limit_error / 10


def test_intervals_hold_in_a_public_log():
    """With past runs alone 85 % held at these. Other seeds are harder: 12 and 16 hold in 86 %."""
    log = Path(__file__).parents[2] / "data/logs/swf/hpc2n.swf"
    found = [
        sluice.judge_eta(log, instants=25, replications=60, seed=seed) for seed in (31, 32, 33)
    ]

    assert 0.86 <= fmean(one.held for one in found) <= 0.94
    assert fmean(one.error for one in found) < 0.25


def test_a_narrow_level_holds_less_often(log):
    wide, narrow = (
        sluice.judge_eta(log, instants=15, replications=30, level=level) for level in (0.9, 0.3)
    )

    assert narrow.held < wide.held - 0.2


def test_the_past_of_an_instant_has_only_what_had_ended_by_then(monkeypatch):
    """Long jobs follow short ones. While the last one waits, the second long one runs."""
    short = [EndedJob(f"s{n}", "x", "u", 1, None, n, n, n + 1.0) for n in range(60)]
    long = [EndedJob(f"l{n}", "x", "u", 1, None, 60, 60 + 40 * n, 100 + 40 * n) for n in range(2)]
    judged, asked = judged_etas(
        [*short, *long], 1, backfills=True, level=0.9, replications=20, instants=400, seed=0
    )

    assert (judged, asked) == ([], 0)  # no job waits before 57 s
    pasts = []

    class Recorded(RunLengths):
        def __init__(self, past, running):
            pasts.append(list(past))
            super().__init__(pasts[-1], running)

    monkeypatch.setattr(judgement, "RunLengths", Recorded)
    late = [*short, *long, long[1]._replace(job_id="late", submitted_at_s=99.0)]
    judged, asked = judged_etas(
        late, 1, backfills=True, level=0.9, replications=20, instants=5, seed=0
    )
    assert asked == 5
    assert len(pasts) == len(judged) == 5
    assert all(len(past) in {60, 61} for past in pasts)


def test_the_command_says_it_in_a_sentence(log):
    words = ("eta", "--judge", log, "--replications", 10, "--no-backfill")
    answer, document = command(*words), json.loads(command(*words, "--json").out)

    assert answer.out.startswith("Intervals of 90% held for ")
    assert f"{document['held']:.1%} of {document['jobs']} waiting jobs" in " ".join(
        answer.out.split()
    )
    assert "no effect with --judge" in command(*words, "--queue", log).err


def test_jobs_start_out_of_turn_unless_the_command_says_otherwise(log):
    words = ("eta", "--judge", log, "--replications", 10, "--json")
    usual, out_of_turn, in_turn = (
        json.loads(command(*words, *more).out) for more in ((), ("--backfill",), ("--no-backfill",))
    )

    asked = [one.pop("provenance")["settings"].get("backfill") for one in (out_of_turn, in_turn)]
    assert asked == [True, False]
    del usual["provenance"]
    assert usual == out_of_turn != in_turn


def test_a_log_in_which_no_job_waits_is_refused(log):
    with pytest.raises(InvalidInput, match="no job waits at any instant"):
        sluice.judge_eta(log, slots=10_000)


def test_a_log_of_jobs_that_do_not_start_as_a_whole_is_refused(tmp_path):
    path = tmp_path / "apps.json"
    path.write_text(
        json.dumps({"apps": {"app": [
            {"id": "application_1_1", "user": "ann", "name": "query", "queue": "q",
             "state": "FINISHED", "finalStatus": "SUCCEEDED", "startedTime": 1_767_600_000_000,
             "finishedTime": 1_767_600_090_000, "elapsedTime": 90_000, "vcoreSeconds": 360}
        ]}})
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="do not start as a whole"):
        sluice.judge_eta(path)


@pytest.mark.parametrize(
    ("options", "message"), [({"instants": 0}, "instants is 0"), ({"level": 1.0}, "level is 1.0")]
)
def test_odd_numbers_are_refused(log, options, message):
    with pytest.raises(InvalidInput, match=message):
        sluice.judge_eta(log, **options)
