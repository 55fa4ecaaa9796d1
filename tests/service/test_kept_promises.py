"""Promises are kept as often as they say, whatever the number of futures they were made from."""

import math
import random
from dataclasses import replace
from unittest.mock import Mock

import pytest
from bench.service import kept_promises as bench

from sluice.bootstrap.history import known_lengths, profile_past, profiles
from sluice.bootstrap.service.causes import between_s
from sluice.bootstrap.service.futures import Scale, draws_of, interval_of
from sluice.estimate.length_spread import LengthSpread
from sluice.estimate.uncertainty import LEVEL
from sluice.model.ids import JobId

CASES = 1500
KIND = bench.Kind(profile="ads-0", team="ads", tasks=(8, 2), means_s=(100.0, 50.0), sigma=0.1)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0.5, 0.8, LEVEL, 0.95])
@pytest.mark.parametrize("draws", [3, 5, 10, 20])
def test_one_more_draw_is_inside_as_often_as_the_level_says(draws, level):
    draw, inside = random.Random(draws), 0
    for _ in range(CASES):
        *known, other = (600 * draw.lognormvariate(0, 0.4) for _ in range(draws + 1))
        found = interval_of(sorted(known), level)
        inside += found["low"] <= other <= found["high"]

    chance = 3 * math.sqrt(level * (1 - level) / CASES)
    assert abs(inside / CASES - level) <= 0.03 + chance


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("middle", [-600.0, -100.0, 0.0, 100.0])
@pytest.mark.parametrize("draws", [3, 10, 20])
def test_differences_are_covered_below_0_too(draws, middle):
    draw, inside, clear = random.Random(draws), 0, 0
    for _ in range(CASES):
        *known, other = (draw.gauss(middle, 50) for _ in range(draws + 1))
        found = interval_of(sorted(known), scale=Scale.DIFFERENCE)
        inside += found["low"] <= other <= found["high"]
        clear += found["high"] < 0 or found["low"] > 0

    assert abs(inside / CASES - LEVEL) <= 0.03 + 3 * math.sqrt(LEVEL * (1 - LEVEL) / CASES)
    if middle == -600:  # so far below 0 that all futures agree
        assert clear > 0.95 * CASES


@pytest.mark.parametrize("draws", [3, 10])
def test_shares_stay_between_none_and_all(draws):
    draw = random.Random(draws)
    for _ in range(CASES):
        known = sorted(draw.randrange(13) / 12 for _ in range(draws))
        found = interval_of(known, scale=Scale.SHARE)
        assert 0 <= found["low"] <= known[0]
        assert known[-1] <= found["high"] <= 1


@pytest.mark.parametrize("level", [LEVEL, 0.95])
def test_few_past_runs_make_long_tails_and_are_covered_too(level):
    draw, inside, cases = random.Random(5), 0, 6000
    spread = LengthSpread(0.5, 2)
    for _ in range(cases):
        *known, other = (600 * spread.factor(draw) for _ in range(draws_of(level) + 1))
        found = interval_of(sorted(known), level)
        inside += found["low"] <= other <= found["high"]

    assert inside / cases == pytest.approx(level, abs=0.01)


def promise_of_a_job_whose_file_gives_lengths(month, runs):
    """runs: jobs of its profile that have ended, whose tasks took ten times as long."""
    for number in range(runs):
        month.submit(KIND, number * 3600.0)
    month.pass_until(runs * 3600.0)
    month.always_gives_lengths = True
    month.submit(replace(KIND, means_s=(10.0, 5.0)), runs * 3600.0)
    return month.promised[LEVEL][month.submitted[-1]].submitted.promise


@pytest.mark.parametrize(("runs", "took_s"), [(0, 20), (1, 150), (4, 150)])
def test_a_promise_rests_on_past_runs_also_where_the_file_gives_lengths(
    runs, took_s, tmp_path, monkeypatch
):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    promise = promise_of_a_job_whose_file_gives_lengths(bench.begun(1), runs)

    found_s = between_s(promise["made_at"], promise["ends_at"]["expected"])
    assert took_s * 0.7 <= found_s <= took_s * 2.5
    assert promise["basis"]["runs"] == runs
    assert promise["basis"]["model"] == ("past runs" if runs else "lengths of the file")


def test_the_runs_of_a_profile_are_judged_once_until_there_is_another_one(tmp_path, monkeypatch):
    """For all jobs that share it, and for jobs that are submitted later."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    month = bench.begun(1)
    promise_of_a_job_whose_file_gives_lengths(month, 2)
    judged = Mock(wraps=profile_past.judged)
    monkeypatch.setattr(profile_past, "judged", judged)
    job = month.jobs[month.submitted[-1]].submitted.job
    month.pass_until(3 * 3600.0)
    jobs = [replace(job, job_id=JobId(f"job-{number}")) for number in range(5)]
    assert {one.runs for one in known_lengths.known_lengths(jobs).values()} == {3}
    unknown = tuple(replace(phase, lengths=None) for phase in job.phases)
    found = profiles.with_past_lengths([replace(one, phases=unknown) for one in jobs], print)
    assert not any(map(profiles.is_open, found))
    judged.assert_called_once()

    month.submit(KIND, 3 * 3600.0)
    month.pass_until(4 * 3600.0)
    assert {one.runs for one in known_lengths.known_lengths(jobs).values()} == {4}
    assert judged.call_count == 2


@pytest.mark.slow
def test_a_day_and_a_half_keeps_promises_as_often_as_they_say(tmp_path, monkeypatch):
    """A month of it is `bench/service/kept_promises.py`."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    month = bench.lived(1.5, 2)
    for level in bench.LEVELS:
        kept, outcomes = bench.share_kept(month, level)
        assert outcomes >= 40
        bench.check(kept, outcomes, level)
