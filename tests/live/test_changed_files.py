"""Input files and code that change during a run, or between a kill and `--resume`."""

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest
from tests.effort import first_of
from tests.live.changing_files import (
    ChangingFiles,
    Kept,
    edit,
    overwrite,
    remove,
    replace,
    touch,
    truncate,
)
from tests.live.command_line import awaited

# Every kind of change is tested in tests/engines/test_work_fingerprints.py.
pytestmark = pytest.mark.slow
SIZE = "its size changed from 6 to 4 bytes"
INPUT_CHANGES = [
    (truncate, 0, SIZE),
    (replace, 2, "it was replaced by another file"),
    (remove, 0, "it is gone"),
    (touch, 2, "it was modified"),
]
CODE_CHANGES = [
    ("commands", "patient.sh", remove, "it is gone"),
    ("python", "waiting.py", edit, "its size changed"),
    ("commands", "patient.sh", edit, "its size changed"),
]
READ_CHANGES = [
    ("commands", truncate, SIZE),
    ("python", overwrite, "it was modified"),
    ("commands", remove, "it is gone"),
    ("python", replace, "it was replaced by another file"),
]


@pytest.fixture
def place(tmp_path):
    place = ChangingFiles(tmp_path)
    yield place
    place.end()


def test_the_figures_of_this_file_are_right(place):
    """An untouched run, to compare with."""
    place.lay_out("one\n", "wait\n", "three\n")
    place.killed(maps_done=2)
    place.let_go()

    assert place.run("--resume")[0] == 0
    assert place.lines("out") == [b"one", b"wait", b"three"]


@pytest.mark.parametrize(("change", "number", "what"), first_of(INPUT_CHANGES, 2))
def test_a_resume_with_a_changed_input_is_refused_until_it_is_restored(place, change, what, number):
    """Also for a file whose map is done already. Nothing runs before the refusal."""
    place.lay_out("three\n", "wait\n", "third\n")
    path = place.folder / "in" / f"file-{number}"
    place.killed(maps_done=2)
    kept = Kept(path)
    change(path)
    place.let_go()
    code, answer, complained = place.run("--resume")

    assert (code, answer) == (2, "")
    assert repr(str(path)) in complained
    assert what in complained
    assert "without --resume" in complained
    assert "Traceback" not in complained
    assert not (place.folder / "out").exists()

    kept.restore()
    assert place.run("--resume")[0] == 0
    assert place.lines("out") == [b"three", b"wait", b"third"]


@pytest.mark.parametrize(("how", "name", "change", "what"), first_of(CODE_CHANGES, 2))
def test_a_resume_with_changed_code_is_refused_until_it_is_restored(place, how, name, change, what):
    place.lay_out("one\n", "wait\n", "three\n", how=how)
    place.killed(maps_done=2)
    path = place.folder / name
    kept = Kept(path)
    change(path)
    place.let_go()
    code, answer, complained = place.run("--resume")

    assert (code, answer) == (2, "")
    assert repr(str(path)) in complained
    assert what in complained

    kept.restore()
    touch(path)  # the content of code counts, not its time
    assert place.run("--resume")[0] == 0
    assert place.lines("out") == [b"one", b"wait", b"three"]


def test_several_changed_files_are_counted(place):
    place.lay_out("one\n", "wait\n", "three\n")
    place.killed(maps_done=2)
    for number in range(3):
        touch(place.folder / "in" / f"file-{number}")
    code, _, complained = place.run("--resume")

    assert code == 2
    assert "file-0" in complained
    assert "2 more files have changed" in complained


def test_a_finished_run_is_reported_even_if_its_input_is_gone(place):
    place.lay_out("one\n")
    assert place.run()[0] == 0
    remove(place.folder / "in" / "file-0")

    assert place.document("--resume")[1]["was_finished"]


def test_a_file_that_is_added_to_an_input_folder_is_not_part_of_the_run(place):
    place.lay_out("one\n", "wait\n")
    place.killed(maps_done=1)
    (place.folder / "in" / "file-2").write_text("new\n")
    place.let_go()

    assert place.run("--resume")[0] == 0
    assert place.lines("out") == [b"one", b"wait"]


@pytest.mark.parametrize(("how", "change", "what"), first_of(READ_CHANGES, 2))
def test_an_input_that_changes_before_it_is_read_fails_the_job_at_once(place, how, change, what):
    """One attempt, a reason that names the file, and no output."""
    place.lay_out("wait\n", "three\n", how=how, map_slots=1)
    process = place.waiting(maps_done=0)
    path = place.folder / "in" / "file-1"
    change(path)
    place.let_go()

    check_failed(place, process, path, what)


