"""`sluice reproduce`: the frame in which every evaluation is shown."""

import json
import sys
from types import SimpleNamespace

import pytest
from tests.cli.terminal import sluice

from sluice import reproductions
from sluice.reporting.charts.chart import Chart
from sluice.reproductions.runner import Evaluation, Experiment

CHART = Chart({"mark": "bar", "data": {"values": [{"x": 1}]}, "encoding": {}})


def experiment(seeds, said):
    said("counting")
    return Experiment(
        name="table-1",
        title="How many seeds",
        setup="as many as were asked for",
        rows=({"what": "seeds", "paper": None, "ours": seeds},),
        why="they are counted",
        chart=CHART,
    )


EVALUATION = Evaluation(
    name="counting",
    title="An evaluation that counts",
    timed={"table-1": (experiment, None)},
    left_out={"table-2": "it needs a cluster"},
    seeds=3,
)


@pytest.fixture(autouse=True)
def _counting(monkeypatch):
    monkeypatch.setitem(reproductions.REPRODUCTIONS, "counting", f"{__name__}:EVALUATION")
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(EVALUATION=EVALUATION))


def test_people_see_paper_and_ours_side_by_side_and_why_they_differ():
    answer = sluice("reproduce", "counting")

    assert 0 == answer.code
    for said in ("How many seeds (table-1)", "they are counted", "table-2: it needs a cluster"):
        assert said in answer.out


def test_programs_get_the_same_rows():
    document = json.loads(sluice("reproduce", "counting", "--seeds", "5", "--json").out)

    assert "counting" == document["reproduction"]
    (said,) = document["experiments"]
    assert [{"what": "seeds", "paper": None, "ours": 5}] == said["rows"]


def test_charts_are_drawn_into_a_folder_that_may_be_new(tmp_path):
    folder = tmp_path / "figures"
    answer = sluice("reproduce", "counting", "--out", str(folder))

    assert 0 == answer.code
    assert ["counting-table-1.html", "counting-table-1.png"] == sorted(
        path.name for path in folder.iterdir()
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("countin",), "Did you mean counting?"),
        (("counting", "--experiment", "table-3"), "counting has no experiment 'table-3'"),
        (("counting", "--seeds", "0"), "--seeds"),
        (("counting", "--out", "/proc/version"), "--out"),
    ],
)
def test_what_there_is_not_is_refused(words, said):
    answer = sluice("reproduce", *words)

    assert 2 == answer.code
    assert said in answer.err
    assert "" == answer.out


def test_without_a_name_all_experiments_are_listed(monkeypatch):
    answer = sluice("reproduce")
    monkeypatch.delitem(reproductions.REPRODUCTIONS, "counting")
    listed = json.loads(sluice("reproduce", "--json").out)["evaluations"]

    assert (0, True) == (answer.code, "table-1" in answer.out)
    assert max(map(len, answer.out.splitlines())) <= 80
    assert set(reproductions.REPRODUCTIONS) == {one["name"] for one in listed}
    for one in listed:
        for each in one["experiments"]:
            assert each["about"], each
            assert each["minutes"] is None or each["minutes"] > 0, each
            assert each["name"] in answer.out


def test_options_of_an_evaluation_need_its_name():
    for words in (("--seeds", "2"), ("--experiment", "table-1"), ("--out", "figures")):
        answer = sluice("reproduce", *words)

        assert (2, "", True) == (answer.code, answer.out, words[0] in answer.err)


def test_the_share_that_is_done_goes_by_minutes_and_by_the_steps_of_an_experiment():
    def maker(shares):
        def made(_seeds, on_progress):
            for share in shares:
                on_progress("step", share)
            return Experiment(name="one", title="", setup="", rows=({"a": 1},), why="")

        return made

    timed = {"long": (maker([0, 0.5]), 3.0), "short": (maker([0.5]), 1.0)}
    fractions: list[float] = []
    evaluation = Evaluation(name="made", title="", timed=timed, left_out={})
    evaluation.run([], 1, lambda _: None, fractions.append)

    assert [3 / 8, 3 / 4, 7 / 8] == fractions, "nothing where nothing is known: not 0 %"
