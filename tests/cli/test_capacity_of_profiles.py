"""Classes of jobs that name a profile: containers by the estimator, and what it expects of them."""

import json

import pytest
from tests.cli.terminal import sluice
from tests.estimate.nightly_jobs import nightly_jobs, nights_of

import sluice as package
from sluice.estimate.job_forecasts import JobForecasts
from sluice.store.profiles import Profiles

FILE = """
version: 1
cluster: {containers_per_vm: 4}
prices: {on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 50}
classes:
  - {id: night, penalty_usd: 90, jobs_max: 6, deadline_s: 90, profile: nightly-03}
  - {id: q2, penalty_usd: 30, jobs_max: 4, vms_per_job: 0.3}
"""
TYPED = FILE.replace("deadline_s: 90", "deadline_s: 90, maps_per_vm: 4, reduces_per_vm: 2")


@pytest.fixture
def history(home):
    """Four jobs, ten nights each."""
    found = nights_of(nightly_jobs(0, jobs=4))
    with Profiles.open() as profiles:
        for runs in found.values():
            profiles.add(runs)
    return JobForecasts(found)


def answered(text, *words, code=0):
    answer = sluice("capacity", "-", *words, "--json", stdin=text.encode())
    assert answer.code == code, answer
    return json.loads(answer.out, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("bound", "end"), [("up", "high_s"), ("avg", "predicted_s"), ("low", "low_s")]
)
def test_a_job_gets_the_fewest_containers_with_which_the_estimate_meets_the_deadline(
    history, bound, end
):
    one = answered(FILE, "--bound", bound)["classes"]["night"]
    fewest = next(n for n in range(1, 100) if getattr(history.of("nightly-03", slots=n), end) <= 90)
    known = history.of("nightly-03", slots=fewest)

    assert one["vms_per_job"] == fewest / 4
    assert one["containers"] == fewest * one["jobs"]
    assert one["time_s"] == getattr(known, end) == one[end]
    assert one["deadline_probability"] == known.probability_within(90)
    assert one["low_s"] < one["predicted_s"] < one["high_s"]


def test_the_upper_end_is_met_more_often_than_the_prediction(history):
    safe, even = (answered(FILE, "--bound", bound)["classes"]["night"] for bound in ("up", "avg"))

    assert safe["vms_per_job"] > even["vms_per_job"]
    assert safe["deadline_probability"] >= 0.9 > even["deadline_probability"] > 0.2


def test_typed_containers_rise_in_the_ratio_in_which_they_fit(history):
    one = answered(TYPED)["classes"]["night"]
    maps, reduces = (one[name] / one["jobs"] for name in ("map_containers", "reduce_containers"))

    assert reduces == max(1, maps // 2)
    assert one["vms_per_job"] == maps / 4 + reduces / 2
    assert one["high_s"] <= 90
    slots = {"map": int(maps), "reduce": int(reduces)}
    assert one["predicted_s"] == history.of("nightly-03", slots=slots).predicted_s


def test_whole_jobs_are_planned_too(history):
    found = answered(FILE, "--integer")

    assert found["rounded_vms"] == pytest.approx(
        sum(one["vms_per_job"] * one["jobs"] for one in found["classes"].values())
    )


def test_a_deadline_below_the_fastest_estimate_is_a_no_with_the_least_that_would_do(history):
    found = answered(FILE.replace("deadline_s: 90", "deadline_s: 9"), code=1)
    least_s = found["classes"]["night"]["least_deadline_s"]

    assert (found["status"], set(found["classes"])) == ("infeasible_deadline", {"night"})
    answered(FILE.replace("deadline_s: 90", f"deadline_s: {least_s}"))


def test_people_see_the_forecast_within_80_columns(history):
    answer = sluice("capacity", "-", stdin=FILE.encode())

    assert "90 % interval" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("old", "new", "fragments"),
    [
        ("profile: nightly-03", "profile: nightly-3", ["night", "Did you mean nightly-03"]),
        ("profile: nightly-03", "profile: nightly-03, vms_per_job: 1", ["night", "vms_per_job"]),
        ("profile: nightly-03", "profile: nightly-03, driver_s: 1", ["night", "driver_s"]),
        ("deadline_s: 90, ", "", ["night", "deadline_s", "missing"]),
        ("cluster: {containers_per_vm: 4}\n", "", ["night", "containers_per_vm", "missing"]),
        (
            "profile: nightly-03",
            "profile: nightly-03, phases: [{name: a, tasks: 1, avg_s: 1}]",
            ["night", "profile", "together with tasks"],
        ),
    ],
)
def test_what_does_not_go_together_is_refused(history, old, new, fragments):
    assert old in FILE
    answer = sluice("capacity", "-", stdin=FILE.replace(old, new).encode())

    assert (answer.code, answer.out) == (2, "")
    assert all(fragment in answer.err for fragment in fragments), answer.err


def test_a_profile_without_an_interval_asks_for_another_bound(home):
    (runs,) = nights_of(nightly_jobs(0, jobs=1), nights=3).values()
    with Profiles.open() as profiles:
        profiles.add(runs)
    text = FILE.replace("nightly-03", "nightly-00").replace("deadline_s: 90", "deadline_s: 900")
    answer = sluice("capacity", "-", stdin=text.encode())

    assert (answer.code, answer.out) == (2, "")
    assert "--bound avg" in answer.err
    assert answered(text, "--bound", "avg")["classes"]["night"]["high_s"] is None


def test_such_a_class_is_written_back(history, tmp_path):
    file, out = tmp_path / "classes.yaml", tmp_path / "again.yaml"
    file.write_text(FILE)
    assert sluice("validate", file, "--out", out).code == 0

    assert package.capacity(str(out)).document() == package.capacity(str(file)).document()
    assert "profile: nightly-03" in out.read_text()
