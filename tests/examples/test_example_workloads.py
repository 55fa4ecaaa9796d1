"""The workload files in examples/ are valid, and do what their heads say."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from examples.jobs.word_count import NAME
from tests.skips import required

import sluice

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))


@pytest.fixture
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))


def test_all_examples_are_looked_at():
    names = {
        "budget", "deadlines", "gangs", "goals", "members", "members_drf", "nightly", "resources",
        "standard_library", "tenants", "two_graphs", "two_pools", "vm-hasty",
        "vm-jobs", "vm-pools", "vm-power", "vm-requests", "word_graph", "wordcount",
        "worked_example", "workflow",
    }  # fmt: skip

    assert names == {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_valid(path):
    workload = sluice.validate(path)

    assert workload.jobs or workload.members


def test_the_worked_example_takes_44_s_and_40_s_in_the_better_order():
    """Source: ordering spec, worked example A and G1."""
    workload = sluice.load_workload(str(EXAMPLES / "worked_example.yaml"))
    jobs = {str(job.job_id): job for job in workload.jobs}
    better = type(workload)(
        cluster=workload.cluster, jobs=tuple(jobs[name] for name in ("J2", "J3", "J4", "J1"))
    )

    assert (44, 40) == (sluice.simulate(workload).makespan_s, sluice.simulate(better).makespan_s)


def test_in_two_pools_fair_saves_the_analysts():
    """Both questions are late behind the nightly jobs, and neither is with a pool of its own."""
    path = EXAMPLES / "two_pools.yaml"

    assert (0, 2) == tuple(sluice.simulate(path, tasks=t).deadlines_met for t in ("fifo", "fair"))


@pytest.mark.usefixtures("_own_home")
@pytest.mark.no_invariants
def test_the_word_count_counts(tmp_path):
    """Run in a copy of the checkout's folders, for its output must not exist."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    shutil.copy(EXAMPLES.parent / "LICENSE", tmp_path)

    assert counted(tmp_path, "wordcount.yaml") == expected(tmp_path / "LICENSE")


@pytest.mark.usefixtures("_own_home")
@pytest.mark.no_invariants
def test_the_mrjob_word_count_counts_the_same(tmp_path):
    required("mrjob")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    shutil.copy(EXAMPLES.parent / "LICENSE", tmp_path)
    path = tmp_path / "examples" / "wordcount.yaml"
    path.write_text(path.read_text().replace("word_count.py", "word_count_mrjob.py:WordCount"))

    found = counted(tmp_path, "wordcount.yaml")

    assert expected(tmp_path / "LICENSE") == {name.strip('"'): n for name, n in found.items()}


@pytest.mark.usefixtures("_own_home")
@pytest.mark.no_invariants
def test_the_word_graph_lists_the_names_that_both_texts_have(tmp_path):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    shutil.copy(EXAMPLES.parent / "LICENSE", tmp_path)

    result = sluice.run(tmp_path / "examples" / "word_graph.yaml")

    assert {"done": 1} == result.states
    code = sorted((tmp_path / "examples" / "jobs").glob("*.py"))
    counts = [
        Counter(NAME.findall("".join(path.read_text() for path in paths)))
        for paths in ([tmp_path / "LICENSE"], code)
    ]
    wanted: dict[int, list[str]] = {}
    for name in sorted(counts[0].keys() & counts[1].keys()):
        wanted.setdefault(min(one[name] for one in counts), []).append(name)
    lines = (tmp_path / "build" / "word-graph" / "part-00000").read_text().splitlines()
    found = dict(line.split("\t") for line in lines)
    assert {str(count): " ".join(names) for count, names in wanted.items()} == found


def counted(folder, name):
    result = sluice.run(folder / "examples" / name)
    assert {"done": 1} == result.states
    lines = (folder / "build" / "wordcount" / "part-00000").read_text().splitlines()
    return {word: int(times) for word, times in (line.split("\t") for line in lines)}


def expected(path):
    return dict(Counter(NAME.findall(path.read_text())))
