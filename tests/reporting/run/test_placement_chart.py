"""The chart of utility and job slots over time."""

import pytest

import sluice
from sluice.model.errors import InvalidInput

WORKLOAD = "examples/resources.yaml"


@pytest.fixture(scope="module")
def result():
    return sluice.simulate(WORKLOAD, tasks="ras")


def lines_of(view):
    return view["layer"][1]["data"]["values"]


def goals_of(view):
    return view["layer"][2]["data"]["values"]


def test_utility_and_slots_share_the_time_axis(result):
    spec = result.plot("utility,slots").spec
    utility, slots = spec["vconcat"]
    axes = [view["layer"][0]["encoding"]["x"]["scale"]["domain"] for view in (utility, slots)]

    assert ["Utility", "Job slots"] == [view["title"]["text"] for view in (utility, slots)]
    assert axes[0] == axes[1]


def test_the_levels_are_those_of_the_document(result):
    (view,) = (result.plot("utility").spec,)
    first = result.document()["placements"]["sort"][0]
    drawn = next(row for row in lines_of(view) if row["job"] == "sort")

    assert (1000 * first["at_s"], first["utility"]) == (drawn["start"], drawn["value"])


def test_each_line_ends_with_its_job(result):
    ends = {row["job"]: row["start"] for row in lines_of(result.plot("slots").spec)}

    assert {job.job_id: 1000 * job.finished_at_s for job in result.jobs} == ends


def test_goals_within_the_run_are_marked(result):
    goal = {"job": "select", "label": "select", "start": 720_000.0}

    assert [goal] == goals_of(result.plot("utility").spec)


def test_lines_have_room_for_the_names_of_goals_above_them(result):
    """A line at 7 slots ran through the name of a goal, on the edge of the chart."""
    for view in result.plot("utility,slots").spec["vconcat"]:
        top = view["layer"][1]["encoding"]["y"]["scale"]["domain"][1]

        assert max(row["value"] for row in lines_of(view) if row["value"] is not None) < 0.95 * top


def test_a_run_without_placements_has_no_utility():
    plain = sluice.simulate("examples/two_pools.yaml")

    with pytest.raises(InvalidInput, match="the run has no placements"):
        plain.plot("utility")
    assert plain.plot("slots").spec == plain.plot("slots").spec


def test_an_unknown_chart_in_a_list_is_named(result):
    with pytest.raises(InvalidInput, match="there is no chart 'slot'"):
        result.plot("utility,slot")
