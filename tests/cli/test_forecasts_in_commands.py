"""Each command shows the same forecast of a job that names a profile: that of the estimator."""

import json
import shutil
from dataclasses import replace
from statistics import median

import pytest
from tests.cli.terminal import sluice
from tests.estimate.nightly_jobs import NIGHTS, night_of, nightly_jobs, nights_of
from tests.estimate.test_level_changes import changed, growing

import sluice as package
from sluice.store.profiles import Profiles

JOB = (
    "version: 1\ncluster: {{map_slots: 16, reduce_slots: 16}}\n"
    "jobs: [{{id: one, profile: {name}{more}}}]\n"
)

SPACED = "version: 1\ncluster: {{map_slots: 16, reduce_slots: 16}}\njobs: [{jobs}]\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A home that knows forty jobs, ten nights each."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_HOME", str(folder))
        with Profiles.open() as profiles:
            for runs in nights_of(nightly_jobs(0)).values():
                profiles.add(runs)
    return folder


@pytest.fixture
def history(home, recorded):
    shutil.copytree(recorded, home)


def document(*words, stdin):
    answer = sluice(*words, "-", "--json", stdin=stdin.encode())
    assert answer.code in {0, 1}, answer
    return json.loads(answer.out, parse_constant=pytest.fail)


def test_a_simulated_profile_takes_what_the_estimator_predicts(history):
    """The next night: simulation, which knew lengths of tasks only, was 51 % too short."""
    runs = night_of(nightly_jobs(0), NIGHTS)
    jobs = ", ".join(
        f"{{id: {run.profile}, profile: {run.profile}, submitted_at_s: {1000 * number}}}"
        for number, run in enumerate(runs)  # far apart: none waits for another
    )
    result = package.simulate(package.parse_workload(SPACED.format(jobs=jobs)))
    errors = []
    for job, run in zip(result.jobs, runs, strict=True):
        assert job.response_s == pytest.approx(job.forecast.predicted_s, rel=1e-6)
        errors.append(job.response_s / run.elapsed_s - 1)

    assert median(abs(error) for error in errors) < 0.10
    assert abs(median(errors)) < 0.08


def test_simulate_adds_the_interval_and_the_probability_of_the_deadline(history):
    job = document(
        "simulate", stdin=JOB.format(name="nightly-00", more=", deadline_s: 45")
    )["jobs"]["one"]  # fmt: skip
    alone = document("predict", stdin=JOB.format(name="nightly-00", more=", deadline_s: 45"))

    for field in ("predicted_s", "low_s", "high_s", "deadline_probability"):
        assert job[field] == pytest.approx(alone["jobs"]["one"][field], rel=1e-6)


def test_waiting_for_other_jobs_moves_the_interval(history):
    both = JOB.replace("}}]", "}}, {{id: two, profile: {name}, deadline_s: 60}}]")
    jobs = document("simulate", stdin=both.format(name="nightly-03", more=""))["jobs"]
    waited_s = jobs["two"]["finished_at_s"] - jobs["two"]["predicted_s"]

    assert waited_s > 1
    assert jobs["two"]["low_s"] == pytest.approx(jobs["one"]["low_s"] + waited_s, rel=1e-3)
    # The time that is left after the wait is what the deadline leaves to a job alone.
    left_s = 60 - waited_s
    alone = JOB.format(name="nightly-03", more=f", deadline_s: {left_s!r}")
    first = document("simulate", stdin=alone)["jobs"]["one"]
    assert 0 < first["deadline_probability"] < 1
    assert jobs["two"]["deadline_probability"] == pytest.approx(
        first["deadline_probability"], abs=1e-3
    )


def test_a_job_without_a_profile_has_no_forecast(history):
    plain = "version: 1\ncluster: {map_slots: 2}\njobs: [{id: one, maps: {tasks: 2, avg_s: 3}}]\n"

    assert "low_s" not in document("simulate", stdin=plain)["jobs"]["one"]


def test_order_and_plan_add_the_forecast_on_their_own_slots(history):
    two_stages = next(job.name for job in nightly_jobs(0) if len(job.stages) > 1)
    text = JOB.format(name=two_stages, more="")
    ordered = document("order", stdin=text)["jobs"]["one"]
    planned = document(
        "plan",
        stdin=text.replace("map_slots: 16, reduce_slots: 16", "map_slots_per_vm: 4,"
        " reduce_slots_per_vm: 4") + "prices: {vm_hour_usd: 1.0}\n",
    )["plans"]  # fmt: skip
    predicted = document("predict", stdin=text)["jobs"]["one"]

    assert ordered["predicted_s"] == predicted["predicted_s"]
    assert ordered["low_s"] == pytest.approx(predicted["low_s"], rel=0.25)
    for plan in planned:
        job = plan["jobs"]["one"]
        assert job["low_s"] < job["predicted_s"] < job["high_s"]
    assert planned[0]["jobs"]["one"]["predicted_s"] < planned[-1]["jobs"]["one"]["predicted_s"]


def test_the_table_of_an_order_says_when_a_job_may_end(history):
    two_stages = next(job.name for job in nightly_jobs(0) if len(job.stages) > 1)
    text = JOB.format(name=two_stages, more=", deadline_s: 500")
    printed = sluice("order", "-", stdin=text.encode()).out

    assert "may end" in printed
    assert ", 100 %" in printed or ", 99 %" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_pools_add_the_forecast_on_the_vms_that_a_job_got(history):
    text = (
        "version: 1\nserver_units: 8\n"
        "vm_types: [{id: medium, units: 4, vms: 8, map_slots: 4, reduce_slots: 4}]\n"
        "jobs: [{id: one, profile: nightly-00, submitted_at_s: 100, deadline_s: 300},"
        ' {id: two, deadline_s: 300, predictions: {medium: {"1": 20}}}]\n'
    )
    jobs = document("pools", stdin=text)["jobs"]
    job = jobs["one"]

    assert "low_s" not in jobs["two"]
    assert job["low_s"] < job["predicted_s"] < job["high_s"] <= 300
    assert 0.9 < job["deadline_probability"] < 1
    assert "may end" in sluice("pools", "-", stdin=text.encode()).out


