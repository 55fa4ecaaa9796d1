"""Every result has a short repr and a view for notebooks, in which names are text."""

import ast
from pathlib import Path

import pytest

import sluice
from sluice.reporting.document_html import document_html

NAME = "<script>alert(1)</script>"
DOCUMENT = {
    "makespan_s": 144.0,
    "cost_usd": 3.5,
    "wait_s": {"p50": 30.0},
    "jobs": {NAME: {"finished_at_s": 61.0, "met": True, "slowdown": {"p95": 1.25}}},
    "rows": [{"n": place} for place in range(30)],
    "provenance": {"version": "0"},
}
RESULTS = [
    name for name in vars(sluice)["__all__"]
    if isinstance(value := getattr(sluice, name), type) and hasattr(value, "document")
]  # fmt: skip


def test_a_document_is_shown_by_the_units_in_its_names():
    shown = document_html(DOCUMENT)

    for text in ("2:24", "$3.50", "0:30", "1:01", "yes", "1.25", "and 10 more"):
        assert text in shown
    assert "provenance" not in shown


def test_a_spread_has_the_unit_of_its_measure():
    shown = document_html({"rows": [{"makespan_s": 61.0, "makespan_s_sd": 8.5, "missed": []}]})

    assert '<th class="number">makespan sd</th>' in shown
    assert "0:08.5" in shown
    assert "<td>–</td>" in shown


def test_sentences_follow_each_other_without_commas():
    assert "<td>One. Two.</td>" in document_html({"notes": ["One.", "Two."]})
    assert "<td>a, b</td>" in document_html({"names": ["a", "b"]})


def test_a_name_is_text():
    shown = document_html(DOCUMENT)

    assert NAME not in shown
    assert "&lt;script&gt;alert(1)" in shown


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_shown_in_a_notebook(name):
    kind = getattr(sluice, name)

    if not kind.__module__.startswith("sluice.core"):
        assert callable(getattr(kind, "_repr_html_", None))
        # A dataclass would write out all of its fields.
        assert "dataclass" not in kind.__repr__.__qualname__
        assert kind.__repr__.__module__.startswith("sluice.")


def test_what_public_functions_return_can_be_imported_from_the_package():
    source = Path(sluice.__file__).parent / "api"
    returned = set()
    for file in source.glob("*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name in vars(sluice)["__all__"]:
                assert node.returns is not None
                names = {one.id for one in ast.walk(node.returns) if isinstance(one, ast.Name)}
                returned |= {one for one in names if one[0].isupper()}

    assert len(returned) > 15
    assert set() == returned - set(vars(sluice)["__all__"])


def test_a_repr_is_one_short_line():
    found = sluice.capacity("examples/deadlines.yaml")
    text = repr(found)

    assert text.startswith("<CapacityResult: status=ok, ")
    assert len(text) < 200
    assert "\n" not in text
    assert "<table" in found._repr_html_()


def test_why_and_story_are_shown_by_their_figures():
    why = sluice.why("question-1", source="examples/two_pools.yaml", at_s=35.0)
    story = sluice.story("question-1", source="examples/two_pools.yaml")

    assert isinstance(why, sluice.Why)
    assert isinstance(story, sluice.Story)
    for answer in (why, story):
        assert len(repr(answer)) < 250, repr(answer)
        assert "question-1" in repr(answer)
    assert "<td>map</td>" in why._repr_html_()
    assert "<td>0:30</td>" in story._repr_html_().replace(' class="number"', "")
