"""The colours of the chart of whatif."""

import pytest

from sluice.reporting.whatif.chart import whatif_chart


def shown(low, mean, high):
    figures = {one: {"p95": 60.0} for one in ("wait_s", "wait_s_min", "wait_s_max")}
    difference = {"wait_s_p95": {"mean": mean, "low": low, "high": high}}
    queue = {"old": figures, "new": figures, "difference": difference}
    document = {
        "queues": {"root.etl": queue}, "winners": [], "losers": ["root.etl"],
        "containers": 4, "seeds": 10, "is_resampled": True, "notes": [],
    }  # fmt: skip
    (row,) = whatif_chart(document).spec["vconcat"][1]["data"]["values"]
    return row["verdict"]


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((-30.0, -20.0, -10.0), "waits less"),
        ((10.0, 20.0, 30.0), "waits longer"),
        ((-300.0, -136.0, 28.0), "no clear difference"),
        ((0.0, 0.0, 0.0), "no clear difference"),
        ((None, -20.0, None), "no clear difference"),  # of one seed
    ],
)
def test_a_difference_is_green_or_red_if_its_own_interval_is_clear(interval, verdict):
    """The queue of the test loses by its slowdown, which the chart does not show."""
    assert shown(*interval) == verdict


def test_axes_of_waits_that_are_all_0_have_whole_seconds():
    """A time scale without a range would label its only instant with fractions of a second."""
    nothing = {"p95": 0.0}
    figures = dict.fromkeys(("wait_s", "wait_s_min", "wait_s_max"), nothing)
    difference = {"wait_s_p95": {"mean": 0.0, "low": 0.0, "high": 0.0}}
    queue = {"old": figures, "new": figures, "difference": difference}
    document = {"queues": {"a": queue}, "containers": 4, "seeds": 2}
    waits, differences = whatif_chart(document).spec["vconcat"]

    scales = [layer["encoding"]["x"].get("scale", {}) for layer in differences["layer"]]
    assert {"signal": "[-10000.0, 10000.0]"} in [scale.get("domain") for scale in scales]
    assert "[0, 10000.0]" in str(waits)
