"""Versions of input files and of code, and what counts as a change."""

import json
import os
from pathlib import Path

import pytest
from tests.engines.work_runs import attempt, job_in, place_in, run_tasks, write_input
from tests.live import changing_files as change

from sluice.engines.mapreduce import WorkFailed
from sluice.engines.mapreduce.errors import PermanentFailure
from sluice.engines.mapreduce.fingerprints import files_of_commands
from sluice.engines.mapreduce.layout import PreparedJob, begin_job, prepare

CAT = ("cat",)
KINDS = [
    (change.truncate, "its size changed from 6 to 4 bytes"),
    (change.append, "its size changed from 6 to 11 bytes"),
    (change.overwrite, "it was modified"),
    (change.replace, "it was replaced by another file"),
    (change.remove, "it is gone"),
    (change.touch, "it was modified"),
]


def resumed(prepared):
    """The prepared job as a later process reads it from the journal."""
    record = json.loads(json.dumps(prepared.to_json()))
    return PreparedJob.from_json(prepared.job, record)


@pytest.mark.parametrize(("harm", "what"), KINDS)
def test_a_changed_input_is_found_when_a_run_is_resumed(tmp_path, harm, what):
    write_input(tmp_path, "first\n", "three\n")
    prepared = prepare(job_in(tmp_path, mapper=CAT))
    path = tmp_path / "in" / "file-1"
    assert resumed(prepared).changes() == []

    harm(path)

    (found,) = resumed(prepared).changes()
    assert found == f"input {str(path)!r} has changed since the run started: {what}"


@pytest.mark.parametrize(("harm", "what"), KINDS)
def test_a_changed_input_is_found_when_its_split_is_opened(tmp_path, harm, what):
    """Also in a resumed run, and for every split of the file."""
    write_input(tmp_path, "three\n")
    prepared = prepare(job_in(tmp_path, mapper=CAT, split_bytes=3))
    begin_job(prepared)
    harm(tmp_path / "in" / "file-0")
    for job in (prepared, resumed(prepared)):
        for task in range(2):
            with pytest.raises(WorkFailed, match=what) as failure:
                attempt(job.work(0, task, {}), place_in(tmp_path, f"a{task}"))

            assert failure.value.blames == []


def test_an_empty_input_that_grows_is_found(tmp_path):
    """It has no split, but it is an input."""
    write_input(tmp_path, "x\n", "")
    prepared = prepare(job_in(tmp_path, mapper=CAT))
    change.append(tmp_path / "in" / "file-1")

    assert "file-1" in resumed(prepared).changes()[0]


def test_a_file_behind_a_link_is_followed(tmp_path):
    """A link that names another file by now is a change, and so is a change behind it."""
    (tmp_path / "one").write_text("one\n")
    (tmp_path / "two").write_text("two\n")
    (tmp_path / "in").symlink_to("one")
    prepared = prepare(job_in(tmp_path, mapper=CAT))
    (tmp_path / "in").unlink()
    (tmp_path / "in").symlink_to("two")

    assert "replaced" in resumed(prepared).changes()[0]


def test_a_run_of_an_older_version_has_no_fingerprints(tmp_path):
    """Its journal says nothing of them, so nothing is compared."""
    write_input(tmp_path, "x\n")
    prepared = prepare(job_in(tmp_path, mapper=CAT))
    record = {
        name: value for name, value in prepared.to_json().items() if name not in {"inputs", "code"}
    }
    change.append(tmp_path / "in" / "file-0")

    assert PreparedJob.from_json(prepared.job, record).changes() == []


def test_the_files_of_commands_are_programs_and_arguments(tmp_path):
    """Alone, behind an equals sign, or within the line of a shell; not what a line writes."""
    for name in ("map.py", "clean.awk", "log", "stop.txt", "run.sh"):
        (tmp_path / name).write_text("x")
    (tmp_path / "folder").mkdir()
    commands = [
        ("/usr/bin/env", "python", "map.py", "--stop=stop.txt", "folder", "-n", "nowhere", ""),
        None,
        ("/usr/bin/env", "sh", "-c", "./run.sh 2>log | awk -f 'clean.awk' >> log; cat map.py"),
    ]

    found = files_of_commands(str(tmp_path), commands)

    assert found[0] == "/usr/bin/env"
    assert {Path(path).name for path in found[1:]} == {
        "map.py", "stop.txt", "run.sh", "clean.awk",
    }  # fmt: skip