@pytest.mark.parametrize(("how", "change"), [("commands", truncate), ("python", overwrite)])
def test_an_input_that_changes_while_it_is_read_fails_the_job_at_once(place, how, change):
    """The file is larger than the pipes and blocks between the reader and the user's code."""
    place.lay_out("wait\n" + "through\n" * 500_000, how=how)
    process = place.waiting(maps_done=0)
    path = place.folder / "in" / "file-0"
    change(path)
    place.let_go()

    check_failed(place, process, path, "changed")


def test_a_script_that_changes_during_a_run_is_not_started_again(place):
    place.lay_out("wait\n", "three\n", map_slots=1)
    process = place.waiting(maps_done=0)
    edit(place.folder / "patient.sh")
    place.let_go()

    check_failed(place, process, place.folder / "patient.sh", "its size changed")


@pytest.mark.parametrize("name", ["patient.py", "waiting.py"])
def test_a_module_that_changes_during_a_run_is_not_loaded_by_a_later_interpreter(place, name):
    """The interpreter that has the first version is killed; its attempt goes on."""
    place.lay_out("wait\n", "three\n", how="python", map_slots=1)
    process = place.waiting(maps_done=0)
    edit(place.folder / name)
    (host,) = hosts(place)
    os.kill(host, signal.SIGKILL)
    place.let_go()

    check_failed(place, process, place.folder / name, "its size changed")


def test_a_module_that_is_loaded_already_may_be_edited(place):
    """All attempts are forked from the interpreter that has the first version."""
    place.lay_out("wait\n", "three\n", how="python", map_slots=1)
    process = place.waiting(maps_done=0)
    edit(place.folder / "patient.py")
    place.let_go()
    process.communicate()

    assert process.returncode == 0
    assert place.lines("out") == [b"wait", b"three"]


def hosts(place):
    """Interpreters that have loaded the module of a job; their attempts write to other logs."""
    found = []
    for pid in place.processes():
        with contextlib.suppress(OSError):
            log = Path(f"/proc/{pid}/fd/2").readlink().name
            if "host" in log and "sluice-host" in Path(f"/proc/{pid}/comm").read_text():
                found.append(pid)
    return found


def check_failed(place, process, path, what):
    """The run failed without output and without a second attempt, and names the file."""
    answer, _ = process.communicate()
    job = json.loads(answer)["jobs"]["patient"]

    assert process.returncode == 1
    assert job["state"] == "failed"
    assert repr(str(path)) in job["reason"]
    assert what in job["reason"]
    assert json.loads(answer)["attempts"]["failed"] == 1
    assert not (place.folder / "out").exists()
    assert place.remains() == []


@pytest.mark.parametrize("how", first_of(["commands", "python", "combined"], 2))
def test_a_bit_that_flips_in_map_output_makes_the_map_run_again(place, how):
    """The reduce finds it, blames the map, and the result is right."""
    counts = {
        "commands": {"reducer": "uniq -c"},
        "combined": {"reducer": "uniq -c", "combiner": "cat"},
        "python": {"python": "count.py"},
    }
    (place.folder / "count.py").write_text(
        "import waiting\n\n"
        "def mapper(line):\n    waiting.wait(line)\n    yield line, 1\n\n"
        "def reducer(key, values):\n    yield key, sum(values)\n"
    )
    place.lay_out("one\ntwo\n" * 50, "wait\n", how=how, **counts[how])
    process = place.waiting(maps_done=1)
    (spill,) = awaited(lambda: list(place.home.glob("runs/*/scratch/*/data/*.spill")), "a spill")
    data = bytearray(spill.read_bytes())
    data[data.index(b"two") + 1] ^= 1
    spill.write_bytes(data)
    place.let_go()
    process.communicate()

    assert process.returncode == 0
    expected = [b"one\t50", b"two\t50", b"wait\t1"]
    if how != "python":
        expected = [b"     50 one", b"     50 two", b"      1 wait"]
    assert sorted(place.lines("out")) == sorted(expected)
    assert "checksum" in place.story("patient")


def test_a_newline_in_a_key_of_the_output_is_refused_and_named(place):
    place.lay_out("one\n", python="newline.py", how="python")
    (place.folder / "newline.py").write_text("def mapper(line):\n    yield line + '\\n2', 1\n")
    code, document = place.document()
    job = document["jobs"]["patient"]

    assert (code, job["state"]) == (1, "failed")
    assert r"map task 0 failed: the key 'one\n2' contains a newline" in job["reason"]
    assert "json.dumps(key)" in job["reason"]
    assert document["attempts"]["failed"] == 1
    assert not (place.folder / "out").exists()


def test_a_newline_in_a_key_between_map_and_reduce_is_kept(place):
    place.lay_out("one\n", "one\n", python="newline.py", how="python")
    (place.folder / "newline.py").write_text(
        "import json\n\n"
        "def mapper(line):\n    yield line + '\\n2', 'a\\nb'\n\n"
        "def reducer(key, values):\n    yield json.dumps(key), len(list(values))\n"
    )

    assert place.run()[0] == 0
    assert place.lines("out") == [rb'"one\n2"' + b"\t2"]
