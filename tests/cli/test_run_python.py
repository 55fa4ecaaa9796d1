"""`sluice run FILE.py INPUT.. --output OUT`: a job without a workload file; and `--overwrite`."""

import fcntl
import json
import os
import shutil

import pytest
from tests.cli.terminal import sluice

from sluice.bootstrap.live import live_run
from sluice.engines.interruption import RunInterrupted

WORDS = """\
class Words:
    def mapper(self, line):
        for word in line.split():
            yield word, 1

    def reducer(self, key, values):
        yield key, sum(values)


class Broken(Words):
    def mapper(self, line):
        raise ValueError("no good")
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    (work / "text").mkdir(parents=True)
    (work / "text" / "a.txt").write_text("to be or not to be\n")
    (work / "text" / "b.txt").write_text("be\n")
    (work / "words.py").write_text(WORDS)
    monkeypatch.chdir(work)
    return work


def counts(folder):
    lines = [
        line for part in sorted(folder.glob("part-*")) for line in part.read_text().split("\n")
    ]
    return {line.split("\t")[0]: int(line.split("\t")[1]) for line in lines if line}


def test_python_code_runs_without_a_workload_file(place):
    answer = sluice(
        "run", "words.py:Words", "text/a.txt", "text/b.txt", "--output", "out", "--json"
    )

    assert (answer.code, list(json.loads(answer.out)["jobs"])) == (0, ["Words"])
    assert counts(place / "out") == {"to": 2, "be": 3, "or": 1, "not": 1}


def test_an_output_is_replaced_only_if_asked_and_only_by_success(place):
    words = ("run", "words.py:Words", "--output", "out")
    assert sluice(*words, "text").code == 0
    again = sluice(*words, "text/b.txt")
    assert (again.code, "--overwrite" in again.err) == (2, True)

    assert sluice(*words, "text/b.txt", "--overwrite", "--part-files", "2").code == 0
    assert counts(place / "out") == {"be": 1}
    assert len(list((place / "out").glob("part-*"))) == 2

    refused = sluice(*words, "nothing.txt", "--overwrite")
    broken = sluice("run", "words.py:Broken", "text", "--output", "out", "--overwrite")
    assert (refused.code, broken.code) == (2, 1), broken.err
    assert counts(place / "out") == {"be": 1}
    assert sorted(path.name for path in place.iterdir() if "out" in path.name) == ["out"]


def test_a_folder_that_no_job_wrote_is_not_replaced(place):
    (place / "mine").mkdir()
    (place / "mine" / "letter").write_text("dear")
    answer = sluice("run", "words.py:Words", "text", "--output", "mine", "--overwrite")

    assert (answer.code, "_SUCCESS" in answer.err) == (2, True)
    assert (place / "mine" / "letter").read_text() == "dear"


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["words.py:Words", "--output", "out"], ["words.py:Words", "input"]),
        (["words.py:Words", "text"], ["--output"]),
        (["jobs.yaml", "text"], ["INPUT", "workload file"]),
        (["jobs.yaml", "--part-files", "2"], ["--part-files", "workload file"]),
        (["gone.py", "text", "--output", "out"], ["gone.py", "no file"]),
        (["words.py", "text", "--output", "o", "--overwrite", "--resume"], ["--overwrite"]),
    ],
)  # fmt: skip
def test_what_is_missing_or_does_not_fit_is_refused(place, words, fragments):
    answer = sluice("run", *words)

    assert (answer.code, answer.out) == (2, "")
    assert all(fragment in answer.err for fragment in fragments), answer.err
    assert not (place / "out").exists()


# --- what a crash leaves of a replaced output -----------------------------------------------------

FILE = """\
version: 1
jobs:
  - {id: words, reduces: {tasks: 1}, run: {input: [text], output: out, python: "words.py:Words"}}
