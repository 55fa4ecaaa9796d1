"""The page of recorded runs, where some of them are damaged, and where there are many."""

import os
import shutil
import sys

import pytest
from tests import warm_start

from sluice.bootstrap.service.recorded import RUNS_MAX, RecordedRuns
from sluice.model.errors import SluiceError, StoreCorrupt

WORDS = """version: 1
cluster: {nodes: 1, node: {map_slots: 1, reduce_slots: 1}}
jobs:
  - id: words
    run: {input: [in.txt], output: out, mapper: cat}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder of one run, in a state folder of its own."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "in.txt").write_text("a\nb\n")
    (folder / "words.yaml").write_text(WORDS)
    env = os.environ | {"SLUICE_HOME": str(folder / "home")}
    sluice = [sys.executable, "-m", "sluice", "run", "words.yaml"]
    warm_start.run(sluice, cwd=folder, env=env, check=True)
    return next((folder / "home" / "runs").glob("run-*"))


@pytest.fixture
def runs(recorded, tmp_path, monkeypatch):
    """Makes copies of the run in another state folder: their folders, the oldest first."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))

    def copied(count):
        names = [f"run-{number:06}-{number:08x}" for number in range(1, count + 1)]
        return [shutil.copytree(recorded, tmp_path / "runs" / name) for name in names]

    return copied


def damaged(folder):
    """Write into the middle of a journal."""
    journal = folder / "journal.db"
    content = bytearray(journal.read_bytes())
    content[: len(content) // 2] = bytes(len(content) // 2)
    journal.write_bytes(content)


def texts(page):
    return [each["text"] for each in page.answer("status", {})["conditions"]]


def test_a_damaged_run_is_left_out_and_counted(runs):
    oldest, newest = runs(2)
    damaged(newest)
    page = RecordedRuns()

    assert [row["job_id"] for row in page.answer("jobs", {})["jobs"]] == [f"{oldest.name}~words"]
    assert texts(page) == ["1 run cannot be read: `sluice runs` says why"]


def test_a_page_without_a_run_that_can_be_read_says_what_is_wrong(runs):
    (only,) = runs(1)
    page = RecordedRuns()
    damaged(only)

    with pytest.raises(StoreCorrupt):
        page.answer("queues", {})
    for run_id in (None, only.name):
        with pytest.raises(StoreCorrupt):
            RecordedRuns(run_id)
    shutil.rmtree(only)
    with pytest.raises(SluiceError, match="the runs were deleted"):
        page.answer("queues", {})


def test_runs_that_are_too_many_are_said_to_be_left_out(runs):
    folders = runs(RUNS_MAX + 3)
    page = RecordedRuns()

    assert page.answer("jobs", {})["total"] == RUNS_MAX
    assert texts(page) == ["3 older runs left out: `sluice page RUN` shows one"]
    assert texts(RecordedRuns(folders[0].name)) == []
