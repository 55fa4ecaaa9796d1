"""The jobs of a service as sentences and tables."""

import pytest
from rich.console import Console

from sluice.bootstrap.service.job_lists import STATES
from sluice.reporting.service.tables import jobs_sentence, jobs_table

TASKS = {"waiting": 1, "running": 0, "done": 2, "failed": 0}


def answer(state, **tasks):
    """A list of one job."""
    nothing = dict.fromkeys(("expected", "low", "high"))
    row = {
        "job_id": "job-000001", "name": "nightly", "queue": "etl", "state": state,
        "position": None, "tasks": TASKS | tasks, "ends_at": nothing,
        "deadline_probability": None, "promise": {"kept": None, "cause": None},
    }  # fmt: skip
    return {"jobs": [row], "total": 1, "total_is_exact": True}


def printed(found):
    console = Console(width=200, color_system=None)
    with console.capture() as shown:
        console.print(jobs_table(found))
    return shown.get()


@pytest.mark.parametrize("state", STATES)
def test_a_job_in_any_state_is_listed(state):
    found = answer(state)
    assert jobs_sentence(found) == f"1 job: 1 {state}."
    assert state in printed(found)


@pytest.mark.parametrize("state", ["killed", "failed", "refused"])
def test_a_job_that_ended_early_does_not_look_complete(state):
    assert "2/2" not in printed(answer(state, waiting=0))
    assert "2/3" in printed(answer("running"))
