"""Runs are numbered by a counter and found again by their workload; old ones are removed."""

import fcntl
import json
import os
import sqlite3
from pathlib import Path

import pytest

from sluice.model.errors import InvalidInput, StoreCorrupt
from sluice.model.ids import JobId
from sluice.store import run_info
from sluice.store import runs as runs_module
from sluice.store.database import StoreUnavailable
from sluice.store.home import state_folder
from sluice.store.rows import RunHeader
from sluice.store.run_info import UnreadableRun
from sluice.store.run_lock import RunLock
from sluice.store.run_record import RunIdentity, RunRecord
from sluice.store.runs import Runs


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def identity(source="/a.yaml", sha256="1", folder="/"):
    return RunIdentity(source=source, folder=folder, sha256=sha256)


def started(runs, source="/a.yaml", sha256="1", *, folder="/", finished=False):
    """A run that was begun, and left or finished; its id."""
    header = RunHeader(source=source, folder=folder, sha256=sha256, started_at="")
    with runs.create(header) as journal:
        if finished:
            journal.finish()
        return journal.folder.name


def resumed(runs, *identified, **named):
    """The id of the run that `--resume` is about."""
    found = runs.resumable(identity(*identified, **named))
    return found and found.run_id


def damage_header(runs, run_id):
    """Change row 0 of a journal, as a flipped bit would."""
    execute(runs, run_id, "UPDATE rows SET payload = '{}' WHERE seq = 0")


def execute(runs, run_id, statement):
    connection = sqlite3.connect(runs.folder / run_id / "journal.db")
    with connection:
        connection.execute(statement)
    connection.close()


# --- numbers --------------------------------------------------------------------------------------


def test_runs_sort_by_their_number(runs):
    names = [started(runs) for _ in range(12)]

    assert names == sorted(names)
    assert [name[:11] for name in names[:2]] == ["run-000001-", "run-000002-"]
    assert [run.run_id for run in runs.all()] == names
    assert runs.latest().run_id == names[-1]


def test_a_clock_that_is_set_back_does_not_change_the_newest_run(runs):
    """The start in the header is for people only."""
    for started_at in ("2026-06-01T00:00:00+00:00", "2020-01-01T00:00:00+00:00"):
        header = RunHeader(source="/a.yaml", folder="/", sha256="1", started_at=started_at)
        runs.create(header).close()

    assert runs.resumable(identity()).header.started_at.startswith("2020")


def test_runs_of_releases_that_named_them_by_time_come_first_and_stay_readable(runs):
    mine = started(runs)
    former = runs.folder / "20991231T235959.000000Z-abcdef"
    (runs.folder / started(runs)).rename(former)
    (former / "run.json").unlink()
    newer = started(runs)

    assert [run.run_id for run in runs.all()] == [former.name, mine, newer]
    assert runs.find(former.name).header.source == "/a.yaml"


@pytest.mark.parametrize("content", [None, b"", b"garbage", b'{"highest": 0}', b"[1]"])
def test_a_lost_counter_never_gives_a_number_twice(runs, content):
    names = [started(runs) for _ in range(3)]
    counter = runs.folder / "counter.json"
    counter.unlink() if content is None else counter.write_bytes(content)

    assert started(runs)[:11] == "run-000004-"
    assert runs.latest().run_id > names[-1]


def test_a_number_is_not_given_again_after_its_run_was_removed(runs, monkeypatch):
    monkeypatch.setattr(runs_module, "FINISHED_RUNS_KEPT", 0)
    started(runs, finished=True)

    assert started(runs)[:11] == "run-000002-"


def test_a_run_is_found_by_its_id_or_its_number(runs):
    mine = started(runs)
    started(runs)

    assert runs.find(mine).run_id == mine
    assert runs.find("run-000001").run_id == mine
    assert (runs.find("run-00000"), runs.find("run"), runs.find("")) == (None, None, None)


# --- which run is resumed -------------------------------------------------------------------------


def test_where_nothing_ever_ran_there_is_nothing(runs):
    assert (runs.all(), runs.latest(), runs.resumable(identity())) == ((), None, None)


def test_a_run_is_resumed_by_its_file_and_text(runs):
    started(runs, "/b.yaml")
    mine = started(runs)
    started(runs, "/c.yaml")

    assert resumed(runs) == mine
    assert resumed(runs, "/d.yaml") is None


