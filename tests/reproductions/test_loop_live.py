"""The live rounds: their jobs, their cells, and what their page says."""

import json
from subprocess import CompletedProcess

import pytest

import sluice
from sluice.bootstrap.scheduler_rows import row_of
from sluice.model.errors import EngineUnavailable
from sluice.reproductions.loop.evaluation import EVALUATION
from sluice.reproductions.loop.live import (
    PLACES,
    LiveResult,
    _LiveJobs,
    effects,
    live_cells,
    live_results,
    live_sentences,
)
from sluice.reproductions.loop.live_workload import write_live_workload
from sluice.reproductions.loop.other_views import live_views

CELLS = {cell.name: cell for cell in live_cells()}


def result(cell, makespan_s, predicted_s, *, seed=0, outputs="same"):
    def measures(value):
        return {"makespan_s": value, "response_s": value / 2, "deadlines_met": 1.0}

    return LiveResult(
        seed=seed, cell=CELLS[cell], first=measures(makespan_s), predicted=measures(predicted_s),
        measured=measures(makespan_s), outputs=outputs,
    )  # fmt: skip


def test_cells_are_schedulers_by_options_and_by_text():
    assert list(CELLS) == [
        "none", "full", "full without A", "full without O", "full without AL", "full without F",
        "full without S", "full without G", "ras",
    ]  # fmt: skip
    for cell in CELLS.values():
        assert row_of(cell.text)[0] == cell.text
    assert CELLS["none"].words == ("--order", "fair")
    assert "--admission" not in CELLS["full without AL"].words
    assert "goals.guard=0.4" in CELLS["full"].words


@pytest.mark.parametrize("seed", range(3))
def test_the_jobs_are_fourteen_of_three_tenants_with_four_deadlines(tmp_path, seed):
    path = write_live_workload(tmp_path, seed)
    workload = sluice.load_workload(path)
    assert len(workload.jobs) == 14
    assert {job.pool for job in workload.jobs} == {"etl", "ads", "adhoc"}
    assert sum(job.deadline_at_s is not None for job in workload.jobs) == 4
    texts = [one.read_text() for one in (tmp_path / "in" / "etl-1").iterdir()]
    assert sum("straggles" in text for text in texts) == 1
    texts = [one.read_text() for one in (tmp_path / "in" / "etl-2").iterdir()]
    assert sum("hangs" in text for text in texts) == 1
    inputs = {job.job_id: len(list((tmp_path / "in" / job.job_id).iterdir()))
              for job in workload.jobs}  # fmt: skip
    assert all(job.phases[0].tasks == inputs[job.job_id] for job in workload.jobs)


def test_seeds_draw_other_jobs(tmp_path):
    for seed in range(2):
        (tmp_path / str(seed)).mkdir()
    first, second = (write_live_workload(tmp_path / str(seed), seed) for seed in range(2))
    assert first.read_text() != second.read_text()


def test_effects_are_shares_of_none_within_a_seed():
    found = [result("none", 10, 20), result("full", 15, 25),
             result("none", 20, 20, seed=1), result("full", 10, 30, seed=1)]  # fmt: skip
    by_name = {(name, measure): pairs for name, measure, pairs in effects(found)}
    assert by_name["full", "makespan_s"] == [(0.25, 0.5), (0.5, -0.5)]
    said = " ".join(live_sentences(found))
    assert "2 effects" in said
    assert "0 of them" in said
    assert found[1].error("makespan_s") == pytest.approx(25 / 15 - 1)


def test_other_outputs_are_said():
    same = [result("none", 10, 10), result("ras", 10, 10)]
    assert any("byte for byte" in one for one in live_sentences(same))
    other = [result("none", 10, 10), result("ras", 10, 10, outputs="other")]
    assert "Outputs differ between runs of a seed." in list(live_sentences(other))
    # A run under admission may refuse a job, and then lacks its output.
    refused = [result("none", 10, 10), result("full", 10, 10, outputs="other")]
    assert any("byte for byte" in one for one in live_sentences(refused))


def test_the_page_has_prediction_result_and_error():
    page, more = live_views("live", [result("none", 10, 12), result("full", 20, 18)], 1)
    assert page.rows[1]["makespan_s"] == "18 / 20 (-10%)"
    assert page.rows[1]["response_s"] == "9 / 10 (-10%)"
    assert more.rows[0]["predicted"] == "+50%"
    assert json.dumps(page.document())


def test_every_place_has_none_of_the_parts_and_is_an_experiment():
    assert set(PLACES) < set(EVALUATION.timed)
    for place in PLACES.values():
        assert place.cells[0].name == "none"
        for cell in place.cells:
            assert row_of(cell.text)[0] == cell.text


def test_pools_have_vms_of_two_types(tmp_path):
    workload = sluice.load_workload(write_live_workload(tmp_path, 0, PLACES["live-pools"].machines))
    assert len(workload.jobs) == 14
    assert [(one.type_id, one.vms) for one in workload.vm_pools.vm_types] == [
        ("small", 2),
        ("large", 2),
    ]


def test_jobs_come_once_the_machines_are_up(tmp_path):
    """Ray starts for seconds, and jobs that came meanwhile would be one batch."""
    jobs = _LiveJobs(tmp_path, 0, PLACES["live-ray"])
    before = json.loads((tmp_path / "live.json").read_text())["jobs"]
    first_s = min(job["submitted_at_s"] for job in before)
    ended = {"started_at_s": first_s + 20.0, "submitted_at_s": first_s}
    jobs._submit_later({"jobs": {"a": ended, "b": ended | {"started_at_s": None}}})
    after = json.loads((tmp_path / "live.json").read_text())["jobs"]
    for old, new in zip(before, after, strict=True):
        assert new["submitted_at_s"] == pytest.approx(old["submitted_at_s"] + 30.0)


@pytest.mark.parametrize("failures", [2, 3])
def test_a_run_whose_engine_does_not_start_is_tried_again(tmp_path, monkeypatch, failures):
    job = {"state": "done", "submitted_at_s": 1.0, "started_at_s": 1.0, "finished_at_s": 4.0,
           "deadline_at_s": 9.0, "deadline_met": True}  # fmt: skip
    text = json.dumps({"makespan_s": 3.0, "jobs": {"a": job}})
    ends = iter([CompletedProcess([], 3, "", "busy")] * failures + [CompletedProcess([], 0, text)])
    monkeypatch.setattr(_LiveJobs, "_once", lambda *_: next(ends))
    jobs = _LiveJobs(tmp_path, 0, PLACES["live-ray"])
    if failures == 3:
        with pytest.raises(EngineUnavailable, match="3 times"):
            jobs.run(CELLS["none"])
    else:
        assert jobs.run(CELLS["none"])["response_s"] == 3.0


@pytest.mark.slow
@pytest.mark.parametrize("place", ["live", "live-pools"])
def test_two_rounds_for_real(place):
    (found,) = live_results(1, place=place, cells=[PLACES[place].cells[0]])
    assert found.measured["makespan_s"] == pytest.approx(found.predicted["makespan_s"], rel=0.5)
    assert json.dumps(found.document())
