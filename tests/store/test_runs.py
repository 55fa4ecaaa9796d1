"""Runs are found again by the workload they run, and old ones go."""

import sqlite3
from pathlib import Path

import pytest

from sluice.model.errors import InvalidInput, StoreCorrupt
from sluice.store import runs as runs_module
from sluice.store.database import StoreUnavailable
from sluice.store.home import state_folder
from sluice.store.rows import RunHeader
from sluice.store.runs import Runs


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def started(runs, source="/a.yaml", sha256="1", *, finished=False):
    """A run that was begun, and left or finished; its id."""
    with runs.create(RunHeader(source=source, sha256=sha256, started_at="")) as journal:
        if finished:
            journal.finish()
        return journal.folder.name


def test_runs_sort_by_their_start(runs):
    names = [started(runs) for _ in range(5)]

    assert names == sorted(names)
    assert [run.run_id for run in runs.all()] == names
    assert runs.latest().run_id == names[-1]


def test_where_nothing_ever_ran_there_is_nothing(runs):
    assert (runs.all(), runs.latest(), runs.resumable("/a.yaml", "1")) == ((), None, None)


def test_a_run_is_resumed_by_its_file_and_text(runs):
    started(runs, "/b.yaml")
    mine = started(runs)
    started(runs, "/c.yaml")

    assert runs.latest_unfinished("/a.yaml", "1").run_id == mine
    assert runs.resumable("/a.yaml", "1").run_id == mine
    assert runs.resumable("/d.yaml", "1") is None


def test_a_finished_run_is_told_as_such(runs):
    """Nothing is to be done for it, which is an answer and no error."""
    started(runs, finished=True)

    assert runs.resumable("/a.yaml", "1").is_finished
    assert runs.latest_unfinished("/a.yaml", "1") is None


def test_a_changed_file_is_not_resumed(runs):
    """The journal is about other jobs than the file is now."""
    started(runs)

    with pytest.raises(InvalidInput, match="has changed"):
        runs.resumable("/a.yaml", "2")


def test_a_changed_file_whose_runs_all_finished_just_starts(runs):
    started(runs, finished=True)

    assert runs.resumable("/a.yaml", "2") is None


def test_standard_input_is_known_by_its_text_alone(runs):
    mine = started(runs, "-", "1")

    assert runs.resumable("-", "1").run_id == mine
    assert runs.resumable("-", "2") is None


def test_old_finished_runs_are_dropped_and_unfinished_ones_never(runs, monkeypatch):
    monkeypatch.setattr(runs_module, "FINISHED_RUNS_KEPT", 2)
    left = started(runs)
    finished = [started(runs, finished=True) for _ in range(4)]
    last = started(runs)

    assert [run.run_id for run in runs.all()] == [left, *finished[2:], last]


def test_a_damaged_run_is_kept_told_of_and_in_nobody_s_way(runs, monkeypatch):
    """Evidence is not thrown away, and does not stop other work."""
    monkeypatch.setattr(runs_module, "FINISHED_RUNS_KEPT", 0)
    damaged = started(runs, finished=True)
    (folder,) = [run.folder for run in runs.all()]
    connection = sqlite3.connect(folder / "journal.db")
    with connection:
        connection.execute("UPDATE rows SET payload = '{}' WHERE seq = 0")
    connection.close()

    started(runs)
    assert folder.is_dir()
    with pytest.raises(StoreCorrupt, match=damaged):
        runs.all()


def test_a_run_that_never_got_a_journal_does_not_count(runs, tmp_path):
    """Its process died while it was made; other folders are none of our business either."""
    (tmp_path / "runs" / "20260101T000000.000000Z-abcdef").mkdir(parents=True)
    (tmp_path / "runs" / "notes").mkdir()

    assert runs.all() == ()


def test_a_home_that_is_a_file_is_told_clearly(tmp_path):
    (tmp_path / "home").write_text("")

    with pytest.raises(StoreUnavailable, match="SLUICE_HOME"):
        started(Runs(tmp_path / "home"))


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"SLUICE_HOME": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/s"),
        ({"SLUICE_HOME": "", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/sluice"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/sluice"),
        ({"HOME": "/h"}, "/h/.local/state/sluice"),
    ],
)
def test_state_lies_where_the_environment_says(environ, folder):
    assert state_folder(environ) == Path(folder)


def test_a_relative_home_does_not_move_with_the_working_folder():
    assert state_folder({"SLUICE_HOME": "here"}).is_absolute()


def test_without_any_home_one_is_asked_for():
    with pytest.raises(InvalidInput, match="Set SLUICE_HOME"):
        state_folder({})
