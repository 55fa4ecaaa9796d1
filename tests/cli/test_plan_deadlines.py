"""Plans and the deadlines of single jobs, their bill, and the waves of a plan."""

import json

import pytest
from tests.cli.terminal import sluice

import sluice as package

JOBS = """
version: 1
cluster: {map_slots_per_vm: 2, reduce_slots_per_vm: 2}
prices: {vm_hour_usd: 1.0}
jobs:
  - {id: A, deadline_s: %s, maps: {tasks: 5, avg_s: 600, max_s: 900},
     reduces: {tasks: 4, avg_s: 1200, max_s: 1500}}
  - {id: B, maps: {tasks: 9, avg_s: 60, max_s: 90}, reduces: {tasks: 4, avg_s: 120, max_s: 150}}
"""


@pytest.fixture
def file(tmp_path):
    def of(deadline_s, more=""):
        path = tmp_path / "jobs.yaml"
        path.write_text(JOBS % deadline_s + more)
        return path

    return of


def plans(path, *words):
    found = sluice("plan", path, "--json", *words)
    return json.loads(found.out)


def test_each_plan_says_which_jobs_miss_their_deadlines(file):
    found = plans(file(3100))["plans"]

    assert [plan["misses"] for plan in found] == [[], ["A"], ["A"]]
    for plan in found:
        assert (plan["jobs"]["A"]["time_s"] > 3100) == (plan["misses"] == ["A"])
    shown = sluice("plan", file(3100)).out
    assert "misses the deadline of A" in shown
    assert "2 of 3 plans miss a job's deadline" in shown


def test_plans_that_miss_a_deadline_are_left_out_if_asked(file):
    found = plans(file(3100), "--meet-deadlines")["plans"]

    assert [plan["misses"] for plan in found] == [[]]
    # B may still take the cheapest of its entries that end with A.
    assert found[0]["jobs"]["A"]["time_s"] <= 3100 < found[0]["makespan_s"] + 101


def test_a_tight_deadline_of_a_small_job_takes_a_faster_entry_in_every_plan(file):
    """The makespan is that of A; B must be done in 300 s, which its cheapest entry is not."""
    path = file(10_000)
    text = path.read_text().replace("{id: B,", "{id: B, deadline_s: 400,")
    path.write_text(text)

    free, met = plans(path)["plans"], plans(path, "--meet-deadlines")["plans"]

    assert all("B" in plan["misses"] for plan in free)
    assert met
    assert all(plan["jobs"]["B"]["time_s"] <= 400 for plan in met)


def test_a_deadline_that_no_plan_meets_is_named(file):
    found = sluice("plan", file(100), "--meet-deadlines")

    assert found.code == 1
    assert "A takes at least 50 m 00 s, and its deadline is 1 m 40 s" in found.out
    assert plans(file(100), "--meet-deadlines")["status"] == "job_deadline_unreachable"


def test_a_bill_is_by_the_second_unless_the_file_says_otherwise(file):
    path = file(9e9)
    fastest = plans(path)["plans"][0]
    by_second = sum(job["vms"] * job["time_s"] / 3600 for job in fastest["jobs"].values())
    assert fastest["budget_usd"] == pytest.approx(by_second, rel=1e-3)
    assert "billed by the second" in sluice("plan", path).out

    hourly = path.read_text().replace("vm_hour_usd: 1.0", "vm_hour_usd: 1.0, billing_s: 3600")
    path.write_text(hourly)
    assert plans(path)["plans"][0]["budget_usd"] > fastest["budget_usd"]
    assert "billed by the begun hour" in sluice("plan", path).out


def test_waves_show_the_vms_of_the_largest_wave_and_later_ends(file):
    workload = package.parse_workload(file(3400).read_text() + "limits: {vms_max: 2}\n")
    result = package.plan(workload, waves=True)

    for number in range(1, len(result) + 1):
        plan = result.plan(number)
        assert plan.vms <= 2
        assert max(plan.ends_s()) == pytest.approx(plan.makespan_s)