def test_a_later_run_that_succeeded_is_reported_instead_of_an_unfinished_one(runs):
    """Its output is in the place of theirs. A message names both, and how to go on."""
    left = [started(runs), started(runs)]
    later = started(runs, finished=True)
    messages: list[str] = []

    assert runs.resumable(identity(), messages.append).run_id == later
    (message,) = messages
    assert "nothing to resume" in message
    assert f"`sluice runs clean {left[1]}`" in message
    assert f"`sluice runs clean {later}`" in message


def test_an_unfinished_run_comes_before_a_later_one_that_failed(runs):
    unfinished = started(runs)
    with runs.create(RunHeader(source="/a.yaml", folder="/", sha256="1", started_at="")) as journal:
        journal.aborted(JobId("a"))
        journal.finish()

    assert resumed(runs) == unfinished


def test_an_unfinished_run_comes_before_an_older_one_that_succeeded(runs):
    started(runs, finished=True)
    unfinished = started(runs)
    started(runs, "/b.yaml", finished=True)

    assert resumed(runs) == unfinished


def test_among_finished_runs_the_newest_is_reported(runs):
    started(runs, finished=True)
    newest = started(runs, finished=True)

    assert resumed(runs) == newest
    assert runs.resumable(identity()).is_finished


def test_a_changed_file_is_not_resumed(runs):
    """The journal is about other jobs than the file is now."""
    started(runs)

    with pytest.raises(InvalidInput, match="has changed"):
        runs.resumable(identity(sha256="2"))


def test_an_unfinished_run_of_the_same_text_comes_before_one_of_another_text(runs):
    mine = started(runs)
    started(runs, sha256="2")

    assert resumed(runs) == mine


def test_a_changed_file_whose_runs_all_finished_just_starts(runs):
    started(runs, finished=True)

    assert resumed(runs, sha256="2") is None


def test_standard_input_is_known_by_its_text_and_working_directory(runs):
    mine = started(runs, "-", "1", folder="/here")

    assert resumed(runs, "-", "1", folder="/here") == mine
    assert resumed(runs, "-", "2", folder="/here") is None
    assert resumed(runs, "-", "1", folder="/there") is None


def test_a_header_without_a_folder_is_of_the_file_s_folder(runs):
    """Older releases did not write it."""
    mine = started(runs, "/data/a.yaml", folder="")

    assert resumed(runs, "/data/a.yaml", folder="/data") == mine


# --- runs that cannot be read ---------------------------------------------------------------------

FAULTS = {
    "header": damage_header,
    "garbage": lambda runs, run_id: (runs.folder / run_id / "journal.db").write_bytes(b"x" * 9999),
    "empty": lambda runs, run_id: (runs.folder / run_id / "journal.db").write_bytes(b""),
    "schema": lambda runs, run_id: execute(runs, run_id, "DROP TABLE rows"),
    "older": lambda runs, run_id: execute(runs, run_id, "PRAGMA user_version = 0"),
    "newer": lambda runs, run_id: execute(runs, run_id, "PRAGMA user_version = 99"),
    "folder": lambda runs, run_id: journal_becomes_a_folder(runs.folder / run_id / "journal.db"),
}


def journal_becomes_a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("has_record", [True, False], ids=["record", "no-record"])
def test_a_run_that_cannot_be_read_does_not_stop_work_on_others(runs, fault, has_record):
    """Older, damaged or newer, with `run.json` or without."""
    mine = started(runs)
    other = started(runs, "/b.yaml")
    FAULTS[fault](runs, other)
    if not has_record:
        (runs.folder / other / "run.json").unlink()

    assert resumed(runs) == mine
    assert [run.run_id for run in runs.all()] == [mine]
    assert [run.run_id for run in runs.newest()] == [mine]
    assert runs.latest().run_id == mine
    assert isinstance(runs.find(other), UnreadableRun)
    assert started(runs, "/c.yaml")
    assert (runs.folder / other).is_dir(), "evidence is not thrown away"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_run_that_would_be_resumed_says_so_and_how_to_go_on(runs, fault):
    mine = started(runs)
    FAULTS[fault](runs, mine)

    with pytest.raises(
        (StoreCorrupt, StoreUnavailable), match=f"{mine} cannot be resumed.*runs clean {mine}"
    ):
        runs.resumable(identity())
    assert resumed(runs, sha256="2") is None, "another text is another run"


