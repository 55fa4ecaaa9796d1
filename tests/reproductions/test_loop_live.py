"""The live rounds: their jobs, their cells, and what their page says."""

import json

import pytest

import sluice
from sluice.bootstrap.scheduler_rows import row_of
from sluice.reproductions.loop.live import (
    LiveResult,
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
    page, more = live_views([result("none", 10, 12), result("full", 20, 18)], 1)
    assert page.rows[1]["makespan_s"] == "18 / 20"
    assert page.rows[1]["error"] == "-10%"
    assert more.rows[0]["predicted"] == "+50%"
    assert json.dumps(page.document())


@pytest.mark.slow
def test_two_rounds_for_real():
    (found,) = live_results(1, cells=[CELLS["none"]])
    assert found.measured["makespan_s"] == pytest.approx(found.predicted["makespan_s"], rel=0.5)
    assert json.dumps(found.document())
