"""`sluice order`: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest
from tests.cli.terminal import result_of, sluice
from tests.skips import required

import sluice as package

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EXAMPLE_A = """\
version: 1
cluster: {map_slots: 8, reduce_slots: 4}
jobs:
  - {id: J1, maps: {tasks: 10, avg_s: 4}, reduces: {tasks: 2, avg_s: 8}}
  - {id: J2, maps: {tasks: 4, avg_s: 2}, reduces: {tasks: 4, avg_s: 2}}
  - {id: J3, maps: {tasks: 2, avg_s: 6}, reduces: {tasks: 4, avg_s: 10}}
  - {id: J4, maps: {tasks: 24, avg_s: 6}, reduces: {tasks: 6, avg_s: 8}}
"""
LINES = "J1 10 2 4 8\nJ2 4 4 2 2\nJ3 2 4 6 10\nJ4 24 6 6 8\n"


@pytest.fixture
def example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(EXAMPLE_A)
    (tmp_path / "a.txt").write_text(LINES)
    return "a.yaml"


def document(*words, **options):
    answer = sluice("order", *words, "--json", **options)
    assert (0, 1) == (answer.code, answer.out.count("\n")), answer
    return json.loads(answer.out, parse_constant=pytest.fail)


def test_the_document_is_that_of_the_contract(example):
    said = document(example, "--method", "input")

    assert {
        "order": ["J1", "J2", "J3", "J4"],
        "makespan_s": 44.0,
        "total_completion_s": 94.0,
        "completions_s": {"J1": 16.0, "J2": 8.0, "J3": 26.0, "J4": 44.0},
        "method": "input",
        "proved_optimal": False,
        "bounds": {"makespan_lower_s": 36.5, "makespan_upper_s": 57.75, "tct_lower_s": 72.5},
        "printed_bounds": {"makespan_upper_s": 53.5},
    }.items() <= said.items()
    assert 0 <= said["search_s"] < 10
    assert "frontier" not in said


@pytest.mark.parametrize(
    ("method", "order", "makespan_s", "total_s"),
    [
        ("input", "J1 J2 J3 J4", 44, 94),
        ("reverse", "J1 J4 J3 J2", 52, 136),
        ("mk-jr", "J2 J3 J4 J1", 40, 100),
        ("mk-tct-jr", "J2 J1 J3 J4", 44, 90),
        ("tct", "J2 J1 J3 J4", 44, 90),
        ("sweep", "J2 J3 J4 J1", 40, 100),
        ("exact", None, 40, None),
        ("search", None, 40, None),
        ("auto", None, 40, None),
    ],
)
def test_every_method_has_its_name(example, method, order, makespan_s, total_s):
    said = document(example, "--method", method, "--evaluations", "200")

    assert method == said["method"]
    assert makespan_s == said["makespan_s"]
    assert total_s in {None, said["total_completion_s"]}
    assert order in {None, " ".join(said["order"])}
    assert said["makespan_s"] == max(said["completions_s"].values())
    assert said["total_completion_s"] == sum(said["completions_s"].values())
    assert (method in {"exact", "auto"}) <= said["proved_optimal"]


def test_a_sweep_shows_its_frontier(example):
    assert document(example, "--method", "sweep", "--objective", "tct")["frontier"] == [
        {"order": ["J2", "J3", "J4", "J1"], "makespan_s": 40.0, "total_completion_s": 100.0},
        {"order": ["J2", "J1", "J3", "J4"], "makespan_s": 44.0, "total_completion_s": 90.0},
    ]


@pytest.mark.parametrize(
    ("objective", "makespan_s", "total_s"), [("makespan", 40, None), ("tct", 44, 88)]
)
def test_the_objective_decides(example, objective, makespan_s, total_s):
    said = document(example, "--method", "exact", "--objective", objective)

    assert said["proved_optimal"]
    assert makespan_s == said["makespan_s"]
    assert total_s in {None, said["total_completion_s"]}


def test_the_order_is_what_the_simulator_then_runs(example):
    """Written out, and simulated as it stands there."""
    said = document(example, "--method", "mk-jr", "--out", "b.yaml")
    result = package.simulate("b.yaml")

    assert said["makespan_s"] == result.makespan_s
    assert said["completions_s"] == {job.job_id: job.finished_at_s for job in result.jobs}
    assert said["order"] == [job.job_id for job in result.jobs]


@pytest.mark.parametrize("name", ["b.json", "b.yaml"])
def test_a_file_of_lines_becomes_a_whole_workload(example, name):
    """Slots come from the command line, and stand in what is written."""
    slots = ["--map-slots", "8", "--reduce-slots", "4"]
    said = document("a.txt", "--method", "tct", "--out", name, *slots)

    assert (44, 90) == (said["makespan_s"], said["total_completion_s"])
    assert 44 == package.simulate(name).makespan_s
    again = result_of(document(example, "--method", "tct"))
    assert said == {**said, **again, "search_s": said["search_s"]}


def test_slots_of_the_command_line_win(example):
    said = document(example, "--method", "input", "--map-slots", "80", "--reduce-slots", "40")

    assert 16 == said["makespan_s"]


def test_standard_input_is_read_once(example):
    said = document("-", "--out", "b.yaml", stdin=EXAMPLE_A.encode())

    assert 40 == said["makespan_s"]
    assert 40 == package.simulate("b.yaml").makespan_s


def test_people_see_both_orders_and_what_is_gained(example):
    answer = sluice("order", example)

    assert 0 == answer.code
    assert "▒▒▒▒█████ " in answer.out
    assert "40 s, 10.0 % better than the file's order (44 s)" in answer.out
    assert "6.0 % worse than the file's order" in answer.out
    assert "proved optimal" in answer.out
    assert all(len(line) <= 80 for line in answer.out.splitlines())


def test_a_sweep_shows_the_orders_to_choose_from(example):
    answer = sluice("order", example, "--method", "sweep")

    assert "1 m 30 s  J2, J1, J3, J4" in answer.out


def test_what_the_model_leaves_out_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.yaml").write_text(
        "version: 1\ncluster: {nodes: 3, node: {map_slots: 2, reduce_slots: 1}}\njobs:\n"
        "  - {id: a, submitted_at_s: 5, maps: {tasks: 4, avg_s: 3}, shuffle: {avg_s: 2},"
        " reduces: {tasks: 2, avg_s: 2}}\n"
    )
    answer = sluice("order", "w.yaml", "--json")

    assert "3 nodes are taken together" in answer.err
    assert "submitted_at_s is left out" in answer.err
    assert "shuffle lengthens every reduce" in answer.err
    assert 3 == len(json.loads(answer.out)["notes"])
    assert 7 == json.loads(answer.out)["makespan_s"]


def test_a_chart_is_drawn(example, tmp_path):
    answer = sluice("order", example, "--method", "sweep", "--plot", "out.json")
    chart = json.loads((tmp_path / "out.json").read_text())

    assert "plot: out.json" in answer.err
    assert 3 == len(chart["vconcat"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "mkjr"], "--method: 'mkjr' is not known. Did you mean mk-jr?"),
        (["--objective", "time"], "--objective"),
        (["--seconds", "0"], "--seconds: '0' is not a length of time"),
        (["--seconds", "nan"], "--seconds"),
        (["--evaluations", "0"], "--evaluations"),
        (["--evaluations", "1.5"], "--evaluations"),
        (["--seed", "-1"], "--seed"),
        (["--map-slots", "0"], "--map-slots"),
        (["--out", "a.yaml"], "--out: a.yaml is the workload"),
        (["--plot", "x.doc"], "--plot"),
    ],
)
def test_flags_that_make_no_sense_are_refused(example, words, said):
    answer = sluice("order", example, *words, "--json")

    assert (2, "") == (answer.code, answer.out)
    assert said in answer.err


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ("containers: 4", []),
        ("containers: 4", ["--stage-slots", "2"]),
        ("map_slots: 8, reduce_slots: 4", []),
    ],
)
def test_no_jobs_are_refused_on_every_cluster(cluster, words, tmp_path):
    (tmp_path / "none.yaml").write_text(f"version: 1\ncluster: {{{cluster}}}\njobs: []\n")
    answer = sluice("order", tmp_path / "none.yaml", *words)

    assert (2, "") == (answer.code, answer.out)
    assert "jobs is empty" in answer.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1\ncluster: {map_slots: 8, reduce_slots: 4}\njobs: []\n", "jobs is empty"),
        (EXAMPLE_A.replace("reduce_slots: 4", "reduce_slots: 0"), "reduce_slots is 0"),
        (EXAMPLE_A.replace("map_slots: 8", "map_slots: 1.5"), "map_slots is 1.5"),
        (EXAMPLE_A.replace("tasks: 24", "tasks: -1"), 'job "J4": maps.tasks is -1'),
        (EXAMPLE_A.replace("tasks: 24", "tasks: 2.5"), 'job "J4": maps.tasks is 2.5'),
        (EXAMPLE_A.replace("tasks: 24", "tasks: true"), 'job "J4": maps.tasks is true'),
        (EXAMPLE_A.replace("avg_s: 10", "avg_s: 0"), 'job "J3": reduces.avg_s is 0'),
        (EXAMPLE_A.replace("avg_s: 10", "avg_s: .nan"), 'job "J3": reduces.avg_s'),
        (EXAMPLE_A.replace("id: J2", "id: J1"), 'job "J1": id is given twice'),
        (EXAMPLE_A.replace("id: J2", 'id: ""'), "job number 2: id"),
        (EXAMPLE_A.replace("avg_s: 4", "durations_s: [1, 2]"), 'job "J1": maps.durations_s has 2'),
        (LINES, "cluster is missing"),
        ("J1 10 2 4 8\nJ2 4 4 2\n", "line 2"),
    ],
)
def test_bad_input_is_refused_by_job_and_field(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text(text)
    answer = sluice("order", "bad.yaml", "--json")

    assert (2, "") == (answer.code, answer.out)
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_the_same_seed_and_evaluations_print_the_same(example):
    """All but the time that it took."""
    words = ["--method", "search", "--objective", "both", "--evaluations", "150", "--seed", "7"]
    one, two = document(example, *words), document(example, *words)

    assert one | {"search_s": 0} == two | {"search_s": 0}


def test_results_are_values_for_programs(example):
    result = package.order(example, method="tct")

    assert ("J2", "J1", "J3", "J4") == result.order
    assert 44 == package.simulate(result.reordered()).makespan_s
    assert ["J2", "J1", "J3", "J4"] == list(result.to_frame()["job"])
    assert "4 jobs by tct" in repr(result)
    assert package.order(result.reordered(), method="input").order == result.order


def test_stages_are_ordered_from_a_file_in_another_folder_and_written(tmp_path, monkeypatch):
    """The journey: the question, the answer in a sentence, the file for the next command."""
    required("vl_convert")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "graphs.yaml"
    path.write_text((EXAMPLES / "two_graphs.yaml").read_text())
    answer = sluice("order", "graphs.yaml", "--out", "best.yaml", "--plot", "best.svg")
    lines = answer.out.splitlines()

    assert answer.code == 0
    assert lines[0].startswith("5 stages end after 21 s, 16.0% less than in the order of the file")
    assert max(map(len, lines[1:])) <= 80
    assert "Next: sluice simulate best.yaml" in answer.err
    assert package.load_workload("best.yaml").jobs[0].job_id == "nightly"
    document = json.loads(sluice("order", "graphs.yaml", "--json", "--method", "exact").out)
    assert (document["makespan_s"], document["proved_optimal"]) == (21.0, True)
    assert document["stages"]["nightly/join"] == {"started_at_s": 11.0, "finished_at_s": 21.0}


def test_a_method_for_maps_and_reduces_is_refused_for_stages():
    answer = sluice("order", EXAMPLES / "two_graphs.yaml", "--method", "mk-jr")

    assert answer.code == 2
    assert "'mk-jr' orders maps and reduces, and the jobs have stages" in answer.err


def test_the_slots_of_one_node_are_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.yaml").write_text(
        "version: 1\ncluster: {nodes: 1, node: {map_slots: 2, reduce_slots: 1}}\njobs:\n"
        "  - {id: a, maps: {tasks: 4, avg_s: 3}, reduces: {tasks: 2, avg_s: 2}}\n"
    )

    assert [] == json.loads(sluice("order", "w.yaml", "--json").out).get("notes", [])


CHAINS = """\
version: 1
cluster: {containers: 2}
jobs:
  - {id: web, phases: [
      {name: extract, tasks: 4, avg_s: 60}, {name: clean, tasks: 1, avg_s: 90},
      {name: load, tasks: 1, avg_s: 80}]}
  - {id: crm, phases: [{name: extract, tasks: 1, avg_s: 20}, {name: load, tasks: 1, avg_s: 60}]}
