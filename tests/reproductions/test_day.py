"""Made days of four tenants: their sizes, work, arrivals and deadlines, by the loop spec."""

import json
import math
from collections import Counter
from statistics import fmean

import pytest
from tests.cli.terminal import sluice as command

import sluice
from sluice.model.errors import InvalidInput
from sluice.reproductions.loop.day import TENANTS, Day

WORLDS = {"free-low": 0.5, "free-high": 0.9, "mix-low": 0.4, "mix-high": 0.7}


def work_s(job):
    parts = job.get("phases") or [job[name] for name in ("maps", "reduces") if name in job]
    return sum(part["tasks"] * part["avg_s"] for part in parts)


@pytest.mark.parametrize("load", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_day_of_an_hour_has_as_many_jobs_and_tasks_as_the_spec_says(load, seed):
    workload = sluice.parse_workload(json.dumps(Day(seed=seed, load=load).document()))
    tasks = sum(phase.tasks for job in workload.jobs for phase in job.phases)

    assert 150 <= len(workload.jobs) <= 400
    assert 2_400 <= tasks <= 6_600


def test_each_tenant_has_its_share_of_the_work():
    jobs = Day(seed=1, load=0.8, hours=12, nodes=10).document()["jobs"]
    of_tenant: Counter[str] = Counter()
    for job in jobs:
        of_tenant[job["pool"]] += work_s(job)

    for tenant in TENANTS:
        wanted_s = tenant.work * 0.8 * 60 * 12 * 3600
        assert of_tenant[tenant.name] == pytest.approx(wanted_s, rel=0.03)


def test_arrivals_follow_the_tenant():
    """ETL has 48 of 83 parts of its jobs in the first 30 % of the day; ML is even."""
    jobs = Day(seed=3, hours=48, nodes=20).document()["jobs"]

    def share(tenant, before):
        at = [job["submitted_at_s"] / (48 * 3600) for job in jobs if job["pool"] == tenant]
        return fmean(one < before for one in at)

    assert share("etl", 0.3) == pytest.approx(0.48 / 0.83, abs=0.05)
    assert share("ml", 0.3) == pytest.approx(0.3, abs=0.06)
    assert share("ads", 0.5) == pytest.approx(0.5, abs=0.05)


def test_deadlines_and_penalties_follow_from_the_job():
    jobs = Day(seed=2, deadlines=2).document()["jobs"]
    for job in jobs:
        if job["pool"] not in {"etl", "ads"}:
            assert "deadline_s" not in job
            continue
        maps, reduces = job["maps"], job["reduces"]
        alone_s = math.ceil(maps["tasks"] / 32) * maps["avg_s"]
        alone_s += math.ceil(reduces["tasks"] / 16) * reduces["avg_s"]
        low, high = (5, 12) if job["pool"] == "etl" else (4, 8)
        assert low * alone_s - 0.1 <= job["deadline_s"] <= high * alone_s + 0.1
        dollars = 2 if job["pool"] == "etl" else 4
        assert job["penalty_usd"] == pytest.approx(dollars * work_s(job) / 3600, abs=0.006)


def test_graphs_have_the_tasks_of_their_maps_and_reduces():
    jobs = [job for job in Day(seed=4, dags=0.5).document()["jobs"] if "phases" in job]

    assert len(jobs) > 20
    for job in jobs:
        assert [one["name"] for one in job["phases"]] == ["scan-1", "scan-2", "join", "aggregate"]
        assert all(one["tasks"] >= 1 for one in job["phases"])


def test_the_command_prints_the_same_file_for_the_same_seed_and_it_can_be_simulated(tmp_path):
    first, second = (command("workload", "day", "--seed", 7, "--load", 0.4) for _ in range(2))
    path = tmp_path / "day.yaml"
    path.write_text(first.out)

    assert first.out == second.out
    assert first.out != command("workload", "day", "--seed", 8, "--load", 0.4).out
    assert command("validate", path).code == 0
    makespan_s = sluice.simulate(path, tasks="fair").makespan_s
    assert makespan_s is not None
    assert makespan_s > 3000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"load": 0}, "load is 0"),
        ({"hours": 1000}, "hours is 1000"),
        ({"dags": 2}, "dags is 2"),
        ({"contention": "some"}, "contention is some"),
    ],
)
def test_odd_days_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        Day(**options)
