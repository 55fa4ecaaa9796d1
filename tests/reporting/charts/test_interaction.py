"""All that a reader can do in a chart is added to its specification, once for all charts."""

import pytest

from sluice.reporting.charts.interaction import X_SCALE, interactive
from sluice.reporting.charts.theme import TimeAxis, bar_end

AXIS = TimeAxis(starts_at_s=0.0, ends_at_s=90.0)
JOBS = {"values": [{"job": "a", "start": 0.0, "end": 9.0}]}


def bars(**more):
    return {
        "data": JOBS,
        "mark": "bar",
        "encoding": {
            "x": AXIS.encoding(),
            "x2": bar_end(),
            "color": {"field": "job", "type": "nominal"},
        },
        **more,
    }


def declared(view):
    """The parameters of a view and of its layers, by name."""
    found = {one["name"]: one for one in view.get("params", ())}
    for layer in view.get("layer", ()):
        found |= declared(layer)
    return found


def test_views_with_one_axis_of_time_zoom_together():
    other = bars(encoding={"x": TimeAxis(starts_at_s=0.0, ends_at_s=7.0).encoding()})
    first, second, third = interactive({"vconcat": [bars(), bars(), other]})["vconcat"]

    assert declared(first)["zoom_1"] == declared(second)["zoom_1"]
    assert {"select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}.items() <= (
        declared(first)["zoom_1"].items()
    )
    assert "zoom_1" not in declared(third)
    assert "zoom_2" in declared(third)


def test_points_zoom_in_both_directions():
    axis = {"type": "quantitative"}
    encoding = {"x": {"field": "a", **axis}, "y": {"field": "b", **axis}}
    spec = interactive({"mark": {"type": "point"}, "encoding": encoding, "data": {"values": []}})

    assert ["x", "y"] == spec["params"][0]["select"]["encodings"]


def test_names_on_both_axes_do_not_zoom():
    encoding = {"x": {"field": "a", "type": "ordinal"}, "y": {"field": "b", "type": "nominal"}}
    spec = interactive({"mark": "rect", "encoding": encoding, "data": {"values": [{"a": 1}]}})

    assert "params" not in spec


def test_the_pointer_on_a_job_fades_the_others_in_every_view():
    views = interactive({"vconcat": [bars(), bars()]})["vconcat"]

    assert all("follow_job" in declared(view) for view in views)
    for view in views:
        condition = view["encoding"]["fillOpacity"]["condition"]
        assert {"param": "follow_job"} in condition["test"]["and"]
        assert view["encoding"]["fillOpacity"]["value"] < 0.2 < condition["value"]


def test_marks_of_no_job_do_not_fade():
    rule = {"data": {"values": [{"total": 3}]}, "mark": "rule", "encoding": {}}
    spec = interactive({"layer": [bars(), rule]})

    assert "fillOpacity" in spec["layer"][0]["encoding"]
    assert {} == spec["layer"][1]["encoding"]


def test_a_pale_mark_stays_pale():
    pale = bars(mark={"type": "bar", "fillOpacity": 0.2})

    assert 0.2 == interactive(pale)["encoding"]["fillOpacity"]["condition"]["value"]


def test_a_line_fades_its_stroke():
    assert "strokeOpacity" in interactive(bars(mark="line"))["encoding"]


@pytest.mark.parametrize(
    ("resolve", "names"),
    [
        ({"scale": {"color": "independent"}}, ["pick_job_1", "pick_job_2"]),
        ({}, ["pick_job", "pick_job"]),
    ],
)
def test_a_legend_picks_in_the_views_that_it_explains(resolve, names):
    views = interactive({"vconcat": [bars(), bars()], "resolve": resolve})["vconcat"]
    picks = [name for view in views for name in declared(view) if name.startswith("pick")]

    assert names == picks
    assert "legend" == declared(views[0])[names[0]]["bind"]


def test_without_a_legend_there_is_nothing_to_pick():
    colour = {"field": "job", "type": "nominal", "legend": None}
    spec = interactive(bars(encoding={"x": AXIS.encoding(), "color": colour}))

    assert not [name for name in declared(spec) if name.startswith("pick")]


def test_expressions_name_the_scale_of_their_own_view():
    views = interactive({"vconcat": [bars(), bars()]})["vconcat"]
    ends = [view["encoding"]["x2"]["value"]["expr"] for view in views]

    assert ["view_1_x" in ends[0], "view_2_x" in ends[1]] == [True, True]
    assert X_SCALE not in str(views)


def test_data_are_neither_changed_nor_copied():
    view = bars(data={"values": [{"job": X_SCALE}]})
    made = interactive(view)

    assert made["data"] is view["data"]
    assert "params" not in view
