"""`sluice run FILE.py INPUT.. --output OUT`: a job without a workload file; and `--overwrite`."""

import json

import pytest
from tests.cli.terminal import sluice

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
