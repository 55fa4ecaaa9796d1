"""Functions that are given to `sluice.run` without a file of their own."""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sluice
from sluice.model.errors import InvalidInput

SCRIPT = """
import helper
import sluice

AMOUNT = 3

def mapper(line):
    for word in line.split():
        yield helper.shout(word), AMOUNT

def total(key, amounts):
    yield key, sum(amounts)

if __name__ == "__main__":
    print(*sluice.run(mapper, total, "data/*").lines(), sep="\\n")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    for number in (1, 2):
        (data / f"{number}.txt").write_text("a b\nb c\n")
    return tmp_path


def test_a_script_runs_its_own_functions(folder):
    (folder / "helper.py").write_text("def shout(word):\n    return word.upper()\n")
    (folder / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.splitlines(), done.returncode) == (["A\t6", "B\t12", "C\t6"], 0), (
        done.stderr
    )


def test_a_temporary_output_goes_when_its_process_ends(folder):
    (folder / "helper.py").write_text("def shout(word):\n    return word.upper()\n")
    of_a_child = (
        "\n    import os; os.fork() or sys.exit(); os.wait()\n    print(len(list(result.lines())))"
    )
    script = SCRIPT.replace("print(*sluice", "result = (sluice").replace('.lines(), sep="\\n"', "")
    (folder / "script.py").write_text("import sys" + script + of_a_child)
    place = folder / "temporary"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "script.py"],
        env={**os.environ, "TMPDIR": str(place)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ("3\n", "") == (done.stdout, done.stderr)
    assert [] == list(place.iterdir())


def test_a_lambda_with_what_it_closes_over(folder):
    extra = {"a b": 7}
    result = sluice.run(lambda line: [(line, extra.get(line, 0))], None, ["data/1.txt"])
    assert ["a b\t7", "b c\t0"] == list(result.lines())


def test_the_output_has_its_folder_and_its_parts(folder):
    result = sluice.run(_words, _total, "data/*", output="out", combiner=_total, part_files=2)
    assert {"_words": str(folder / "out")} == result.extra["outputs"]
    assert ["part-00000", "part-00001"] == sorted(one.name for one in folder.glob("out/part-*"))
    assert ["a\t2", "b\t4", "c\t2"] == sorted(result.lines())


def test_a_document_runs_as_its_file_would(folder):
    job = {"id": "copy", "run": {"input": ["data"], "output": "copied", "mapper": "cat"}}
    result = sluice.run({"version": 1, "jobs": [job]})
    assert ["a b", "b c", "a b", "b c"] == list(result.lines("copy"))
    with pytest.raises(InvalidInput, match="one of: copy"):
        next(result.lines("other"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((lambda _: [], None), "no input is given"),
        ((lambda _: [], None, "absent/*"), "matches no file"),
        (("jobs.yaml", sum), "it is for a job of functions"),
    ],
)
def test_what_cannot_run_is_refused_and_leaves_nothing(folder, monkeypatch, arguments, message):
    place = folder / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with pytest.raises(InvalidInput, match=message):
        sluice.run(*arguments)
    assert [] == list(place.iterdir())


def test_what_cannot_be_sent_to_a_task_is_refused(folder):
    lock = threading.Lock()
    with pytest.raises(InvalidInput, match="cannot be sent to the tasks"):
        sluice.run(lambda line: [(line, lock)], None, "data/*")
    with pytest.raises(InvalidInput, match="no name by which"):
        sluice.run(_words, _total, "data/*", resume=True)


def test_many_runs_in_one_process_keep_its_size(folder):
    _run_again_and_again("warm", 4)
    before_bytes = _resident_bytes()
    _run_again_and_again("counted", 8)
    # Half a megabyte a run while garbage was frozen with what the caller had frozen.
    assert _resident_bytes() - before_bytes < 8 * 150 * 2**10


def _run_again_and_again(name, times):
    for run in range(times):
        sluice.run(_words, _total, "data/*", output=f"{name}-{run}")


def _resident_bytes():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _words(line):
    for word in line.split():
        yield word, 1


def _total(key, amounts):
    yield key, sum(amounts)
