"""The checks and the layout before a job runs."""

import json
from dataclasses import replace

import pytest
from tests.engines.work_runs import job_in, write_input

from sluice.engines.mapreduce.layout import PreparedJob, job_name, prepare
from sluice.model.errors import InvalidInput
from sluice.model.job import Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind

CAT = ("cat",)


def test_splits_decide_how_many_maps_there_are(tmp_path):
    """Ranges of split_bytes; an empty file has none."""
    write_input(tmp_path, "x" * 25, "", "y" * 10)
    prepared = prepare(job_in(tmp_path, reduces=3, mapper=CAT, reducer=CAT, split_bytes=10))

    phases = [(phase.name, phase.tasks, phase.after) for phase in prepared.job.phases]
    assert phases == [("map", 4, ()), ("reduce", 3, (0,))]
    assert [(split.start, split.end) for split in prepared.splits] == [
        (0, 10), (10, 20), (20, 25), (0, 10),
    ]  # fmt: skip


def test_inputs_are_files_folders_and_globs_each_file_once(tmp_path):
    """Hidden files and the _SUCCESS of an earlier job are no data."""
    write_input(tmp_path, "a", "b")
    (tmp_path / "in" / ".hidden").write_text("no")
    (tmp_path / "in" / "_SUCCESS").write_text("no")
    (tmp_path / "in" / "inner").mkdir()
    (tmp_path / "[x].txt").write_text("c")
    job = job_in(tmp_path, input=("[x].txt", "in/file-1", "in", "*/file-*"), mapper=CAT)

    names = [split.path.rpartition("/")[2] for split in prepare(job).splits]
    assert names == ["[x].txt", "file-1", "file-0"]


@pytest.mark.parametrize(
    ("run", "heard"),
    [
        ({"input": ("nowhere/*.txt",), "mapper": CAT}, "input 'nowhere/*.txt' matches no file"),
        ({"output": "in", "mapper": CAT}, "/in' exists"),
        ({"output": ".", "mapper": CAT}, "names no new folder"),
        ({"mapper": ("no-such-program",)}, "mapper 'no-such-program' is not found"),
        ({"mapper": CAT, "reducer": ("script.sh",)}, r"Write ./script.sh and make it executable"),
        ({"mapper": CAT, "combiner": ("./script.sh",)}, "combiner './script.sh' is not found"),
        ({"python": "nowhere.py:X"}, "there is no file"),
        ({"python": "code.py:Nothing"}, "code.py has no 'Nothing'"),
        ({"python": "code.py:number"}, "there is no function `mapper`"),
        ({"python": "broken.py"}, "ZeroDivisionError"),
        ({}, "no mapper and no reducer"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_runs(tmp_path, run, heard):
    """The message names the job, and the field as the user wrote it."""
    write_input(tmp_path, "a")
    (tmp_path / "script.sh").write_text("#!/bin/sh\n")
    (tmp_path / "code.py").write_text("number = 7\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(InvalidInput) as refusal:
        prepare(job_in(tmp_path, **run))

    assert heard in str(refusal.value)
    assert "job 'word count/1'" in str(refusal.value)


def test_user_code_is_not_imported_here(tmp_path):
    """A file that ends its interpreter ends a child's, not the scheduler's."""
    write_input(tmp_path, "a")
    (tmp_path / "rude.py").write_text("import os\nprint('noise')\nos._exit(3)\n")
    with pytest.raises(InvalidInput, match=r"rude.py:X"):
        prepare(job_in(tmp_path, python="rude.py:X"))


def test_programs_are_found_beside_the_workload_file(tmp_path):
    """A path with a slash starts from there."""
    write_input(tmp_path, "a")
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\ncat\n")
    script.chmod(0o755)
    prepared = prepare(job_in(tmp_path, mapper=("./script.sh", "-x")))

    assert prepared.steps[0].mapper == (str(script), "-x")


@pytest.mark.parametrize(("heard", "kept"), [(3, True), (4, False)])
def test_shown_lengths_are_kept_where_the_counts_agree(tmp_path, heard, kept):
    """Lengths of 160 tasks say nothing about 8."""
    write_input(tmp_path, "x" * 30)
    phase = Phase(name="map", kind=SlotKind.MAP, tasks=heard, lengths=ConstantLengths(2.0, 3.0))
    job = replace(job_in(tmp_path, mapper=CAT, split_bytes=10), phases=(phase,))
    (planned,) = prepare(job).job.phases

    assert planned.tasks == 3
    assert (planned.lengths is not None) is kept


def test_a_prepared_job_survives_a_restart(tmp_path):
    """It is journalled as JSON, and looks at no file when it comes back."""
    write_input(tmp_path, "x" * 30)
    job = job_in(tmp_path, reduces=2, mapper=CAT, reducer=CAT, split_bytes=10)
    prepared = prepare(job, run_id="r7")
    record = json.loads(json.dumps(prepared.to_json()))
    (tmp_path / "in" / "file-0").unlink()
    (tmp_path / "out").mkdir()

    assert PreparedJob.from_json(job, record) == prepared
    del record["roles"]  # as a run of Sluice 0.2.0 recorded it
    assert PreparedJob.from_json(job, record) == prepared


def test_a_job_is_the_same_from_whatever_folder_it_is_started(tmp_path, monkeypatch):
    """The measurements of a run predict the next, also when that one is started elsewhere."""
    write_input(tmp_path, "x")
    named = job_in(tmp_path, mapper=CAT)
    monkeypatch.chdir(tmp_path)
    beside = replace(named, run=replace(named.run, folder="."))

    assert prepare(named).job == prepare(beside).job


def test_names_for_files_keep_jobs_and_runs_apart():
    """Whatever a job is called, its name fits into a file name."""
    names = {
        job_name(job_id, run_id)
        for job_id in ("a/b", "a_b", "ü" * 200, "..", "-n")
        for run_id in ("", "r1")
    }

    assert len(names) == 10
    assert all(len(name.encode()) < 100 and "/" not in name for name in names)