"""


def test_jobs_pass_a_chain_of_stages_with_slots_of_their_own(example):
    Path("chains.yaml").write_text(CHAINS)
    slots = "extract=2,clean=1,load=1"
    answer = sluice("order", "chains.yaml", "--stage-slots", slots)
    said = document("chains.yaml", "--stage-slots", slots)

    assert " ".join(answer.out.split()).startswith(
        "2 jobs pass 3 stages in 5 m 10 s, 11.4% less than in the order of the file (5 m 50 s);"
        " no order is shorter (proved)."
    )
    assert (["crm", "web"], 310, True) == (
        said["order"], said["makespan_s"], said["proved_optimal"],
    )  # fmt: skip
    assert {"extract": 2, "clean": 1, "load": 1} == said["stage_slots"]
    assert {"started_at_s": 0, "finished_at_s": 140} == said["stages"]["web/extract"]
    found = package.order("chains.yaml", stage_slots=1)
    assert ("crm", "web") == found.order
    assert 20 + 240 + 90 + 80 == found.makespan_s
    assert ["crm", "web"] == [row["job"] for row in found.rows()]


@pytest.mark.parametrize(
    ("slots", "words", "refusal"),
    [
        ("extract=2", (), "stage 'clean' of chains.yaml has no slots. Add clean=1"),
        ("1x", (), "'1x' is not a whole number"),
        ("a=1,extract=2,clean=1,load=1", (), "no job has a stage 'a'. Take one of extract, clean"),
        ("=2", (), "is not a number of slots"),
        ("1", ("--method", "mk-jr"), "'mk-jr' is not for --stage-slots"),
        ("1", ("--objective", "tct"), "take makespan"),
        ("1", ("--map-slots", "2"), "--stage-slots says the slots of all stages"),
    ],
)
def test_slots_of_stages_that_are_not_right_are_refused(example, slots, words, refusal):
    Path("chains.yaml").write_text(CHAINS)
    answer = sluice("order", "chains.yaml", "--stage-slots", slots, *words)

    assert (2, "") == (answer.code, answer.out)
    assert refusal.lower() in answer.err.lower()


CHAIN = "{name: x, tasks: 1, avg_s: 1}, {name: y, tasks: 1, avg_s: 1}"
TURNED = "{name: y, tasks: 1, avg_s: 1}, {name: x, tasks: 1, avg_s: 1}"
BOTH_AT_ONCE = "{name: x, tasks: 1, avg_s: 1}, {name: y, tasks: 1, avg_s: 1, after: []}"


@pytest.mark.parametrize(
    ("jobs", "refusal"),
    [
        (f"{{id: a, phases: [{CHAIN}]}}, {{id: b, phases: [{TURNED}]}}", "different orders"),
        (f"{{id: a, phases: [{CHAIN}]}}, {{id: b, after: [a], phases: [{CHAIN}]}}", "it waits"),
        (f"{{id: a, phases: [{BOTH_AT_ONCE}]}}", "the stages of a job are a chain"),
    ],
)
def test_jobs_that_are_not_chains_are_refused(jobs, refusal):
    given = package.parse_workload(f"{{version: 1, cluster: {{containers: 1}}, jobs: [{jobs}]}}")

    with pytest.raises(package.InvalidInput, match=refusal):
        package.order(given, stage_slots=1)
    with pytest.raises(package.InvalidInput, match="at least 1"):
        package.order(given, stage_slots=0)