def test_a_script_counts_by_its_content_and_a_program_elsewhere_by_its_time(tmp_path):
    """A script that was only touched is the same script."""
    write_input(tmp_path, "x\n")
    tool = tmp_path / "bin" / "tool"
    folder = tmp_path / "job"
    for path in (tool, folder / "map.sh"):
        path.parent.mkdir()
        path.write_text("#!/bin/sh\ncat\n")
        path.chmod(0o755)
    write_input(folder, "x\n")
    prepared = prepare(job_in(folder, mapper=(str(tool),), reducer=("sh", "map.sh")))
    is_hashed = {Path(one.path).name: one.sha256 is not None for one in prepared.code}
    assert (is_hashed["tool"], is_hashed["map.sh"]) == (False, True)

    change.touch(folder / "map.sh")
    assert resumed(prepared).changes() == []
    change.touch(tool)
    assert [str(tool) in found for found in resumed(prepared).changes()] == [True]


def test_an_edit_within_one_tick_of_the_clock_is_found_on_resume(tmp_path):
    """Same size, same time: the digest is compared."""
    write_input(tmp_path, "x\n")
    script = tmp_path / "map.sh"
    script.write_text("cat\n")
    prepared = prepare(job_in(tmp_path, mapper=("sh", "map.sh")))
    before = script.stat()
    script.write_text("tac\n")
    os.utime(script, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert "map.sh" in resumed(prepared).changes()[0]


def test_the_files_of_python_code_are_the_module_and_what_it_imports_from_its_folders(tmp_path):
    """Also from a package, and from a folder of PYTHONPATH; not installed packages."""
    folder = tmp_path / "job"
    for name, text in {
        "main.py": "import beside, package.inner, more, installed\n"
        "def mapper(line):\n    yield line, 1\n",
        "beside.py": "",
        "unused.py": "",
        "package/__init__.py": "",
        "package/inner.py": "",
        "lib/more.py": "",
        "venv/site-packages/installed.py": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    write_input(folder, "x\n")
    path = f"{folder}/lib:{folder}/venv/site-packages"
    prepared = prepare(job_in(folder, python="main.py", env=(("PYTHONPATH", path),)))

    names = {str(Path(one.path).relative_to(folder)) for one in prepared.code}
    assert names == {
        "main.py", "beside.py", "package/__init__.py", "package/inner.py", "lib/more.py",
    }  # fmt: skip
    assert all(one.sha256 for one in prepared.code)


def test_a_module_from_another_folder_is_fingerprinted_too(tmp_path):
    """The folder of the module counts like the folder of the job."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "helper.py").write_text("")
    (tmp_path / "shared" / "code.py").write_text("import helper\nmapper = print\n")
    folder = tmp_path / "job"
    folder.mkdir()
    write_input(folder, "x\n")
    prepared = prepare(job_in(folder, python="../shared/code.py"))

    assert {Path(one.path).name for one in prepared.code} == {"code.py", "helper.py"}


def test_changed_code_is_not_run_by_an_attempt(tmp_path):
    """The module that a job would load by now is another one."""
    write_input(tmp_path, "x\n")
    module = tmp_path / "code.py"
    module.write_text("def mapper(line):\n    yield line, 1\n")
    prepared = prepare(job_in(tmp_path, python="code.py"))
    begin_job(prepared)
    module.write_text("import pathlib\npathlib.Path('ran').touch()\nmapper = print\n")
    with pytest.raises(WorkFailed, match=r"code\.py.* has changed since the run started"):
        attempt(prepared.work(0, 0, {}), place_in(tmp_path, "a"))

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("part", ["combiner", "reducer"])
def test_changed_scripts_of_every_part_are_found(tmp_path, part):
    write_input(tmp_path, "x\n")
    (tmp_path / "part.sh").write_text("cat\n")
    run = {"mapper": CAT, "reducer": CAT, part: ("sh", "part.sh")}
    prepared = prepare(job_in(tmp_path, **run))
    change.append(tmp_path / "part.sh")
    with pytest.raises(WorkFailed, match=r"part\.sh"):
        run_tasks(prepared, tmp_path)


def test_a_permanent_failure_says_so(tmp_path):
    """The agent passes the mark on to the scheduler."""
    assert PermanentFailure("x").is_permanent
    assert not getattr(WorkFailed("x"), "is_permanent", False)
