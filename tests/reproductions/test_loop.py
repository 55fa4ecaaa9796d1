"""The ablation from end to end, in two small worlds."""

import json
import math
import random
from dataclasses import replace

import pytest

import sluice
from sluice.bootstrap.advising.day_runs import simulated
from sluice.bootstrap.advising.measures import over_common_jobs
from sluice.estimate.paired_difference import PairedDifference
from sluice.reproductions import runner
from sluice.reproductions.loop import factorial as experiment
from sluice.reproductions.loop import runs, worlds
from sluice.reproductions.loop.cells import design
from sluice.reproductions.loop.day import TENANTS, Day
from sluice.reproductions.loop.factorial import (
    admissions,
    differences,
    expectations,
    factorial,
    machines,
    plans,
    sentences,
)

pytestmark = pytest.mark.no_invariants

WRONG = ("errors of 30 %", "errors of 70 %")
SMALL = {
    "free-high": Day(hours=0.1, nodes=2, load=0.9),
    "mix-low": Day(hours=0.1, nodes=2, load=0.4, contention="shared"),
}


@pytest.fixture(autouse=True)
def _small_worlds(monkeypatch):
    """Two of the worlds, a twentieth of their size, in this process."""
    monkeypatch.setattr(worlds, "WORLDS", SMALL)
    monkeypatch.setattr(experiment, "WORLDS", SMALL)
    monkeypatch.setattr(runs, "_WORTHWHILE", 10**9)
    runs._instance.cache_clear()


@pytest.fixture(name="results")
def _results():
    return factorial(2, worlds=tuple(SMALL))


def test_every_cell_has_every_measure_and_the_parts_have_effects(results):
    assert [one.world for one in results] == list(SMALL)
    for result in results:
        assert len(result.cells) == len(design())
        document = result.document()
        for cell in document["cells"]:
            assert set(cell["composition"]) >= {"admission", "release", "order", "goals", "slots"}
            assert cell["measures"]["bill_usd"]["mean"] > 0
            assert cell["measures"]["promises_broken"]["mean"] == 0
        factors = {one["factor"] for one in document["effects"] if one["measure"] == "bill_usd"}
        assert {"A", "O", "L", "F", "S", "G", "OL", "AG"} <= factors
        assert json.dumps(document)
        assert list(sentences(result)) == document["sentences"]


def test_none_refuses_nothing_and_copies_nothing(results):
    for result in results:
        none = result.cell("none")
        assert none.mean("refused") == 0
        assert none.document()["composition"]["order"] == "fair"


def test_the_document_of_the_command():
    fractions: list[float] = []
    made = runner.reproduce(
        "loop", experiments=["factorial"], seeds=1, on_fraction=fractions.append
    )
    document = json.loads(json.dumps(made.document()))
    assert set(document["worlds"]) == set(SMALL)
    assert [one["name"] for one in document["experiments"]] == ["factorial", "effects"]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_one_change_at_a_time():
    made = runner.reproduce("loop", experiments=["one-by-one"], seeds=1)
    document = json.loads(json.dumps(made.document()))
    names = {cell["name"] for cell in document["worlds"]["free-high"]["cells"]}
    assert {"none", "full", "full without S", "none with AL", "order=fifo"} <= names
    (shown,) = made.experiments
    none = next(row for row in shown.rows if row["scheduler"] == "none")
    assert none["bill_usd"] == "+0.00"


def test_profiles_that_are_wrong_change_what_goes_by_them():
    (result,) = expectations(2, worlds=["free-high"])
    for name, base in result.bases.items():
        assert result.cell(name).text == result.cell(base).text
    bills = {cell.name: cell.mean("bill_usd") for cell in result.cells}
    changed = [name for name, base in result.bases.items() if bills[name] != bills[base]]
    assert {name.partition(", ")[2] for name in changed} <= {"predicted", *WRONG}
    assert set(WRONG) & {name.partition(", ")[2] for name in changed}
    rows = {row["scheduler"]: row["bill_usd"] for row in differences(result)}
    assert rows["O"] == rows["full"] == "+0.00"


def test_a_wrong_profile_changes_nothing_where_none_is_used():
    tasks = [runs.Task("free-high", 1, "order=fair", one) for one in ("", "predicted", *WRONG)]
    first, *others = runs.all_carried_out(tasks)
    assert all(one == first for one in others)


def test_the_bounds_of_admission_count_whom_they_refuse():
    (result,) = admissions(2, worlds=["free-high"])
    every, up, *_, likely = differences(result, ("refused", "refused_feasible"))
    assert [row["scheduler"] for row in (every, up, likely)] == ["every job", "up", "up, likely"]
    assert (every["bill_usd"], every["refused"]) == ("+0.00", 0.0)
    assert float(up["refused"] or 0) > 0
    for counter in ("refused", "refused_feasible"):
        assert float(up[counter] or 0) >= float(likely[counter] or 0)


