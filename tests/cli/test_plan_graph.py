"""Plans of jobs that wait for each other: from the file to the run of the chosen plan."""

import json

import pytest
from tests.cli.terminal import sluice

JOBS = """
version: 1
cluster: {map_slots_per_vm: 2, reduce_slots_per_vm: 2}
prices: {vm_hour_usd: 1.0, billing_s: 60}
jobs:
  - {id: report, after: [clean, rates], maps: {tasks: 6, avg_s: 60}, reduces: {tasks: 1, avg_s: 40}}
  - {id: extract, maps: {tasks: 40, avg_s: 120}, reduces: {tasks: 8, avg_s: 60}}
  - {id: rates, maps: {tasks: 10, avg_s: 30}, reduces: {tasks: 2, avg_s: 60}}
  - {id: clean, after: [extract], maps: {tasks: 20, avg_s: 60}, reduces: {tasks: 4, avg_s: 40}}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "nightly.yaml"
    path.write_text(JOBS)
    return path


def test_a_job_starts_when_those_before_it_have_ended(file):
    found = json.loads(sluice("plan", file, "--json").out)

    for plan in found["plans"]:
        ends_s = {name: job["starts_at_s"] + job["time_s"] for name, job in plan["jobs"].items()}
        starts_s = {name: job["starts_at_s"] for name, job in plan["jobs"].items()}
        assert starts_s["extract"] == starts_s["rates"] == 0.0
        assert starts_s["clean"] == ends_s["extract"]
        assert starts_s["report"] == max(ends_s["clean"], ends_s["rates"])
        assert plan["makespan_s"] == pytest.approx(ends_s["report"])
        assert plan["budget_usd"] == pytest.approx(
            sum(job["cost_usd"] for job in plan["jobs"].values())
        )


def test_the_table_shows_the_starts_and_the_chosen_plan_runs_so(file, tmp_path):
    """Equal tasks take the low estimate of the plan."""
    chosen = tmp_path / "chosen.yaml"

    shown = sluice("plan", file, "--choose", "5", "--out", chosen).out
    plan = json.loads(sluice("plan", file, "--json").out)["plans"][4]
    run = json.loads(sluice("simulate", chosen, "--tasks", "fair", "--json").out)

    assert "starts" in shown
    assert run["makespan_s"] <= plan["makespan_s"]
    assert run["jobs"]["clean"]["submitted_at_s"] == run["jobs"]["extract"]["finished_at_s"]


def test_a_deadline_counts_from_the_start_of_the_plan(file):
    file.write_text(JOBS.replace("{id: clean,", "{id: clean, deadline_s: 900,"))

    all_plans = json.loads(sluice("plan", file, "--json").out)["plans"]
    in_time = json.loads(sluice("plan", file, "--meet-deadlines", "--json").out)["plans"]

    def ends_s(plan):
        return plan["jobs"]["clean"]["starts_at_s"] + plan["jobs"]["clean"]["time_s"]

    assert all((plan["misses"] == ["clean"]) == (ends_s(plan) > 900) for plan in all_plans)
    assert in_time
    assert all(ends_s(plan) <= 900 and not plan["misses"] for plan in in_time)


def test_a_deadline_that_no_plan_meets_names_the_end_of_the_path(file):
    file.write_text(JOBS.replace("{id: report,", "{id: report, deadline_s: 500,"))

    found = sluice("plan", file, "--meet-deadlines")

    assert found.code == 1
    assert "report ends no sooner than after 9 m 10 s" in " ".join(found.out.split())


def test_jobs_that_may_run_at_once_share_the_cap(file):
    file.write_text(JOBS + "limits: {vms_max: 4}\n")

    found = sluice("plan", file, "--json")
    plans = json.loads(found.out)["plans"]

    for plan in plans:
        vms = {name: job["vms"] for name, job in plan["jobs"].items()}
        assert max(vms["extract"], vms["clean"]) + vms["rates"] <= 4
        assert vms["report"] <= 4


@pytest.mark.parametrize("option", [["--search", "vms"], ["--waves"]])
def test_what_plans_jobs_at_once_is_refused(file, option):
    file.write_text(JOBS + "limits: {vms_max: 9}\n")

    found = sluice("plan", file, *option)

    assert found.code == 2
    assert option[0] in found.err


REAL = """
version: 1
cluster:
  {map_slots_per_vm: 2, reduce_slots_per_vm: 1, node: {map_slots: 2, reduce_slots: 1}, nodes: 1}
prices: {vm_hour_usd: 1.0}
jobs:
  - id: clean
    maps: {tasks: 2, avg_s: 1}
    reduces: {tasks: 3, avg_s: 1}
    run: {input: [lines.txt], output: made/clean, mapper: cat, reducer: cat}
  - id: report
    after: [clean]
    maps: {tasks: 5, avg_s: 1}
    reduces: {tasks: 1, avg_s: 1}
    run: {input: [made/clean], output: made/report, mapper: cat, reducer: cat}
"""


def test_input_that_a_job_before_makes_need_not_be_there_to_plan(tmp_path):
    """A plan takes the maps of the file until the input is there, and then those of the input."""
    path = tmp_path / "real.yaml"
    path.write_text(REAL)
    (tmp_path / "lines.txt").write_text("a\nb\n")
    unknown = tmp_path / "unknown.yaml"
    given = "    maps: {tasks: 5, avg_s: 1}\n    reduces: {tasks: 1, avg_s: 1}\n"
    unknown.write_text(REAL.replace(given, "    reduces: {tasks: 1}\n"))

    first = json.loads(sluice("plan", path, "--json").out)
    assert "job 'report': maps has no lengths" in sluice("simulate", unknown).err
    (tmp_path / "made" / "clean").mkdir(parents=True)
    (tmp_path / "made" / "clean" / "part-00000").write_text("a\n")
    second = json.loads(sluice("plan", path, "--json").out)

    slots = [[plan["jobs"]["report"]["vms"] for plan in one["plans"]] for one in (first, second)]
    assert max(slots[0]) == 3  # five maps, two a VM
    assert max(slots[1]) == 1
