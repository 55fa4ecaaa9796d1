"""A row of a comparison that cannot be is refused under the option that gave it."""

import pytest

import sluice
from sluice.bootstrap.scheduler_rows import ablated, row_of
from sluice.model.errors import InvalidInput


@pytest.mark.parametrize("row", ["bogus", "fair+bogus", "order=bogus", "release=bogus+fair"])
def test_a_row_names_the_option_that_gave_it(row):
    with pytest.raises(InvalidInput) as schedulers:
        row_of(row)
    with pytest.raises(InvalidInput) as ablate:
        list(ablated(row))

    assert f"--schedulers {row}" == schedulers.value.where
    assert f"--ablate {row}" == ablate.value.where


@pytest.mark.parametrize(
    ("cpu", "rooms"),
    [(30, "slots containers, lent or resources,"), (50, "slots containers or lent (")],
)
def test_admission_that_cannot_promise_names_the_rooms_in_which_it_can(cpu, rooms):
    # Three slots a node: of tasks with 30 % of its cpu all three run, of those with 50 % only two.
    workload = {
        "version": 1,
        "cluster": {"nodes": 4, "node": {"map_slots": 2, "reduce_slots": 1, "cpu": 100}},
        "jobs": [{"id": "a", "maps": {"tasks": 8, "avg_s": 6}, "demand": {"map": {"cpu": cpu}}}],
    }

    with pytest.raises(InvalidInput) as caught:
        sluice.simulate(workload, tasks="fair", admission="capacity")

    assert rooms in caught.value.hint


def test_without_the_slots_that_promises_need_nothing_is_promised():
    whole, *others = ablated("busy")
    assert whole == "busy"
    without_slots = [row for row in others if "slots=typed" in row]
    assert len(without_slots) == 1
    assert "admission=" not in without_slots[0]
    assert sum("admission=capacity" in row for row in others) == len(others) - 2
