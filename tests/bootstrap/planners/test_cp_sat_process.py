"""CP-SAT in its own process: against the branch and bound, and beside highspy."""

import subprocess

import pytest
from hypothesis import given, settings
from tests.planning.pool_problems import example, problems
from tests.skips import required

import sluice
from sluice.bootstrap.planners import cp_sat_process
from sluice.bootstrap.planners.cp_sat_process import cp_sat_apart
from sluice.planning.pools.offline_optimum import branch_and_bound


@pytest.fixture(autouse=True, scope="module")
def or_tools():
    return required("ortools")


@settings(max_examples=5, deadline=None)
@given(problems(jobs_max=5))
def test_cp_sat_gives_what_the_branch_and_bound_gives(problem):
    ours, theirs = branch_and_bound(problem), cp_sat_apart(problem)

    assert ours.cost_server_s == pytest.approx(theirs.cost_server_s)
    assert theirs.is_proven


def test_cp_sat_proves_the_optimum_of_the_worked_example():
    """25,829.40 server-seconds. Source: Cura spec, section 7."""
    found = cp_sat_apart(example())

    assert (25_829.40, True) == (round(found.cost_server_s, 2), found.is_proven)


def test_a_process_that_has_planned_a_capacity_can_prove_an_optimum():
    """Highspy and OR-Tools cannot be loaded together."""
    assert sluice.capacity("examples/deadlines.yaml").document()["status"] == "ok"

    found = sluice.offline_optimum("examples/vm-pools.yaml")

    assert ("cp-sat", True) == (found.optimum.method, found.optimum.is_proven)


def test_a_child_that_fails_is_an_error(monkeypatch):
    monkeypatch.setattr(cp_sat_process, "__name__", "sluice.no_such_module")

    with pytest.raises(subprocess.CalledProcessError):
        cp_sat_apart(example())
