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


@pytest.mark.parametrize(("days", "said"), [(3, "on 2 days within 3 d"), (0, "within 1 h 00 m")])
def test_validate_counts_the_days_with_jobs_from_which_advise_draws(tmp_path, days, said):
    """A log has months without a job, which are no days of its history."""
    log = tmp_path / "two.swf"
    late = days * 86400 + 3600 * (not days)
    log.write_text("; MaxProcs: 4\n" + "".join(
        f"{number} {at_s} 0 100 2 -1 -1 2 100 -1 1 1 1 1 1 1 -1 -1\n"
        for number, at_s in enumerate((0, late), 1)
    ))  # fmt: skip

    answer = sluice("validate", "--from-log", log)

    assert 0 == answer.code, answer
    assert f"submitted {said}" in " ".join(answer.out.split())
