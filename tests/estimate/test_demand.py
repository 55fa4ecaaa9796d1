"""Resource demand of a task. Source: RAS spec, section 5.5."""

import math
from dataclasses import replace

import pytest
from tests.estimate.made_runs import MB, MachineModel, draws

from sluice.estimate.demand import NodeCapacity, SandboxRun, profile_from_runs, sandbox_run
from sluice.estimate.demand_settings import demand_from_runs, demand_settings
from sluice.estimate.past_phases import phases_from_runs, with_demand_from_runs
from sluice.estimate.run_setting import NotEnoughData
from sluice.model.job import Demand
from sluice.model.resources import Resources

NODE = NodeCapacity(processors=4, memory_bytes=1000 * MB, io_bytes_per_s=100.0 * MB)


def run(slots, elapsed_s, cpu=100.0):
    return SandboxRun(
        run_id=f"with-{slots}",
        slots=slots,
        elapsed_s=elapsed_s,
        utilisation={"map": Resources(cpu=cpu)},
        concurrent_tasks={"map": slots},
    )


def seen_in(past, node=NODE):
    """Return the run as a sandbox run."""
    seen = sandbox_run(past, node)
    assert isinstance(seen, SandboxRun)
    return seen


def test_four_maps_at_full_processors_demand_a_quarter_each():
    """Example from the spec."""
    profile = profile_from_runs([run(1, 90.0, 30.0), run(2, 60.0, 60.0), run(4, 50.0)])

    assert 4 == profile.best.slots
    assert Resources(cpu=25.0) == profile.demand["map"]


def test_of_equally_fast_runs_the_one_with_fewer_slots_is_kept():
    assert 2 == profile_from_runs([run(4, 50.0), run(2, 50.0)]).best.slots


def test_no_run_gives_not_enough_data():
    assert isinstance(profile_from_runs([]), NotEnoughData)


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_demand_is_the_use_of_a_task_while_it_ran(slots):
    """CPU seconds over task length and four processors; memory is the maximum."""
    past = MachineModel(processors=4).run("a", slots, 400, draws(1))
    seen = seen_in(past)
    demand = profile_from_runs([seen]).demand["map"]
    maps = past.phases[0]

    assert math.isclose(demand.cpu, 100 * maps.cpu_s / (maps.avg_s * maps.tasks) / 4)
    assert math.isclose(demand.memory, 10.0)
    assert math.isclose(demand.io, 100 * 400 / (maps.avg_s * maps.tasks) / 100)
    assert math.isclose(seen.utilisation["map"].cpu, slots * demand.cpu)


def test_fewer_tasks_than_slots_share_the_node_among_themselves():
    past = MachineModel(processors=4, reduces=2).run("a", 4, 400, draws(1))
    seen = seen_in(past)
    reduces = past.phases[1]

    assert {"map": 4, "reduce": 2} == seen.concurrent_tasks
    assert math.isclose(
        100 * reduces.cpu_s / (reduces.avg_s * 2) / 4,
        profile_from_runs([seen]).demand["reduce"].cpu,
    )


def test_unmeasured_disks_have_no_utilisation():
    past = MachineModel().run("a", 2, 400, draws(1))
    seen = seen_in(past, replace(NODE, io_bytes_per_s=None))

    assert 0.0 == seen.utilisation["map"].io


def test_a_failed_run_is_not_used():
    past = replace(MachineModel().run("a", 2, 400, draws(1)), succeeded=False)

    assert isinstance(sandbox_run(past, NODE), NotEnoughData)


def test_demand_survives_a_round_trip_through_the_configuration():
    past = MachineModel().run("a", 2, 400, draws(1))
    profile = profile_from_runs([seen_in(past)])
    kept = replace(past, run_id="b", configuration=demand_settings(profile.demand))
    maps, _ = with_demand_from_runs(phases_from_runs([past]), [past, kept])

    assert math.isclose(profile.demand["map"].cpu, maps.demand.work.cpu, rel_tol=1e-5)
    assert Demand() == demand_from_runs([kept], "other") == demand_from_runs([past], "map")
