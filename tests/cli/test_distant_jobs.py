"""Jobs of logs that are years apart: the makespan is mostly idle, and a note says so."""

import pytest
from tests.cli.terminal import sluice

JOBS = """version: 1
cluster: {nodes: 1, node: {map_slots: 1}}
jobs:
  - {id: early, maps: {tasks: 1, avg_s: 4}}
  - {id: late, submitted_at_s: %d, maps: {tasks: 1, avg_s: 4}}
"""


@pytest.mark.parametrize(("days", "is_noted"), [(2282, True), (29, False)])
def test_a_gap_of_years_between_jobs_is_noted(tmp_path, days, is_noted):
    (tmp_path / "jobs.yaml").write_text(JOBS % (days * 86400))

    answer = sluice("simulate", tmp_path / "jobs.yaml")

    assert 0 == answer.code, answer
    said = " ".join(answer.err.split())
    assert is_noted is ("no job is submitted for 2,282 days" in said)
