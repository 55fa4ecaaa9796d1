"""The journal keeps what it was shown, in order, and notices everything that was done to it."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import sluice
from sluice.core.commands import Wake
from sluice.core.events import Event, NodeLost, Tick
from sluice.core.record.codec import encode
from sluice.model.errors import EngineUnavailable, InvalidInput, SluiceError, StoreCorrupt
from sluice.model.ids import JobId, NodeId
from sluice.store import head as head_module
from sluice.store.database import StoreUnavailable
from sluice.store.journal import LOG_BYTES_MAX, Journal, decision_digest
from sluice.store.rows import (
    EntryKind,
    JournalReader,
    RunHeader,
    entries,
    header_and_end,
    prepared_jobs,
)

HEADER = RunHeader(
    source="/data/jobs.yaml",
    sha256="0f" * 32,
    started_at="2026-01-01T00:00:00Z",
    policies={"tasks": "fifo"},
    settings={"slowstart": 0.5, "probe_s": [1, 2]},
)
EVENTS: list[Event] = [Tick(0.0), NodeLost(1.0, NodeId("n1"), "wörd \udc80"), Tick(1.0)]


@pytest.fixture
def journal(tmp_path):
    with Journal.create(tmp_path, HEADER) as opened:
        yield opened


@pytest.fixture
def said(tmp_path):
    """The folder of a closed journal with rows of every kind."""
    with Journal.create(tmp_path, HEADER) as opened:
        opened.append(EVENTS)
        opened.note([Wake(4.0)])
        opened.append([Tick(2.0)])
        opened.committed(JobId("a"))
        opened.aborted(JobId("ü"))
    with Journal.reopened(tmp_path) as opened:
        opened.begin_epoch()
        opened.finish()
    return tmp_path


def tampered(folder, *statements):
    """Do to the file what its owner never does."""
    connection = sqlite3.connect(folder / "journal.db", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def kinds(folder):
    return [entry.kind for entry in entries(folder)]


def test_what_was_appended_is_read_back_in_order(said):
    with Journal.reopened(said) as journal:
        rows = list(journal.read())

    assert [row.event() for row in rows if row.kind is EntryKind.EVENT] == [*EVENTS, Tick(2.0)]
    assert [row.seq for row in rows] == list(range(10))
    assert [row.payload for row in rows if row.kind is EntryKind.COMMITTED] == ["a"]
    assert [row.epoch for row in rows] == [1] * 8 + [2] * 2


def test_the_prepared_jobs_are_read_without_the_rows_after_them(tmp_path):
    """Each new run looks at those of the runs before it."""
    prepared = {JobId("a"): {"output": "/a"}, JobId("b"): {"output": "/b"}}
    with Journal.create(tmp_path, HEADER, prepared) as journal:
        journal.append(EVENTS)
    assert prepared_jobs(tmp_path) == prepared

    tampered(tmp_path, "UPDATE rows SET payload = '' WHERE seq = 5")
    assert prepared_jobs(tmp_path) == prepared
    tampered(tmp_path, "UPDATE rows SET payload = '' WHERE seq = 2")
    with pytest.raises(StoreCorrupt, match="row 2 "):
        prepared_jobs(tmp_path)


def test_the_header_shows_what_the_run_is_about(said):
    assert header_and_end(said) == (HEADER, EntryKind.FINISHED)


def test_a_note_stands_behind_the_events_it_is_about(said):
    """Its place is how a replay knows which decisions to compare it with."""
    assert kinds(said)[1:6] == [EntryKind.EVENT] * 3 + [EntryKind.DECISION, EntryKind.EVENT]
    (note,) = [entry for entry in entries(said) if entry.kind is EntryKind.DECISION]
    assert note.payload == decision_digest([Wake(4.0)])


def test_an_appended_event_is_there_for_others_at_once(journal):
    """`sluice why` reads while the run goes on."""
    journal.append(EVENTS)

    assert kinds(journal.folder) == [EntryKind.RUN] + [EntryKind.EVENT] * 3


def test_every_commit_is_synced_to_the_disk(journal):
    """Durable before it counts: WAL alone would leave the last commits to the power supply."""
    assert journal._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert journal._connection.execute("PRAGMA journal_mode").fetchone() == (b"wal",)


def synced(monkeypatch):
    """The files that are synced from now on, by name, as a list that grows."""
    names = []
    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)

        def noted(descriptor, real=real):
            names.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
            real(descriptor)

        monkeypatch.setattr(os, name, noted)
    return names


def test_a_new_journal_is_synced_from_its_head_to_the_folders_that_name_it(tmp_path, monkeypatch):
    """Without its folder in the one above, a power cut would take all of it."""
    names = synced(monkeypatch)
    folder = tmp_path / "run"
    folder.mkdir()
    Journal.create(folder, HEADER).close()

    assert names[:3] == ["journal.head.new", "run", tmp_path.name]


def test_a_journal_is_never_there_without_a_head(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(head_module.Head, "create", fail)
    with pytest.raises(StoreUnavailable):
        Journal.create(tmp_path, HEADER)

    assert not (tmp_path / "journal.db").exists()


def test_the_head_is_written_to_its_two_slots_in_turn(tmp_path):
    """A write that the power cuts leaves the one before."""
    first = head_module.Position(0, bytes(16), 1)
    head = head_module.Head.create(tmp_path, first)
    head.write(first._replace(seq=1))
    head.write(first._replace(seq=2))
    head.close()

    again = head_module.Head.opened(tmp_path)
    assert again is not None
    again.write(first._replace(seq=3))
    again.close()
    slots = head_module._slots(tmp_path / "journal.head")
    assert [2, 3] == [one and one.seq for one in slots or ()]


def test_a_head_that_cannot_get_its_name_leaves_no_file_open(tmp_path):
    (tmp_path / head_module.FILE_NAME).mkdir()
    files = Path("/proc/self/fd")
    before = sorted(files.iterdir())
    with pytest.raises(IsADirectoryError):
        head_module.Head.create(tmp_path, head_module.Position(0, bytes(16), 1))

    assert before == sorted(files.iterdir())


def test_added_events_are_there_for_others_at_once_and_durable_after_sync(journal, monkeypatch):
    journal.append([Tick(0.5)])
    names = synced(monkeypatch)
    journal.add(EVENTS)

    rows = list(entries(journal.folder))
    assert [row.event() for row in rows[-len(EVENTS) :]] == EVENTS
    assert journal.has_unsynced
    assert names == []

    journal.sync()
    assert names == ["journal.db-wal", "journal.head"]  # the head never before the rows
    assert not journal.has_unsynced
    journal.sync()
    assert len(names) == 2


def test_the_log_is_copied_at_a_sync_and_at_no_other_time(journal, tmp_path):
    """The rows of the database itself, without its log."""

    def copied():
        bare = tmp_path / "bare.db"
        bare.write_bytes(journal.path.read_bytes())
        with closing(sqlite3.connect(bare)) as connection:
            return connection.execute("SELECT count(*) FROM rows").fetchone()[0]

    commits = LOG_BYTES_MAX // (3 << 12)
    before = copied()
    for number in range(2 * commits):
        journal.add([Tick(float(number))])
    assert copied() == before
    journal.sync()
    assert copied() == before + 2 * commits
    journal.append([Tick(1000.0)])
    assert copied() == before + 2 * commits


@pytest.mark.parametrize(("missing_bytes", "is_copied"), [(0, True), (1, False)])
def test_the_log_is_copied_once_a_mebibyte_was_written(journal, missing_bytes, is_copied):
    """A commit counts as three pages of 4,096 bytes, and its payload."""
    assert journal._log_bytes == 0
    commit_bytes = 3 * 4096 + len(encode(Tick(1.0)))
    written_bytes = 1024 * 1024 - commit_bytes - missing_bytes
    journal._log_bytes = written_bytes
    journal.append([Tick(1.0)])

    assert journal._log_bytes == (0 if is_copied else written_bytes + commit_bytes)


def test_the_first_row_that_is_added_is_durable(journal, monkeypatch):
    """Only then is the head open, whose unsynced slot keeps the others."""
    names = synced(monkeypatch)
    assert not journal.has_unsynced
    journal.add([Tick(1.0)])

    assert names[-1] == "journal.head"
    assert not journal.has_unsynced
    journal.add([Tick(2.0)])
    assert journal.has_unsynced


def test_nothing_is_synced_after_a_failure(journal, monkeypatch):
    """The head must not count rows that were refused."""

    def full(*_):
        raise OSError(28, "No space left on device", "journal.head")

    journal.append([Tick(0.5)])
    journal.add([Tick(1.0)])
    with monkeypatch.context() as patched:
        patched.setattr(head_module.os, "fdatasync", full)
        with pytest.raises(StoreUnavailable):
            journal.append([Tick(2.0)])
    names = synced(monkeypatch)
    journal.sync()

    assert names == []


def test_a_digest_has_32_digits_and_depends_on_the_decisions():
    digests = {decision_digest(commands) for commands in ([], [Wake(4.0)], [Wake(5.0)])}

    assert [len(one) for one in digests] == [32] * 3


def test_the_last_write_is_that_of_the_log_if_there_is_one(tmp_path):
    with Journal.create(tmp_path, HEADER) as opened:
        opened.append([Tick(1.0)])
        os.utime(tmp_path / "journal.db", (500.0, 500.0))
        os.utime(tmp_path / "journal.db-wal", (900.0, 900.0))
        assert opened.written_at_s == 900
    assert not (tmp_path / "journal.db-wal").exists()
    os.utime(tmp_path / "journal.db", (500.0, 500.0))
    with Journal.reopened(tmp_path) as opened:
        assert opened.written_at_s == 500


def test_a_reader_goes_on_after_the_last_row_that_it_has_read(journal):
    reader = JournalReader(journal.folder)
    assert reader.seq == -1
    assert [row.seq for row in reader.new()] == [0]

    journal.append(EVENTS)
    assert [row.seq for row in reader.new()] == [1, 2, 3]
    assert (reader.seq, list(reader.new())) == (3, [])

    journal.append(EVENTS)
    assert next(reader.new()).seq == reader.seq == 4
    assert [row.seq for row in reader.new()] == [5, 6]
    reader.close()


def test_each_life_has_the_next_number(tmp_path):
    """A life that has not begun leaves its number to the next one."""
    Journal.create(tmp_path, HEADER).close()
    epochs = []
    for has_begun in (True, False, True):
        with Journal.reopened(tmp_path) as opened:
            epochs.append(opened.epoch)
            if has_begun:
                opened.begin_epoch()

    assert epochs == [2, 3, 3]


def test_appending_makes_durable_what_was_added_before(journal, monkeypatch):
    journal.append([Tick(0.5)])
    journal.add([Tick(1.0)])
    names = synced(monkeypatch)
    journal.append([Tick(2.0)])

    assert names == ["journal.head"]  # SQLite itself syncs its log
    assert not journal.has_unsynced


def test_closing_makes_durable_what_was_added(tmp_path, monkeypatch):
    with Journal.create(tmp_path, HEADER) as opened:
        opened.append([Tick(0.5)])
        opened.add([Tick(1.0)])
        names = synced(monkeypatch)

    assert names == ["journal.db-wal", "journal.head"]


@pytest.mark.parametrize("boot_id", [None, b"another boot"])
def test_added_rows_that_are_lost_do_not_end_the_run(tmp_path, monkeypatch, boot_id):
    """They were not promised to be on the disk. After a restart it is the power that took them."""
    with Journal.create(tmp_path, HEADER) as opened:
        opened.append([Tick(0.5)])
        files = {path: path.read_bytes() for path in tmp_path.glob("journal.db*")}
        opened.add([Tick(1.0)])
        head = (tmp_path / "journal.head").read_bytes()
    for path in tmp_path.glob("journal.db*"):
        path.unlink()
    for path, content in files.items():
        if not path.name.endswith("-shm"):
            path.write_bytes(content)
    (tmp_path / "journal.head").write_bytes(head)
    if boot_id:
        monkeypatch.setattr(head_module, "_boot_id", lambda: boot_id)
    messages: list[str] = []

    with Journal.reopened(tmp_path, messages.append) as again:
        assert [e.event() for e in again.read() if e.kind is EntryKind.EVENT] == [Tick(0.5)]
    Journal.reopened(tmp_path, messages.append).close()  # it is said once

    assert ["last row of the journal was lost" in one for one in messages] == (
        [] if boot_id else [True]
    )


def test_a_process_that_is_killed_leaves_all_it_appended(tmp_path):
    """No clean end is needed: what `append` returned from is there."""
    script = (
        "import os, pathlib, signal, sys\n"
        "from sluice.core.events import Tick\n"
        "from sluice.store.journal import Journal\n"
        "from sluice.store.rows import RunHeader\n"
        "header = RunHeader(source='-', sha256='', started_at='')\n"
        "journal = Journal.create(pathlib.Path(sys.argv[1]), header)\n"
        "journal.append([Tick(1.0)])\n"
        "journal.append([Tick(2.0), Tick(3.0)])\n"
        "journal._connection.execute('BEGIN')\n"
        "journal._insert([])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    source = str(Path(sluice.__path__[0]).parent)
    ended = subprocess.run(
        [sys.executable, "-c", script, tmp_path],
        env={**os.environ, "PYTHONPATH": source},
        check=False,
    )

    with Journal.reopened(tmp_path) as journal:  # the lock went with the process
        assert [row.event() for row in journal.read() if row.seq] == [
            Tick(1.0),
            Tick(2.0),
            Tick(3.0),
        ]
    assert ended.returncode == -9


def test_what_was_prepared_is_there_from_the_first_moment(tmp_path):
    """A run either can be resumed, or never began."""
    record = {"splits": [{"path": "a\udc80", "start": 0}]}
    prepared = {JobId("ü/1"): record, JobId("b"): {}}
    Journal.create(tmp_path, HEADER, prepared).close()

    rows = [entry for entry in entries(tmp_path) if entry.kind is EntryKind.PREPARED]
    assert dict(row.prepared() for row in rows) == prepared
    with Journal.reopened(tmp_path) as journal:
        journal.append([Tick(1.0)])
        assert [entry.seq for entry in journal.read()] == [0, 1, 2, 3]


# --- damage ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seq", range(10))
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE rows SET payload = payload || ' ' WHERE seq = {seq}",
        "UPDATE rows SET payload = 'x' || payload WHERE seq = {seq}",
        "UPDATE rows SET payload = CAST(x'ff' || CAST(payload AS BLOB) AS TEXT) WHERE seq = {seq}",
        "UPDATE rows SET payload = 7 WHERE seq = {seq}",
        "UPDATE rows SET epoch = epoch + 1 WHERE seq = {seq}",
        "UPDATE rows SET kind = 'tick' WHERE seq = {seq}",
        "UPDATE rows SET kind = x'ff' WHERE seq = {seq}",
        "UPDATE rows SET checksum = x'00' WHERE seq = {seq}",
        "UPDATE rows SET checksum = 5 WHERE seq = {seq}",
        "DELETE FROM rows WHERE seq = {seq}",
    ],
)
def test_a_row_that_was_changed_or_lost_is_named(said, seq, change):
    """Nothing is repaired in silence: a wrong history decides wrongly."""
    tampered(said, change.format(seq=seq))

    with pytest.raises(StoreCorrupt, match=rf"row {seq}\b"):
        list(entries(said))


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM rows WHERE seq > 4",
        "DELETE FROM rows",
        "DELETE FROM head",
        "UPDATE head SET seq = 3",
        "INSERT INTO rows VALUES (10, 2, 'event', '{}', x'00')",
        "UPDATE rows SET seq = 100 WHERE seq = 9",
    ],
)
def test_a_journal_that_was_cut_off_or_lengthened_is_found(said, change):
    """The chain alone would not miss its own tail; the head does."""
    tampered(said, change)

    with pytest.raises(StoreCorrupt):
        list(entries(said))


def test_two_rows_that_changed_places_are_found(said):
    """Each checksum continues the one before, so that order counts."""
    tampered(
        said,
        "UPDATE rows SET seq = -1 WHERE seq = 1",
        "UPDATE rows SET seq = 1 WHERE seq = 3",
        "UPDATE rows SET seq = 3 WHERE seq = -1",
    )

    with pytest.raises(StoreCorrupt, match="row 1 "):
        list(entries(said))


def test_a_row_of_another_run_does_not_fit_in(said, tmp_path_factory):
    """It is sound by itself, but it continues another history."""
    other = tmp_path_factory.mktemp("other")
    with Journal.create(other, HEADER) as journal:
        journal.append([Tick(0.5), *EVENTS[1:]])
    tampered(
        said,
        f"ATTACH '{other / 'journal.db'}' AS other",
        "REPLACE INTO rows SELECT * FROM other.rows WHERE seq = 2",
    )

    with pytest.raises(StoreCorrupt, match="row 2 "):
        list(entries(said))


def test_no_flipped_byte_of_the_file_changes_what_is_read(said, tmp_path_factory):
    """Each byte in turn: it is found, or it was one that holds nothing."""
    content, before = (said / "journal.db").read_bytes(), list(entries(said))
    copy = tmp_path_factory.mktemp("copy")
    found = 0
    for position in range(0, len(content), 29):
        for name in ("journal.db-wal", "journal.db-shm"):
            (copy / name).unlink(missing_ok=True)
        changed = bytearray(content)
        changed[position] ^= 0x41
        (copy / "journal.db").write_bytes(changed)
        try:
            assert list(entries(copy)) == before
        except SluiceError:
            found += 1

    assert found > 15  # most of the file is empty


def test_a_file_that_is_no_database_is_evidence(tmp_path):
    (tmp_path / "journal.db").write_text("a poem, " * 1000)

    with pytest.raises(StoreCorrupt, match=r"journal\.db"):
        Journal.reopened(tmp_path)


# --- the disk and the neighbours ----------------------------------------------------------------


def test_a_full_disk_is_shown_and_adds_nothing(journal):
    """All of a batch or none of it; and with room again the journal goes on."""
    journal.append(EVENTS)
    journal._connection.execute("PRAGMA max_page_count = 4")

    with pytest.raises(StoreUnavailable, match="Make room"):
        journal.append([Tick(1.0), NodeLost(2.0, NodeId("n"), "x" * 100_000)])
    journal._connection.execute("PRAGMA max_page_count = 1000000")
    journal.append([Tick(3.0)])

    last = [row.event() for row in journal.read() if row.kind is EntryKind.EVENT]
    assert last == [*EVENTS, Tick(3.0)]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(StoreUnavailable, match="taken"):
        Journal.create(tmp_path / "taken", HEADER)


def test_a_run_is_driven_by_one_only(journal):
    """Two drivers would launch everything twice."""
    with pytest.raises(EngineUnavailable, match=f"process {os.getpid()}"):
        Journal.reopened(journal.folder)


def test_a_journal_that_was_closed_can_be_taken_up(journal):
    journal.close()

    with Journal.reopened(journal.folder) as again:
        again.begin_epoch()
        assert [entry.epoch for entry in again.read()] == [1, 2]


def test_there_is_no_journal_where_none_was_made(tmp_path):
    """Looking must not make one."""
    with pytest.raises(InvalidInput, match="no journal"):
        Journal.reopened(tmp_path)
    assert not (tmp_path / "journal.db").exists()


def test_another_release_s_journal_is_left_alone(said):
    tampered(said, "PRAGMA user_version = 2")
    (said / "journal.head").unlink()

    with pytest.raises(InvalidInput, match="version 2"):
        Journal.reopened(said)


def test_a_version_that_the_head_contradicts_is_damage(said):
    """A flipped bit in the version field must not send the user to another release."""
    tampered(said, "PRAGMA user_version = 2")

    with pytest.raises(StoreCorrupt, match="version is 2, and 1"):
        Journal.reopened(said)


def test_a_copied_journal_reads_the_same(said, tmp_path_factory):
    """One file is all there is to keep or to send."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copy(said / "journal.db", copy)

    assert list(entries(copy)) == list(entries(said))


@pytest.mark.parametrize("notes", [[], [Wake(4.0)]])
def test_a_note_on_the_last_batch_stays_in_its_segment(tmp_path, notes):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    with Journal.create(first, HEADER) as journal:
        journal.add([Tick(1.0)])
        for note in notes:
            journal.note([note])
        journal.go_on_in(second, HEADER, "{}")

    assert [row.kind for row in entries(first)][1:] == [
        EntryKind.EVENT, *(EntryKind.DECISION for _ in notes),
    ]  # fmt: skip
