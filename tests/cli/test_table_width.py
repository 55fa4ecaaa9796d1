"""Tables at 80 columns and in a pipe: names are never broken, and a pipe cuts nothing."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.cli.terminal import PLAIN, sluice, sluice_process
from tests.estimate.made_runs import MachineModel, draws, settings

from sluice.store.profiles import Profiles

NAME = "nightly-warehouse-load-of-the-orders"  # 36 letters
LONG = "/".join(["com", *(["example"] * 12), "Main$anonymous-stage-17"])
PHASES = {"maps": {"tasks": 4, "avg_s": 4000}, "reduces": {"tasks": 2, "avg_s": 3000}}
CLASS = {"penalty_usd": 30.0, "jobs_min": 1, "jobs_max": 9, "vms_per_job": 2}


@pytest.fixture
def workload(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [NAME, f"{NAME}-2", LONG]
    jobs = [{"id": name, "pool": f"pool of {name}", "deadline_s": 9, **PHASES} for name in names]
    plans = [{"id": name, **PHASES} for name in names]
    common = {"version": 1, "prices": {"vm_hour_usd": 1.0}}
    documents = {
        "jobs": common | {"cluster": {"map_slots": 4, "reduce_slots": 2}, "jobs": jobs},
        "plan": common
        | {"cluster": {"map_slots_per_vm": 2, "reduce_slots_per_vm": 2}, "jobs": plans},
        "classes": {
            "version": 1,
            "prices": {"on_demand_vm_usd": 20, "reserved_vm_usd": 8, "reserved_vms": 9},
            "classes": [{"id": name, **CLASS} for name in names],
        },
    }
    for name, document in documents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return tmp_path


def history():
    here, rng = settings(slots=(1, 2), sizes_mb=(40,)), draws(1)
    with Profiles.open() as profiles:
        for name in (NAME, LONG):
            profiles.add(MachineModel(noise=0.1).runs(here, rng, profile=name))


COMMANDS = [
    ["simulate", "jobs.json"],
    ["plan", "plan.json", "--choose", "1", "--out", "chosen.json"],
    ["capacity", "classes.json"],
    ["order", "jobs.json", "--method", "input"],
    ["profiles"],
    ["calibrate"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_names_are_whole_at_80_columns(words, workload):
    history()
    answer = sluice(*words)

    assert 0 == answer.code, answer.err
    assert max(map(len, answer.out.splitlines())) <= 80
    assert re.search(rf"^ *(1  )?{NAME}( |$)", answer.out, re.MULTILINE), answer.out
    assert LONG not in answer.out
    assert re.search(r"^ *(3  )?com/.*….*17( |$)", answer.out, re.MULTILINE), answer.out


ALIKE = [f"load-of-all-orders-of-the-warehouse-{of}-by-customer-and-product" for of in ("eu", "us")]


@pytest.mark.parametrize(
    ("words", "width"),
    [(["simulate"], "80"), (["simulate", "--tasks", "fair"], "200"), (["order"], "80")],
)
def test_long_names_that_differ_in_the_middle_are_kept_apart(words, width, workload, monkeypatch):
    """The names of a column are shortened together, those of jobs and those of pools."""
    monkeypatch.setitem(PLAIN, "COLUMNS", width)
    jobs = [{"id": name, "pool": f"{name} pool", **PHASES} for name in ALIKE]
    cluster = {"map_slots": 4, "reduce_slots": 2}
    Path("alike.json").write_text(json.dumps({"version": 1, "cluster": cluster, "jobs": jobs}))
    answer = sluice(words[0], "alike.json", *words[1:])

    assert 0 == answer.code, answer.err
    names = re.findall(r"\S*(?:eu|us)-\S*", answer.out)
    assert len(set(names)) >= 2, answer.out
    assert max(map(len, answer.out.splitlines())) <= int(width)


@pytest.mark.parametrize("columns", ["0", "1", "2", "-5", "x", "40"])
def test_no_width_is_too_small_for_a_table(columns, workload, monkeypatch):
    monkeypatch.setitem(PLAIN, "COLUMNS", columns)
    answer = sluice("simulate", "jobs.json")

    assert 0 == answer.code, answer.err
    assert "job" in answer.out


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_pipe_cuts_nothing(words, workload, monkeypatch):
    history()
    monkeypatch.delenv("COLUMNS", raising=False)
    answer = sluice_process(*words, unset=["COLUMNS"])

    assert 0 == answer.code, answer.err
    assert re.search(rf"^ *(3  )?{re.escape(LONG)}( |$)", answer.out, re.MULTILINE), answer.out
    assert "…" not in answer.out


@pytest.mark.parametrize(
    "words",
    [
        ["settings"],
        ["explain", "tests/data/logs/spark/nds_q72_dataproc_2_2.zstd"],
        ["size", "examples/deadlines.yaml", "--nodes-max", "4"],
        ["compare", "examples/two_pools.yaml", "--schedulers", "all", "--seeds", "1"],
        ["order", "examples/worked_example.yaml"],
        ["reproduce"],
        ["reproduce", "cura", "--experiment", "pair-costs"],
        ["advise", "examples/two_pools.yaml", "--seconds", "1"],
    ],
    ids=" ".join,
)
def test_answers_in_a_pipe_are_at_most_100_columns_wide(words, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    answer = sluice_process(*words, unset=["COLUMNS"])

    assert answer.code in {0, 1}, answer.err
    assert max(map(len, answer.out.splitlines())) <= 100


@pytest.mark.parametrize(
    "words",
    [
        ["story", "etl-3", "--tasks", "yarn-like", "--admission", "capacity"],
        ["story", "etl-3/map/0"],
        ["why", "etl-3", "--tasks", "yarn-like", "--admission", "capacity"],
        ["why", "etl-3", "--tasks", "yarn-like", "--admission", "capacity", "--at-s", "20"],
    ],
    ids=" ".join,
)
def test_sentences_are_broken_in_a_pipe(words, monkeypatch):
    """Texts of several words have no reason to be wider than the tables around them."""
    monkeypatch.chdir(Path(__file__).parents[2])
    answer = sluice_process(*words, "--file", "examples/deadlines.yaml", unset=["COLUMNS"])

    assert 0 == answer.code, answer.err
    assert max(map(len, answer.out.splitlines())) <= 100


def test_a_terminal_without_wide_letters_keeps_tables_aligned(tmp_path):
    """A letter of two columns becomes two question marks, one that combines none."""
    names = ["\N{ROCKET} up", "漢字", "e\N{COMBINING ACUTE ACCENT}te", "plain"]
    jobs = [{"id": name, "maps": {"tasks": 1, "avg_s": 1}} for name in names]
    document = {"version": 1, "cluster": {"map_slots": 1, "reduce_slots": 1}, "jobs": jobs}
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps(document))
    answer = sluice_process("simulate", str(file), env={"PYTHONIOENCODING": "ascii"})

    assert 0 == answer.code, answer.err
    rows = [line for line in answer.out.partition("+- run")[0].splitlines() if line[:1] == "|"]
    assert 2 + len(names) == len(rows)
    assert 1 == len({len(row) for row in rows}), answer.out


def test_a_hint_can_be_pasted_from_a_terminal_without_the_letters_of_an_id(tmp_path):
    job = {"id": "caf\u00e9", "maps": {"tasks": 1, "avg_s": 9}, "deadline_s": 1}
    document = {"version": 1, "cluster": {"map_slots": 1, "reduce_slots": 1}, "jobs": [job]}
    (tmp_path / "late.json").write_text(json.dumps(document))
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    answer = sluice_process("simulate", str(tmp_path / "late.json"), env=ascii_only)
    command = answer.err.splitlines()[-1].partition("To see why: sluice ")[2]
    read = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {command}"], capture_output=True, check=True
    )

    assert "caf\u00e9" == read.stdout.decode().splitlines()[-1]
    assert command.endswith(r"$'caf\303\251'")


def test_a_name_in_a_group_that_is_too_wide_has_a_line_of_its_own(workload):
    long = "order=ltrf+goals=guarded[goals.guard=0.4]+slots=lent+copies=late"
    words = ["compare", "jobs.json", "--schedulers", f"fair, {long}", "--seeds", "1"]
    out = sluice(*words).out
    lines = out[out.index("pool, scheduler") :].splitlines()
    group, first, _, second, _, other = lines[3:9]
    assert [group[:7], first, second[:12], other[:7]] == [
        "pool of",
        "  fair",
        "  order=ltrf",
        "pool of",
    ]
    assert "" not in lines[:12]
