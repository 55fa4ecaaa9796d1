"""Grids of VM type, size and input. Golden numbers: Cura spec, section 7."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.estimate.made_runs import MB, MachineModel, draws

from sluice.estimate.grid import Grid, GridPoint, GridTime, OffGrid
from sluice.model.errors import InvalidInput

SPEEDS = {10: 10, 20: 19, 30: 27, 40: 34}
BASES = {
    ("1", "VM-1"): 9000, ("1", "VM-2"): 5625, ("1", "VM-3"): 22500 / 7,
    ("4", "VM-1"): 2500, ("4", "VM-2"): 1562.5, ("4", "VM-3"): 6250 / 7,
}  # fmt: skip


def cura(job_type):
    """The prediction table of one job type: t = base/speed(n)."""
    return Grid.of(
        GridPoint(vm_type, vms, 1000 * MB, base / speed)
        for (name, vm_type), base in BASES.items()
        if name == job_type
        for vms, speed in SPEEDS.items()
    )


def test_a_grid_point_is_returned_unchanged():
    assert GridTime(time_s=9000 / 19, is_measured=True) == cura("1").predict("VM-1", 20, 1000 * MB)


@pytest.mark.parametrize("vms", range(11, 40))
def test_between_the_points_of_the_table_times_fall_with_vms(vms):
    grid = cura("4")
    before, here, after = (
        grid.predict("VM-2", n, 1000 * MB).time_s for n in (vms - 1, vms, vms + 1)
    )

    assert before > here > after


@given(st.floats(0.1, 2.0), st.floats(0.1, 2.0), st.integers(4, 64), st.integers(100, 900))
def test_a_power_law_is_interpolated_exactly(by_vms, by_bytes, vms, megabytes):
    """Interpolation between logarithms is exact for bytes^b / VMs^a."""

    def law(count, size):
        return 7.0 * size**by_bytes / count**by_vms

    grid = Grid.of(
        GridPoint("any", count, size * MB, law(count, size))
        for count in (4, 16, 64)
        for size in (100, 300, 900)
    )
    result = grid.predict("any", vms, megabytes * MB)

    assert math.isclose(law(vms, megabytes), result.time_s, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("vm_type", "vms", "size", "why"),
    [
        ("VM-9", 10, 1000, "VM type 'VM-9' was not measured; measured: VM-1, VM-2, VM-3"),
        ("VM-1", 41, 1000, "on 10 to 40 VMs"),
        ("VM-1", 9, 1000, "on 10 to 40 VMs"),
        ("VM-1", 20, 1001, "was measured reading 1000000000 bytes, not 1001000000"),
    ],
)
def test_there_is_no_extrapolation_outside_the_grid(vm_type, vms, size, why):
    result = cura("1").predict(vm_type, vms, size * MB)

    assert isinstance(result, OffGrid)
    assert why in result.why


def test_a_grid_with_holes_is_used_where_it_has_points():
    """10 VMs at 100 bytes were not measured, but there are points on both sides."""
    grid = Grid.of(
        [GridPoint("a", 10, 50, 5.0), GridPoint("a", 10, 200, 20.0), GridPoint("a", 20, 100, 5.0)]
    )

    assert math.isclose(10.0, grid.predict("a", 10, 100).time_s)


def test_zero_bytes_is_a_valid_size():
    grid = Grid.of([GridPoint("a", 1, 0, 2.0), GridPoint("a", 1, 100, 4.0)])

    assert math.isclose(3.0, grid.predict("a", 1, 50).time_s)


def test_repeated_measurements_give_their_median():
    grid = Grid.of(GridPoint("a", 1, 1, time_s) for time_s in (3.0, 100.0, 4.0))

    assert 4.0 == grid.predict("a", 1, 1).time_s


@pytest.mark.parametrize(
    "point",
    [
        GridPoint("a", 0, 1, 1.0),
        GridPoint("a", 1, -1, 1.0),
        GridPoint("a", 1, 1, 0.0),
        GridPoint("a", 1, 1, math.inf),
        GridPoint("a", 1, 1, math.nan),
    ],
)
def test_invalid_points_are_refused(point):
    with pytest.raises(InvalidInput):
        Grid.of([point])


def test_runs_span_a_grid_by_machine_type_machines_and_input():
    from dataclasses import replace

    runs = [
        replace(run, machine_type="m4")
        for run in MachineModel().runs([(2, 100), (2, 400)], draws(1))
    ]
    grid = Grid.from_runs([*runs, MachineModel().run("unnamed", 2, 100, draws(2))])

    assert {"m4"} == grid.rows.keys()
    assert runs[0].elapsed_s < grid.predict("m4", 1, 200 * MB).time_s < runs[1].elapsed_s