def test_plan_counts_the_overhead_of_a_profile_in_times_and_rent(history):
    """10 to 30 s of start-up and driver; without it, every plan is that much too fast."""
    job = next(job for job in nightly_jobs(0) if len(job.stages) > 1)
    vms = "map_slots_per_vm: 4, reduce_slots_per_vm: 4"
    text = JOB.format(name=job.name, more="").replace("map_slots: 16, reduce_slots: 16", vms)
    text += "prices: {vm_hour_usd: 3600, billing_s: 0}\n"
    own = text.replace(f"profile: {job.name}", f"profile: {job.name}, driver_s: 1.0e-6")
    plans, bare = (document("plan", stdin=one)["plans"] for one in (text, own))
    overhead_s = plans[0]["makespan_s"] - bare[0]["makespan_s"]
    vms = plans[0]["jobs"]["one"]["vms"]

    assert overhead_s == pytest.approx(job.overhead_s, rel=0.3)
    assert plans[0]["budget_usd"] - bare[0]["budget_usd"] == pytest.approx(overhead_s * vms)
    assert plans[0]["makespan_s"] == pytest.approx(plans[0]["jobs"]["one"]["predicted_s"], rel=0.25)
    assert "may take" in sluice("plan", "-", stdin=text.encode()).out


def test_a_file_with_its_own_overhead_keeps_it(history):
    workload = package.parse_workload(JOB.format(name="nightly-00", more=", driver_s: 500"))

    assert (package.simulate(workload).makespan_s or 0) > 500


def test_the_forecast_before_a_run_is_stored_with_it_and_compared_by_calibrate(
    tmp_path, monkeypatch, home
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "text").write_text("one\ntwo\ntwo\n" * 4)
    shown: list[dict[str, float]] = []
    for number in range(3):
        (tmp_path / "jobs.yaml").write_text(
            "version: 1\njobs: [{id: words, reduces: {tasks: 1}, run: {input: [in/*],"
            f" output: out-{number}, mapper: cat, reducer: uniq -c}}}}]\n"
        )
        answer = sluice("run", "jobs.yaml", "--json")
        assert 0 == answer.code, answer.err
        shown.append(json.loads(answer.out)["jobs"]["words"])
        assert ("predicted_s" in shown[-1]) == (number > 0)
    heard = json.loads(sluice("calibrate", "--json").out)

    assert 2 == heard["recorded"]["runs"] == len(heard["profiles"]["words"]["recorded"])
    last = heard["profiles"]["words"]["recorded"][-1]
    assert last["predicted_s"] == shown[-1]["predicted_s"]
    assert last["error"] == pytest.approx(last["predicted_s"] / last["actual_s"] - 1)
    assert "forecast before they ran: 2 runs" in sluice("calibrate").out


@pytest.fixture
def drifted(home):
    """A job that grows from night to night, and one that takes longer since a night."""
    with Profiles.open() as profiles:
        profiles.add([replace(run, profile="grown") for run in growing(4, nights=14)])
        profiles.add([
            replace(run, profile="moved", run_id=f"moved/{night}")
            for night, run in enumerate(changed())
        ])  # fmt: skip


TYPES = """\
version: 1
listed_on: '2025-01-31'
vm_types: [{id: small, map_slots_per_vm: 4, reduce_slots_per_vm: 4, on_demand_hour_usd: 3}]
"""


def test_every_command_says_the_same_of_jobs_that_changed(drifted, tmp_path):
    """A trend has no date of change, and is no reason to leave runs out."""
    (tmp_path / "types.yaml").write_text(TYPES)
    jobs = "{id: a, profile: grown}, {id: b, profile: moved, submitted_at_s: 5}"
    stdin = SPACED.format(jobs=jobs).encode()
    trend = "% longer than the one before; this is assumed to go on"
    for words in (
        ("predict", "-"),
        ("simulate", "-"),
        ("order", "-"),
        ("plan", "-", "--prices", tmp_path / "types.yaml"),
        ("size", "-", "--deadline-s", "500", "--draws", "3"),
        ("calibrate",),
    ):
        answer = sluice(*words, stdin=stdin)
        said = " ".join((answer.out + answer.err).split())
        assert answer.code == 0, answer
        assert trend in said, words
        assert "since 11 Nov 2025 it takes" in said, words
        assert "the 8 runs before are left out" in said, words


def test_size_and_simulate_take_the_trend_as_going_on(drifted):
    job = document("simulate", stdin=JOB.format(name="grown", more=""))["jobs"]["one"]
    (runs,) = nights_of(nightly_jobs(0, jobs=1), 14).values()
    last_s = runs[-1].elapsed_s * 1.04**13

    assert job["predicted_s"] > 0.9 * last_s
    node = "cluster: {nodes: 1, node: {map_slots: 16, reduce_slots: 16}}"
    text = f"version: 1\n{node}\njobs: [{{id: one, profile: grown}}]\n"
    found = package.size(package.parse_workload(text), deadline_s=500, draws=10)
    assert abs(found.answer.span_s / job["predicted_s"] - 1) < 0.2
