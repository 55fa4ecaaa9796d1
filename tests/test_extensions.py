"""Extensions by entry points of installed packages: charts, evaluations, engines and policies."""

import sys
from pathlib import Path
from textwrap import dedent

import pytest
from tests.cli.terminal import sluice as command

import sluice
from sluice.bootstrap.engines.registry import engine_kind
from sluice.cli.completion import charts, evaluations
from sluice.model.errors import InvalidInput
from sluice.reporting.run.chart_kinds import BUILT_IN as CHARTS
from sluice.reproductions.runner import evaluation_of, experiment_list, reproduce

WORKLOAD = "examples/two_pools.yaml"
CHART = """
from sluice.reporting.charts import theme

def chart(run, axis):
    rows = [{"job": one.job_id, "s": one.waited_s} for one in run.jobs]
    return theme.view(
        {"text": "Waits"}, 80,
        data={"values": rows},
        mark="bar",
        encoding={
            "x": {"field": "s", "type": "quantitative"},
            "y": {"field": "job", "type": "nominal"},
        },
    )
"""
EVALUATION = """
from sluice.reproductions.runner import Evaluation, Experiment

def table(seeds, on_progress):
    \"\"\"How many seeds there are.\"\"\"
    on_progress("counting")
    rows = ({"what": "seeds", "paper": 2, "ours": seeds},)
    return Experiment(name="t", title="Seeds", setup="None.", rows=rows, why="They are counted.")

EVALUATION = Evaluation(name="theirs", title="A paper", timed={"t": (table, None)}, left_out={})
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package with one module, and one entry point that names something in it."""

    def installed(group, name, text, attribute):
        info = tmp_path / "their_things-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-things\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = their_module:{attribute}\n")
        (tmp_path / "their_module.py").write_text(dedent(text))
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "their_module", raising=False)

    return installed


def test_a_chart_of_another_package_is_drawn_alone_and_with_others(install, tmp_path):
    install("sluice.charts", "waits", CHART, "chart")
    run = sluice.simulate(WORKLOAD)

    assert "Waits" in str(run.plot("waits").spec)
    both = str(run.plot("jobs,waits").spec)
    assert "'Jobs'" in both
    assert "'Waits'" in both
    answer = command("simulate", WORKLOAD, "--plot", f"waits={tmp_path / 'waits.json'}")
    assert answer.code == 0
    assert "Waits" in (tmp_path / "waits.json").read_text()
    assert ("waits", "") in charts("wai")


def test_an_evaluation_of_another_package_runs_and_is_listed(install):
    install("sluice.evaluations", "theirs", EVALUATION, "EVALUATION")

    assert reproduce("theirs", seeds=3).experiments[0].rows[0]["ours"] == 3
    (entry,) = experiment_list().of("theirs")
    assert entry.about == "How many seeds there are"
    assert "A paper" in command("reproduce", "theirs", "--seeds", "3").out
    assert evaluations("the") == ["theirs"]


BROKEN = "raise RuntimeError('no licence')"
USES = {
    "sluice.charts": ("theirs", lambda: sluice.simulate(WORKLOAD).plot("theirs")),
    "sluice.evaluations": ("theirs", lambda: reproduce("theirs")),
    "sluice.engines": ("theirs", lambda: engine_kind("theirs")),
    "sluice.policies": ("tasks.theirs", lambda: sluice.simulate(WORKLOAD, tasks="theirs")),
}


@pytest.mark.parametrize("group", USES)
@pytest.mark.parametrize(
    ("text", "said"),
    [(BROKEN, "RuntimeError: no licence"), ("other = 1", "has no attribute 'thing'")],
)
def test_what_cannot_be_loaded_is_one_message_with_the_package(install, group, text, said):
    name, use = USES[group]
    install(group, name, text, "thing")

    with pytest.raises(InvalidInput, match=said) as refused:
        use()
    for word in ("their-things", name, group):
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def thing(run, axis): return run.nothing", "AttributeError"),
        ("def thing(run, axis): return [run]", "gave list, not a view"),
        ("thing = 3", "not callable"),
    ],
)
def test_a_mistake_in_a_chart_is_one_message_with_the_package(install, text, said):
    install("sluice.charts", "theirs", text, "thing")

    with pytest.raises(InvalidInput, match=said) as refused:
        sluice.simulate(WORKLOAD).plot("theirs,jobs")
    assert "their-things" in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"seeds"', "seeds.nothing", "AttributeError"),
        ("return Experiment(", "return dict(", "gave dict, not an Experiment"),
        ('name="theirs"', 'name="pareto"', "not an Evaluation with this name"),
        ("EVALUATION = Evaluation(", "EVALUATION = dict(", "not an Evaluation"),
    ],
)
def test_a_mistake_in_an_evaluation_is_one_message_with_the_package(install, old, new, said):
    install("sluice.evaluations", "theirs", EVALUATION.replace(old, new), "EVALUATION")

    with pytest.raises(InvalidInput, match=said) as refused:
        reproduce("theirs")
    assert "their-things" in str(refused.value)


def test_a_chart_of_ours_cannot_be_replaced(install):
    before = sluice.simulate(WORKLOAD).plot("jobs").spec
    install("sluice.charts", "jobs", CHART, "chart")

    assert sluice.simulate(WORKLOAD).plot("jobs").spec == before


def test_an_evaluation_of_ours_cannot_be_replaced(install):
    install("sluice.evaluations", "pareto", EVALUATION, "EVALUATION")

    assert evaluation_of("pareto").title != "A paper"
    assert evaluations("pareto") == ["pareto"]


def test_the_documents_list_our_charts():
    table = (Path(__file__).parents[1] / "docs" / "charts.md").read_text("utf-8")

    for name, kind in CHARTS.items():
        assert f"| `{name}` | {kind.summary} |" in table


def test_an_unknown_name_is_refused_with_those_of_packages(install):
    install("sluice.charts", "waits", CHART, "chart")

    with pytest.raises(InvalidInput, match="waits"):
        sluice.simulate(WORKLOAD).plot("wait")
