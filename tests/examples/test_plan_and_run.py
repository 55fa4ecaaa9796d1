"""Planned, run for real, and looked back at: the whole way, on a small library."""

import pytest
from examples.plan_and_run import plan_and_run
from tests.cli.demonstration.test_story import make_library

import sluice


@pytest.mark.slow
@pytest.mark.no_invariants
def test_two_budgets_are_planned_run_and_held_against_the_plan(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SLUICE_HOME", "overwritten by the example, restored by the test")
    (tmp_path / "lib").mkdir()
    make_library(tmp_path / "lib")
    folder = tmp_path / "plan"

    outcomes = plan_and_run(folder, volume_bytes=30_000, library=tmp_path / "lib")

    cheap, fast = outcomes
    assert cheap.vms < fast.vms
    assert cheap.predicted_usd < fast.predicted_usd
    assert fast.predicted_s < cheap.predicted_s
    assert all(one.measured_s > 0 and one.measured_usd > 0 for one in outcomes)
    assert "largest prediction error" in capsys.readouterr().out
    check_outputs_agree(folder)
    check_hindsight(folder)


def check_outputs_agree(folder):
    """Whatever the plan, the work is the same."""
    names = [path.name for path in folder.iterdir() if path.name.startswith(("measured", "plan-"))]
    assert len(names) == 3
    texts = {(folder / name / "word-count" / "part-00000").read_bytes() for name in names}
    assert len(texts) == 1


def check_hindsight(folder):
    off = sluice.plan(folder / "jobs.yaml").off
    assert {one.job for one in off} == {"inverted-index", "word-count", "sort"}
