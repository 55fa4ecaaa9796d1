"""The bill of a predicted job: low, expected and high, by the second, on spot VMs too."""

import json
import random
from statistics import median

import pytest
from tests.cli.terminal import sluice

import sluice as package
from sluice.model.history import PastPhase, PastRun
from sluice.store.profiles import Profiles

HOUR_USD = 0.19  # medium-4 of the example price list
VMS = ("--vms", "4", "--vm-type", "medium-4")
SLOTS = 16
GB = 2**30


def run_of(name, size_gb, rng, number):
    """A job that reads its input in splits of 128 MB; its tasks have luck of a few percent."""
    seconds, start_s = 4 + hash_of(name) % 9, 5 + hash_of(name) % 20
    tasks = 8 * size_gb
    avg_s = seconds * (1 + rng.gauss(0, 0.04))
    waves = -(-tasks // SLOTS)
    phase = PastPhase(
        name="map", kind="map", tasks=tasks, avg_s=avg_s, max_s=1.1 * avg_s,
        input_bytes=size_gb * GB,
    )  # fmt: skip
    return PastRun(
        run_id=f"{name}/{number}",
        profile=name,
        source="mine",
        phases=(phase,),
        slots={"map": SLOTS},
        submitted_at_s=1.7e9 + 86_400 * number,
        elapsed_s=waves * avg_s * 1.02 + start_s,
    )


def hash_of(name):
    return int(name.removeprefix("etl-")) * 7


@pytest.fixture
def history(home):
    """Twelve jobs, each 24 times on 2 to 12 GB; none on 20 GB."""
    rng = random.Random(3)
    with Profiles.open() as profiles:
        for job in range(12):
            sizes = [2, 4, 6, 8, 10, 12] * 4
            profiles.add([run_of(f"etl-{job}", size, rng, n) for n, size in enumerate(sizes)])


def billed(*words):
    answer = sluice("predict", *words, "--json")
    assert 0 == answer.code, answer.err
    return json.loads(answer.out)["jobs"]


def test_bills_at_sizes_that_never_ran_are_near_what_they_cost(history):
    rng = random.Random(4)
    bills = billed(*VMS, "--input-bytes", 20 * GB)
    errors, covered = [], []
    for name, job in bills.items():
        took_s = run_of(name, 20, rng, 99).elapsed_s
        cost_usd = 4 * HOUR_USD * took_s / 3600
        errors.append(abs(job["cost_usd"] - cost_usd) / cost_usd)
        covered.append(job["cost_low_usd"] <= cost_usd <= job["cost_high_usd"])

    assert len(errors) == 12
    assert median(errors) <= 0.15
    assert sum(covered) >= 9


def test_a_bill_is_the_rent_of_the_times(history):
    (job,) = billed("etl-1", *VMS).values()

    for seconds, usd in (("low_s", "cost_low_usd"), ("high_s", "cost_high_usd")):
        assert job[usd] == pytest.approx(4 * HOUR_USD * job[seconds] / 3600, rel=0.02)
    assert job["cost_low_usd"] <= job["cost_usd"] <= job["cost_high_usd"]
    cell = next(one for one in job["grid"] if (one["vm_type"], one["vms"]) == ("medium-4", 4))
    assert {key: cell[key] for key in cell if "cost" in key} == {
        key: job[key] for key in cell if "cost" in key
    }
    shown = sluice("predict", "etl-1", *VMS)
    assert "cost interval" in shown.out


def test_interruptions_make_spot_vms_slower_and_dearer_in_steps(history):
    def bill(*words):
        (job,) = billed("etl-1", *VMS, "--rent", "spot", *words).values()
        return job["predicted_s"], job["cost_usd"], job["cost_high_usd"]

    calm, rare, often = (bill("--interruptions", rate) for rate in ("0.001", "1", "20"))
    assert calm < rare < often
    (on_demand,) = billed("etl-1", *VMS).values()
    assert calm[0] == pytest.approx(on_demand["predicted_s"], rel=0.01)
    assert bill()[0] > calm[0], "the slowdown of the list is a mean of the same"
    waits = bill("--interruptions", "20", "--boot", "600")
    assert waits > often


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("etl-1", "--interruptions", "0.1"), "--vms is missing"),
        (("etl-1", *VMS, "--interruptions", "-1"), "--interruptions"),
        (("etl-1", *VMS, "--interruptions", "nan"), "--interruptions"),
        (("etl-1", *VMS, "--interruptions", "1", "--boot", "-3"), "--boot"),
    ],
)
def test_wrong_words_are_refused(history, words, said):
    refused = sluice("predict", *words)

    assert 2 == refused.code
    assert said in refused.err


def test_python_has_the_same_bill(history):
    report = package.predict("etl-2", vms=4, vm_type="medium-4", rent="spot", interruptions=0.5)
    (job,) = report.jobs

    low, expected, high = job.bill.low_usd, job.bill.expected_usd, job.bill.high_usd
    assert low is not None
    assert expected is not None
    assert high is not None
    assert 0 < low < expected < high
