"""From a job table and a price list to a plan: the commands that the documents offer."""

import json

import pytest
from tests.cli.terminal import sluice

JOBS = """Job Name,n_tasks,Duration (min),vCPUs,Mem GB,Deadline h
etl,40,2,1,2,1
ads,8,0.5,2,4,
report,1,12,1,1,2
"""
VMS = """Instance type,vCPU,Memory (GiB),Price per hour
small,2,8,0.10
large,16,64,0.75
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "vms.csv").write_text(VMS)
    monkeypatch.chdir(tmp_path)


def test_a_table_and_prices_give_a_sentence_and_a_table():
    answer = sluice("plan", "jobs.csv", "--prices", "vms.csv")

    assert answer.code == 0
    assert answer.out.startswith("Plan 1 ends in 12 m 00 s for $0.16 on 3 VMs")
    assert "large, on-demand" in answer.out
    assert "seconds=Duration (min) x 60" in answer.err
    assert all(len(line) <= 80 for line in answer.out.splitlines())
    document = json.loads(sluice("plan", "jobs.csv", "--prices", "vms.csv", "--json").out)
    assert [plan["misses"] for plan in document["plans"]] == [[], [], ["etl"]]


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "jobs.csv", "--tasks", "fair", "--containers", "10"),
        ("compare", "jobs.csv", "--schedulers", "fifo,fair", "--seeds", "1"),
        ("size", "jobs.csv", "--deadline-s", "7200"),
        ("validate", "jobs.csv"),
        ("why", "etl", "--file", "jobs.csv", "--at-s", "10"),
    ],
)
def test_every_planning_command_takes_a_table(words):
    answer = sluice(*words)

    assert answer.code == 0, answer.err
    assert "name=Job Name, tasks=n_tasks" in answer.err


def test_a_table_becomes_a_workload_file_that_says_the_same():
    assert sluice("init", "w.yaml", "--from-table", "jobs.csv", "--containers", "10").code == 0

    of_file, of_table = (
        json.loads(sluice("simulate", *words, "--json").out)
        for words in (("w.yaml",), ("jobs.csv", "--containers", "10"))
    )
    assert of_file["digest"] == of_table["digest"]
    assert sluice("init", "w.yaml", "--from-table", "jobs.csv").code == 2


def test_standard_input_is_a_table_too():
    assert sluice("simulate", "-", "--json", stdin=JOBS.encode()).code == 0


def test_a_wrong_table_is_one_message():
    answer = sluice("plan", "jobs.csv", "--prices", "vms.csv", "--map", "tasks=count")

    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "jobs.csv has no column 'count'. Use one of Job Name, n_tasks" in answer.err


def test_a_table_from_a_pipe_takes_the_options_of_tables():
    rows = b"who,count,minutes\netl,40,2\nads,8,1\n"
    words = ("simulate", "-", "--map", "name=who", "--map", "tasks=count", "--containers", "20")

    answer = sluice(*words, "--json", stdin=rows)

    assert answer.code == 0
    document = json.loads(answer.out)
    assert document["makespan_s"] == 300
    assert "name=who, tasks=count" in document["notes"][0]
    refused = sluice("simulate", "-", "--map", "name=who", stdin=b"version: 1\njobs: []\n")
    assert refused.code == 2
    assert "--map: it is for tables" in refused.err