RECORD_FAULTS = {
    "gone": Path.unlink,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "flipped": lambda path: path.write_bytes(path.read_bytes().replace(b"a.yaml", b"b.yaml")),
    "empty": lambda path: path.write_bytes(b""),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("record", RECORD_FAULTS)
def test_a_run_whose_record_is_damaged_too_is_not_started_again_in_silence(runs, fault, record):
    """It may be the run that should be resumed, so its work is not done a second time unasked."""
    damaged = started(runs)
    FAULTS[fault](runs, damaged)
    RECORD_FAULTS[record](runs.folder / damaged / "run.json")

    with pytest.raises((StoreCorrupt, StoreUnavailable)) as error:
        runs.resumable(identity())

    assert f"Run {damaged} cannot be resumed" in str(error.value)
    assert "run.json" in str(error.value)
    assert f"runs clean {damaged}" in str(error.value)
    assert (runs.folder / damaged / "journal.db").exists()
    other = started(runs, "/b.yaml")
    assert resumed(runs, "/b.yaml") == other


def test_a_journal_that_is_a_folder_is_not_taken_for_a_full_disk(runs):
    damaged = started(runs)
    journal_becomes_a_folder(runs.folder / damaged / "journal.db")

    with pytest.raises(StoreCorrupt, match=r"journal\.db: it is a folder\."):
        runs.resumable(identity())


def test_a_damaged_run_is_left_behind_by_a_newer_one_of_the_same_file(runs):
    """The user did what the message says: run the file without --resume."""
    damage_header(runs, started(runs))
    newer = started(runs, finished=True)

    assert resumed(runs) == newer


def test_messages_name_runs_that_are_skipped(runs):
    mine, damaged = started(runs), started(runs)
    damage_header(runs, damaged)
    (runs.folder / damaged / "run.json").unlink()
    said: list[str] = []

    assert runs.latest(said.append).run_id == mine
    assert runs.resumable(identity(), said.append).run_id == mine
    assert [damaged in message for message in said] == [True, True]


def test_a_foreign_run_does_not_stop_work_on_others(runs, monkeypatch):
    """Another user's folder: it may be listed and not opened."""
    mine, foreign = started(runs), started(runs, "/b.yaml")
    refuse_to_open(monkeypatch, foreign)

    assert resumed(runs) == mine
    assert runs.latest().run_id == mine
    assert started(runs, "/c.yaml")


def refuse_to_open(monkeypatch, run_id):
    """As for a user without the right to; tests may run as root, who has every right."""
    true = run_info.header_and_end

    def refused(folder):
        if folder.name == run_id:
            raise StoreUnavailable(f"{folder}: Permission denied.")
        return true(folder)

    monkeypatch.setattr(run_info, "header_and_end", refused)


def test_a_foreign_run_that_would_be_resumed_is_unavailable(runs, monkeypatch):
    refuse_to_open(monkeypatch, started(runs))

    with pytest.raises(StoreUnavailable, match="Permission denied"):
        runs.resumable(identity())


# --- old runs -------------------------------------------------------------------------------------


def test_old_finished_runs_are_removed_and_unfinished_ones_never(runs, monkeypatch):
    monkeypatch.setattr(runs_module, "FINISHED_RUNS_KEPT", 2)
    left = started(runs)
    finished = [started(runs, finished=True) for _ in range(4)]
    last = started(runs)

    assert [run.run_id for run in runs.all()] == [left, *finished[2:], last]


def test_an_old_run_that_a_process_reads_is_not_removed(runs, monkeypatch):
    monkeypatch.setattr(runs_module, "FINISHED_RUNS_KEPT", 0)
    busy = started(runs, finished=True)
    lock = RunLock(runs.folder / busy)
    started(runs)
    lock.release()

    assert runs.find(busy) is not None


def test_a_damaged_run_is_kept(runs, monkeypatch):
    """Evidence is not thrown away."""
    monkeypatch.setattr(runs_module, "FINISHED_RUNS_KEPT", 0)
    damaged = started(runs, finished=True)
    damage_header(runs, damaged)
    started(runs)

    assert isinstance(runs.find(damaged), UnreadableRun)


def test_a_run_that_never_got_a_journal_does_not_count(runs, tmp_path):
    """Its process died while it was made; folders with other names are not runs."""
    (tmp_path / "runs" / "20260101T000000.000000Z-abcdef").mkdir(parents=True)
    (tmp_path / "runs" / "run-000007-abcdef01").mkdir(parents=True)
    (tmp_path / "runs" / "notes").mkdir()

    assert runs.all() == ()
    assert started(runs)[:11] == "run-000008-"


def test_a_run_is_made_under_the_lock_of_the_counter(runs, monkeypatch):
    """So nothing takes its folder for the leftover of a run that died before it began."""
    started(runs)
    true = runs_module.Journal.create
    tried = []

    def create(*arguments):
        file = os.open(runs.folder / "counter.json", os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            tried.append(error)
        finally:
            os.close(file)
        return true(*arguments)

    monkeypatch.setattr(runs_module.Journal, "create", create)
    started(runs)
    assert len(tried) == 1


def test_a_record_shows_the_run_and_where_it_may_leave_files(runs):
    header = RunHeader(source="/a.yaml", folder="/", sha256="1", started_at="now")
    folder = runs.create(header, staging=["/out/.x.sluice-x"]).folder
    record = RunRecord.read(folder)

    assert (record.run_id, record.identity) == (folder.name, identity())
    assert (record.started_at, record.staging) == ("now", ("/out/.x.sluice-x",))
    assert record.home == json.loads((runs.folder / "counter.json").read_text())["home"]


def test_a_home_that_is_a_file_is_shown_clearly(tmp_path):
    (tmp_path / "home").write_text("")

    with pytest.raises(StoreUnavailable, match=r"Not a directory.*SLUICE_HOME"):
        started(Runs(tmp_path / "home"))


def test_a_home_where_no_folder_can_be_made_is_shown_clearly():
    """/proc answers as if the parent of the new folder was missing."""
    with pytest.raises(StoreUnavailable, match=r"/proc/state.*SLUICE_HOME"):
        started(Runs(Path("/proc/state/sluice")))


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"SLUICE_HOME": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/s"),
        ({"SLUICE_HOME": "", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/sluice"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/sluice"),
        ({"HOME": "/h"}, "/h/.local/state/sluice"),
        ({"SLUICE_HOME": "~/state", "HOME": "/h"}, "/h/state"),
    ],
)
def test_state_lies_where_the_environment_says(environ, folder):
    assert state_folder(environ) == Path(folder)


def test_a_relative_home_does_not_move_with_the_working_folder():
    assert state_folder({"SLUICE_HOME": "here"}).is_absolute()


def test_without_any_home_one_is_asked_for():
    with pytest.raises(InvalidInput, match="Set SLUICE_HOME"):
        state_folder({})


@pytest.mark.parametrize(
    ("row", "pid"),
    [
        ("1: FLOCK  ADVISORY  WRITE 4711 fd:00:{inode} 0 EOF", 4711),
        ("1: POSIX  ADVISORY  WRITE 4711 fd:00:{inode} 0 EOF", None),
        ("1: FLOCK  ADVISORY  WRITE 4711 fd:00:1{inode} 0 EOF", None),
        ("1: -> FLOCK  ADVISORY  WRITE 4711 fd:00:{inode} 0 EOF", None),  # it waits for the lock
        ("1: FLOCK  ADVISORY  WRITE 4711", None),
        ("1: FLOCK  ADVISORY  WRITE 4711 fd:00:{inode}", 4711),
        ("\u00e9", None),
    ],
)
def test_the_driver_is_the_process_that_holds_the_lock(tmp_path, monkeypatch, row, pid):
    locks = tmp_path / "locks"
    monkeypatch.setattr(run_info, "LOCKS", locks)
    assert run_info.driver_of(tmp_path) is None, "there is no lock, and no table of locks"
    (tmp_path / "lock").touch()
    assert run_info.driver_of(tmp_path) is None, "there is no table of locks"

    inode = (tmp_path / "lock").stat().st_ino
    locks.write_text("0: LEASE\n" + row.format(inode=inode) + "\n", encoding="utf-8")
    assert pid == run_info.driver_of(tmp_path)


def test_a_driver_that_the_table_of_locks_leaves_out_is_found(tmp_path, monkeypatch):
    """The kernel gives the table in parts, and drops lines where locks change meanwhile."""
    locks = tmp_path / "locks"
    locks.write_text("1: POSIX  ADVISORY  READ 5433 08:01:7864448 128 128\n")
    monkeypatch.setattr(run_info, "LOCKS", locks)
    lock = RunLock(tmp_path)
    try:
        assert run_info.driver_of(tmp_path) == os.getpid()
    finally:
        lock.release()
    assert run_info.driver_of(tmp_path) is None, "the process lives, and has no lock"