"""
RUN = ("run", "jobs.yaml")


def stop_after_beginning(monkeypatch):
    """The next run begins, and is interrupted before its first task."""

    def interrupted(setup):
        setup.journal.close()
        raise RunInterrupted("stopped by the test")

    monkeypatch.setattr(live_run.LiveSetup, "run", interrupted)


def asides(place):
    return sorted(path.name for path in place.iterdir() if path.name.startswith(".out.old-"))


@pytest.fixture
def replaced(place, monkeypatch):
    """An output of 7 words, which an interrupted run was to replace by one of 1 word."""
    (place / "jobs.yaml").write_text(FILE)
    assert sluice(*RUN).code == 0
    (place / "text" / "a.txt").unlink()
    with monkeypatch.context() as patch:
        stop_after_beginning(patch)
        assert sluice(*RUN, "--overwrite").code == 130
    assert len(asides(place)) == 1
    assert not (place / "out").exists()
    return place


def test_an_interrupted_replacement_is_completed_by_resume(replaced):
    answer = sluice(*RUN, "--resume")

    assert answer.code == 0, answer.err
    assert (counts(replaced / "out"), asides(replaced)) == ({"be": 1}, [])


def test_a_new_run_puts_the_old_output_back_first(replaced):
    refused = sluice(*RUN)

    assert (refused.code, asides(replaced)) == (2, [])
    assert counts(replaced / "out")["be"] == 3
    assert sluice(*RUN, "--overwrite").code == 0
    assert (counts(replaced / "out"), asides(replaced)) == ({"be": 1}, [])


def test_the_old_output_is_needed_until_its_run_is_removed(replaced):
    kept = json.loads(sluice("runs", "clean", "--json").out)
    assert (kept["leftovers"], len(asides(replaced))) == ([], 1)

    assert sluice("runs", "clean", "run-000002").code == 0
    assert (counts(replaced / "out")["be"], asides(replaced)) == (3, [])


def test_clean_removes_an_old_output_that_was_replaced(replaced):
    """As if the process had died between the commit and the removal."""
    aside = replaced / asides(replaced)[0]
    assert sluice(*RUN, "--resume").code == 0
    shutil.copytree(replaced / "out", aside)
    half = replaced / f"{aside.name}.removed"
    half.mkdir()
    others = [replaced / ".out.old-letters", replaced / ".out.old-0badcafe"]
    for other in others:
        other.mkdir()
    (leftover, *_) = listed = json.loads(sluice("runs", "list", "--json").out)["leftovers"]
    assert {one["path"] for one in listed} == {str(aside), str(half)}
    assert leftover["kind"] == "replaced output"

    assert sluice("runs", "clean").code == 0
    assert asides(replaced) == sorted(other.name for other in others), "nothing else is touched"
    assert counts(replaced / "out") == {"be": 1}


def test_an_output_that_is_being_replaced_is_no_leftover(replaced):
    (place,) = (replaced / name for name in asides(replaced))
    lock = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        again = sluice(*RUN, "--overwrite")
        assert (again.code, asides(replaced)) == (0, [place.name])
        assert json.loads(sluice("runs", "list", "--json").out)["leftovers"] == []
    finally:
        os.close(lock)


def test_an_output_may_be_named_for_its_run(place, monkeypatch):
    """Also when the run is resumed, and in all that is printed of it."""
    (place / "jobs.yaml").write_text(FILE.replace("output: out", "output: 'out/{run_id}'"))
    for number in (1, 2):
        found = json.loads(sluice(*RUN, "--json").out)
        output = place / "out" / found["run_id"]
        assert found["outputs"] == {"words": str(output)}
        assert found["run_id"].startswith(f"run-00000{number}-")
        assert counts(output)["be"] == 3
    with monkeypatch.context() as patch:
        stop_after_beginning(patch)
        assert sluice(*RUN).code == 130
    resumed = json.loads(sluice(*RUN, "--resume", "--json").out)
    shown = json.loads(sluice("runs", "show", resumed["run_id"], "--json").out)

    assert resumed["outputs"] == {"words": str(place / "out" / resumed["run_id"])}
    assert shown["runs"][0]["jobs_by_id"]["words"]["output"] == resumed["outputs"]["words"]
    assert len(list((place / "out").iterdir())) == 3


def test_what_a_run_measured_is_simulated_and_compared(place):
    """The same file goes to `run`, then to `simulate`: nothing has to be copied."""
    (place / "jobs.yaml").write_text(
        FILE.replace("output: out", "output: 'out/{run_id}'")
        + "cluster: {nodes: 2, node: {map_slots: 1, reduce_slots: 1}}\n"
    )
    before = sluice("simulate", "jobs.yaml")
    assert (before.code, "sluice run" in before.err) == (2, True)
    assert sluice(*RUN).code == 0

    answer = sluice("simulate", "jobs.yaml", "--json")
    assert answer.code == 0, answer.err
    job = json.loads(answer.out)["jobs"]["words"]
    assert job["tasks"] == 3
    assert job["finished_at_s"] == pytest.approx(job["predicted_s"], rel=1e-6)
    compared = sluice("compare", "jobs.yaml", "--schedulers", "fifo,fair", "--seeds", "1", "--json")
    for row in json.loads(compared.out)["rows"]:
        assert row["makespan_s"] == pytest.approx(job["finished_at_s"], rel=0.01)


def test_a_job_with_lengths_of_its_own_is_simulated_without_its_input(place):
    text = FILE.replace("reduces: {tasks: 1}", "maps: {tasks: 2, avg_s: 5}").replace(
        "text]", "not/there/*]"
    )
    (place / "jobs.yaml").write_text(text + "cluster: {map_slots: 1}\n")

    assert json.loads(sluice("simulate", "jobs.yaml", "--json").out)["makespan_s"] == 10


def test_files_that_are_named_like_modules_of_python_are_left_alone(place):
    """A folder of data may hold types.py or json.py: no process of ours imports them."""
    for name in ("types", "json", "random", "socket", "selectors", "numpy"):
        (place / f"{name}.py").write_text("raise SystemExit('the user's own module was imported')")
    (place / "jobs.yaml").write_text(
        FILE + "cluster: {nodes: 2, node: {map_slots: 1, reduce_slots: 1}}\n"
    )
    assert sluice(*RUN).code == 0
    compared = sluice("compare", "jobs.yaml", "--schedulers", "fifo,fair", "--seeds", "20")
    assert compared.code == 0, compared.err
