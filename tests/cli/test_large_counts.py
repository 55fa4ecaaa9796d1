"""Counts of a large workload are written alike wherever they are shown."""

import json

import pytest
from tests.cli.terminal import sluice

JOBS = 1_000


@pytest.mark.slow
def test_the_deadlines_of_a_thousand_jobs_are_written_with_commas(tmp_path):
    """One cell of `compare` had "1,000 of 1000"."""
    job = {"submitted_at_s": 0, "deadline_s": 10**6, "maps": {"tasks": 1, "avg_s": 1}}
    cluster = {"nodes": 10, "node": {"map_slots": 60, "reduce_slots": 1}}
    jobs = [{"id": f"j{number}"} | job for number in range(JOBS)]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"version": 1, "cluster": cluster, "jobs": jobs}))

    shown = sluice("simulate", str(path), "--plot", str(tmp_path / "run.html")).out
    assert "1,000 of 1,000" in shown
    assert "1,000 of 1,000 deadlines met" in (tmp_path / "run.html").read_text()
    assert "of 1,000" in sluice("compare", str(path), "--seeds", "1").out