@pytest.mark.parametrize(
    ("preset", "load", "contention", "saved"),
    [("roomy", 0.5, "none", 0.4), ("busy", 1.0, "none", 0.5), ("contended", 0.7, "shared", 0.4)],
)
def test_a_recommended_preset_costs_far_less_than_fair(preset, load, contention, saved):
    made = Day(hours=0.25, nodes=4, load=load, contention=contention, seed=400)
    day = sluice.parse_workload(json.dumps(made.document()))
    fair, own = over_common_jobs([simulated(day, text, 0) for text in ("fair", preset)])
    less = {name: (value or 0.0) - (fair[name] or 0.0) for name, value in own.items()}
    assert (own["bill_usd"] or math.inf) < (1 - saved) * (fair["bill_usd"] or 0.0)
    assert less["deadlines_met"] > 0
    assert (own["refused"] != 0) == (preset == "busy"), "only this one refuses jobs"
    if preset == "busy":
        assert less["response_s"] < 0
        assert less["adhoc_wait_s_p95"] < 0


def test_a_plan_caps_the_jobs_of_its_batch_and_no_others():
    before = worlds.workload_of("free-high", 1)
    workload, truth = worlds.instance_of("free-high", 1, "planned")
    assert truth is None
    pools = {pool.pool_id: pool for pool in workload.pools}
    planned = [job for job in workload.jobs if job.pool.endswith(", planned")]
    assert {job.job_id for job in planned} == {
        job.job_id for job in before.jobs if job.pool == "etl"
    }
    for job in planned:
        assert (pools[job.pool].map_slots_max or 0) >= 1
    assert pools["ads"].map_slots_max is None
    (result,) = plans(1, worlds=["free-high"])
    assert result.bases["none, planned"] == "none"
    assert any(row["response_s"] != "+0.00" for row in differences(result))


def test_machines_are_another_question():
    (result,) = machines(1, worlds=["free-high"])
    names = [cell.name for cell in result.cells]
    assert names == ["none", "resources", "ras", "ras, aim=goals", "vm-pools", "vm-pools, resized"]
    composition = result.cell("vm-pools").document()["composition"]
    assert (composition["machines"], composition["order"]) == ("vm-pools", "fair")
    # A job of one task has a VM to itself.
    idle = {name: result.cell(name).by_seed[0]["idle_share"] or 0.0 for name in names}
    assert idle["vm-pools"] > idle["none"]


def test_three_hours_at_facebook():
    document = worlds.document_of("facebook", 3)
    phases = [job[name] for job in document["jobs"] for name in ("maps", "reduces") if name in job]
    assert (len(document["jobs"]), sum(phase["tasks"] for phase in phases)) == (1_210, 11_550)
    work_s = sum(phase["tasks"] * phase["avg_s"] for phase in phases)
    assert work_s / (document["cluster"]["nodes"] * 6 * 3 * 3600) == pytest.approx(0.8, abs=0.02)
    with_deadline = {job["id"] for job in document["jobs"] if "deadline_s" in job}
    large = [job["id"] for job in document["jobs"] if job["pool"] != "adhoc"]
    assert with_deadline < set(large)
    shares = [
        sum("deadline_s" in job for job in worlds.document_of("facebook", seed)["jobs"])
        for seed in range(20)
    ]
    assert sum(shares) / 20 / len(large) == pytest.approx(0.7, abs=0.04)
    assert worlds.workload_of("facebook", 3).jobs


def test_graphs_are_among_the_jobs_of_dag_high():
    jobs = worlds.document_of("dag-high", 1)["jobs"]
    share = sum("phases" in job for job in jobs if job["pool"] != "adhoc") / len(jobs)
    assert 0.04 < share < 0.3  # few small jobs have two maps and two reduces


def test_another_name_for_a_tenant_has_no_effect():
    """The negative control: at most 5 % of 200 relabelings look like an effect.

    Each takes some of the seeds, and calls either run of a seed the renamed one.
    """
    small = Day(hours=0.1, nodes=1, load=0.7)
    last = replace(TENANTS[-1], name="machine-learning")
    renamed = replace(small, tenants=(*TENANTS[:-1], last))
    pairs = [
        [
            simulated(
                sluice.parse_workload(json.dumps(replace(day, seed=seed).document())),
                "order=fair+slots=lent",
                seed,
            ).measures["bill_usd"]
            for day in (small, renamed)
        ]
        for seed in range(40)
    ]
    draw = random.Random(1)
    starred = 0
    for _ in range(200):
        chosen = [draw.sample(pair, 2) for pair in draw.sample(pairs, 10)]
        before, after = zip(*chosen, strict=True)
        starred += PairedDifference.of(before, after).is_clear
    assert any(one != other for one, other in pairs)
    as_named = PairedDifference.of(*zip(*pairs, strict=True))
    assert as_named is not None
    assert not as_named.is_clear
    assert starred <= 0.05 * 200
