"""The ablation from end to end, in two small worlds."""

import json

import pytest

from sluice.reproductions import runner
from sluice.reproductions.loop import factorial as experiment
from sluice.reproductions.loop import runs, worlds
from sluice.reproductions.loop.cells import design
from sluice.reproductions.loop.day import Day
from sluice.reproductions.loop.factorial import factorial, sentences

pytestmark = pytest.mark.no_invariants

SMALL = {
    "free-high": Day(hours=0.1, nodes=2, load=0.9),
    "mix-low": Day(hours=0.1, nodes=2, load=0.4, contention="shared"),
}


@pytest.fixture(autouse=True)
def _small_worlds(monkeypatch):
    """Two of the worlds, a twentieth of their size, in this process."""
    monkeypatch.setattr(worlds, "WORLDS", SMALL)
    monkeypatch.setattr(experiment, "WORLDS", SMALL)
    monkeypatch.setattr(runs, "_WORTHWHILE", 10**9)
    runs._workload.cache_clear()


@pytest.fixture(name="results")
def _results():
    return factorial(2, worlds=tuple(SMALL))


def test_every_cell_has_every_measure_and_the_parts_have_effects(results):
    assert [one.world for one in results] == list(SMALL)
    for result in results:
        assert len(result.cells) == len(design())
        document = result.document()
        for cell in document["cells"]:
            assert set(cell["composition"]) >= {"admission", "release", "order", "goals", "slots"}
            assert cell["measures"]["bill_usd"]["mean"] > 0
            assert cell["measures"]["promises_broken"]["mean"] == 0
        factors = {one["factor"] for one in document["effects"] if one["measure"] == "bill_usd"}
        assert {"A", "O", "L", "F", "S", "G", "OL", "AG"} <= factors
        assert json.dumps(document)
        assert list(sentences(result)) == document["sentences"]


def test_none_refuses_nothing_and_copies_nothing(results):
    for result in results:
        none = result.cell("none")
        assert none.mean("refused") == 0
        assert none.document()["composition"]["order"] == "fair"


def test_the_document_of_the_command():
    fractions: list[float] = []
    made = runner.reproduce(
        "loop", experiments=["factorial"], seeds=1, on_fraction=fractions.append
    )
    document = json.loads(json.dumps(made.document()))
    assert set(document["worlds"]) == set(SMALL)
    assert [one["name"] for one in document["experiments"]] == ["factorial", "effects"]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_one_change_at_a_time():
    made = runner.reproduce("loop", experiments=["one-by-one"], seeds=1)
    document = json.loads(json.dumps(made.document()))
    names = {cell["name"] for cell in document["worlds"]["free-high"]["cells"]}
    assert {"none", "full", "full without S", "none with AL", "order=fifo"} <= names
    (shown,) = made.experiments
    none = next(row for row in shown.rows if row["scheduler"] == "none")
    assert none["bill_usd"] == "+0.00"
