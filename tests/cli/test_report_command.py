"""`sluice report`: all charts and tables of one result in one HTML file."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.terminal import SMALL, sluice
from tests.skips import required

import sluice as package

PLAN = """\
version: 1
cluster: {map_slots_per_vm: 2, reduce_slots_per_vm: 2}
prices: {vm_hour_usd: 1.0}
jobs:
  - {id: A, maps: {tasks: 6, avg_s: 60}, reduces: {tasks: 2, avg_s: 9}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    required("vl_convert")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def saved(*words):
    answer = sluice(*words, "--json")
    assert 0 == answer.code, answer.err
    Path("result.json").write_text(answer.out)
    return json.loads(answer.out)


def reported(*words):
    """The page, and the specifications of its charts."""
    answer = sluice("report", *words, "-o", "r.html")
    assert 0 == answer.code, answer.err
    assert "written: r.html\n" == answer.err
    page = Path("r.html").read_text()
    block = re.search(r'id="specification">(.*?)</script>', page, re.DOTALL)
    assert block is not None
    return page, json.loads(block[1])["charts"]


def rounded(value):
    """JSON with numbers to nine digits: sums of floats may differ in the last."""
    if isinstance(value, dict):
        return {name: rounded(held) for name, held in value.items()}
    if isinstance(value, list):
        return [rounded(held) for held in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def test_a_run_has_its_jobs_as_chart_and_table():
    result = saved("simulate", "small.yaml")
    page, (chart,) = reported("result.json")
    bars = [
        row
        for layer in chart["vconcat"][0]["layer"]
        for row in layer.get("data", {}).get("values", ())
        if row.get("part") == "running"
    ]

    assert {
        name: (1000 * job["started_at_s"], 1000 * job["finished_at_s"])
        for name, job in result["jobs"].items()
    } == {row["job"]: (row["start"], row["end"]) for row in bars}
    assert "<td>words</td>" in page
    assert "0:50" in page
    assert result["provenance"]["inputs"][0]["digest"] in page


def test_the_means_of_a_comparison_are_those_of_its_table():
    result = saved("compare", "small.yaml", "--schedulers", "fifo,fair", "--seeds", "2")
    _, (chart,) = reported("result.json")
    makespans = chart["vconcat"][2]["data"]["values"]

    assert [1000 * row["makespan_s"] for row in result["rows"]] == [
        row["mean"] for row in makespans
    ]


def test_the_plans_of_a_frontier_are_points():
    result = saved("plan", "plan.yaml")
    _, (chart,) = reported("result.json")
    points = next(
        layer["data"]["values"] for layer in chart["layer"] if "where" in layer["data"]["values"][0]
    )

    assert [1000 * plan["makespan_s"] for plan in result["plans"]] == [
        row["time"] for row in points
    ]


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NIGHTLY = EXAMPLES / "nightly"
KINDS = {
    "capacity": ["capacity", EXAMPLES / "deadlines.yaml"],
    "pools": ["pools", EXAMPLES / "vm-pools.yaml"],
    "order": ["order", EXAMPLES / "worked_example.yaml", "--method", "sweep"],
    "fairness": ["fairness", "--file", EXAMPLES / "tenants.yaml"],
    "share": ["share", EXAMPLES / "members_drf.yaml"],
    "explain": ["explain", NIGHTLY / "application_1762131600_0001.gz"],
    "compare": ["compare", EXAMPLES / "two_pools.yaml", "--schedulers", "fifo,fair",
                "--seeds", "2"],
    "size": ["size", EXAMPLES / "deadlines.yaml", "--draws", "3", "--nodes-max", "40"],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_has_the_chart_that_plot_draws(kind, folder):
    assert_same_chart(KINDS[kind], folder)


def test_each_chart_of_a_report_has_its_numbers_as_a_table(folder):
    """The document's own tables hold a queue's figures as `8 entries`; the chart's show them."""
    made = sluice("order", EXAMPLES / "worked_example.yaml", "--method", "input", "--json")
    (folder / "result.json").write_text(made.out)
    assert 0 == sluice("report", "result.json", "-o", "report.html").code
    page = (folder / "report.html").read_text()

    assert page.count('class="chart"') == page.count("<summary>The same numbers as tables") > 0


def test_a_report_has_the_chart_of_a_calibration(folder):
    assert 0 == sluice("import", *sorted(NIGHTLY.glob("*.gz"))[:12]).code

    assert_same_chart(["calibrate"], folder)


def assert_same_chart(words, folder):
    plotted = sluice(*words, "--json", "--plot", "plot.json")
    assert 0 == plotted.code, plotted.err
    (folder / "result.json").write_text(plotted.out)
    _, (chart,) = reported("result.json")

    assert rounded(json.loads((folder / "plot.json").read_text())) == rounded(chart)


def test_a_chart_that_was_saved_can_be_added():
    sluice("simulate", "small.yaml", "--plot", "slots=slots.json")
    saved("simulate", "small.yaml")
    _, charts = reported("result.json", "--chart", "slots.json")

    assert [2, "Tasks by slot"] == [len(charts), charts[1]["title"]["text"]]


def test_the_document_may_come_from_stdin(folder):
    said = sluice("simulate", "small.yaml", "--json").out
    answer = sluice("report", "-", "-o", "r.html", "--title", "A night", stdin=said.encode())

    assert 0 == answer.code, answer.err
    assert "<title>A night</title>" in (folder / "r.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], ["no file 'nope'", "sluice runs"]),
        (["small.yaml"], ["small.yaml", "not JSON"]),
        (["workload.json"], ["workload.json", "--json printed"]),
        (["strange.json"], ["strange.json", "cannot be drawn"]),
        (["result.json", "-o", "r.pdf"], ["--out", ".html"]),
        (["result.json", "-o", "no/r.html"], ["no folder no"]),
        (["result.json", "--chart", "result.json"], ["result.json", "not a chart"]),
    ],
)
def test_what_cannot_be_reported_is_refused(words, said, folder):
    saved("simulate", "small.yaml")
    (folder / "workload.json").write_text('{"version": 1, "jobs": []}')
    job = {"submitted_at_s": "now", "started_at_s": 0, "finished_at_s": 1, "state": "done"}
    (folder / "strange.json").write_text(json.dumps({"digest": "", "jobs": {"a": job}}))
    answer = sluice("report", *words)

    assert (2, "") == (answer.code, answer.out)
    assert all(one in answer.err for one in said), answer.err
    assert not (folder / "report.html").exists()


def test_a_recorded_run_has_the_charts_of_its_tasks(folder):
    (folder / "in.txt").write_text("a\nb\n")
    (folder / "run.yaml").write_text(
        "version: 1\ncluster: {map_slots: 2, reduce_slots: 1}\njobs:\n  - id: words\n"
        "    reduces: {tasks: 1}\n"
        "    run: {input: [in.txt], output: out, mapper: cat, reducer: cat}\n"
    )
    run_id = json.loads(sluice("run", "run.yaml", "--json").out)["run_id"]
    page, (chart,) = reported(run_id)

    assert ["Jobs", "Tasks by slot", "Busy slots", "Jobs running and waiting"] == [
        view["title"]["text"] for view in chart["vconcat"]
    ]
    assert f"<title>{run_id}</title>" in page


def test_python_reports_a_result(folder):
    made = package.report(package.simulate("small.yaml"), title="Night")
    made.save(folder / "r.html")

    assert "<ResultReport: 'Night', 1 charts>" == repr(made)
    assert "Tasks by slot" in (folder / "r.html").read_text()
