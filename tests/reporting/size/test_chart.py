"""The chart of size marks the answer and names it."""

import json

import pytest

from sluice.reporting.size.chart import size_chart

POINTS = [
    {"nodes": nodes, "slots": 4 * nodes, "probability": 1.0, "low": 0.9, "high": 1.0}
    for nodes in (1, 2, 4, 8, 16, 32, 34, 35, 36)
]


@pytest.mark.parametrize(("answer", "align"), [(2, "left"), (35, "right")])
def test_the_answer_is_named_inside_the_chart(answer, align):
    spec = size_chart(POINTS, 0.95, answer=answer).spec
    (named,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]

    assert named["encoding"]["text"] == {"value": f"{answer} nodes"}
    assert named["transform"] == [{"filter": f"datum.nodes == {answer}"}]
    assert named["mark"]["align"] == align


def test_a_chart_without_an_answer_names_none():
    assert "0 nodes" not in json.dumps(dict(size_chart(POINTS, 0.95).spec))
