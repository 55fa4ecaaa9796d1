"""Damage in the files of a journal is reported, and never takes acknowledged rows silently.

The files are those that a driver leaves when it is killed: the database, its write-ahead log, and
the head outside SQLite. Opening either gives every acknowledged row or raises StoreCorrupt.
"""

import errno
import os
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import ExitStack, closing

import pytest

from sluice.core.events import NodeLost, Tick
from sluice.model.errors import StoreCorrupt
from sluice.model.ids import JobId, NodeId
from sluice.store import head as head_module
from sluice.store import journal as journal_module
from sluice.store import journal_file
from sluice.store.database import StoreUnavailable, connected
from sluice.store.head import SLOT_BYTES, Head, Position, heads
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, RunHeader, entries, header_and_end

HEADER = RunHeader(source="/data/jobs.yaml", sha256="0f" * 32, started_at="2026-01-01T00:00:00Z")
FILES = ("journal.db", "journal.db-wal", "journal.head")
PAGE_BYTES = 4096
WAL_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The files of a run whose driver was killed after 20 batches and one commit, by name."""
    folder = tmp_path_factory.mktemp("killed")
    with Journal.create(folder, HEADER, {JobId("a"): {"splits": [1, 2]}}) as journal:
        for second in range(20):
            journal.append([Tick(float(second)), NodeLost(float(second), NodeId("n"), "gone")])
        journal.committed(JobId("a"))
        # A copy of the live files is what a power cut leaves.
        return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """The files of a run that was closed in order: all rows are in the database."""
    folder = tmp_path_factory.mktemp("closed")
    with Journal.create(folder, HEADER, {JobId("a"): {"splits": [1, 2]}}) as journal:
        for second in range(40):
            journal.append([Tick(float(second)), NodeLost(float(second), NodeId("n"), "x" * 50)])
        journal.finish()
    assert not (folder / "journal.db-wal").exists()
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


def laid_out(folder, files):
    """The files in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def flipped(content, position, mask):
    changed = bytearray(content)
    changed[position] ^= mask
    return bytes(changed)


def rows_when_resumed(folder):
    with Journal.reopened(folder) as journal:
        return list(journal.read())


def verdict(folder, files, wanted):
    """Open the files, and return "whole" or "corrupt"; anything else fails the test."""
    laid_out(folder, files)
    try:
        header_and_end(folder)
        assert rows_when_resumed(folder) == wanted
    except StoreCorrupt:
        return "corrupt"
    return "whole"


def wal_positions(content, *, per_frame, seed):
    """Bytes of the log's header and of each frame's header, and some bytes of each page."""
    rng = random.Random(seed)
    frame_bytes = FRAME_HEADER_BYTES + PAGE_BYTES
    positions = [*range(0, WAL_HEADER_BYTES, 3)]
    for frame in range(WAL_HEADER_BYTES, len(content), frame_bytes):
        positions += rng.sample(range(frame, frame + FRAME_HEADER_BYTES), per_frame)
        positions += rng.sample(range(frame, frame + frame_bytes), per_frame)
    return positions


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_flipped_bit_in_the_log_loses_no_row_silently(killed, tmp_path, seed):
    """SQLite drops all rows after a damaged frame without an error; the head detects that."""
    wanted = rows_when_resumed(laid_out(tmp_path / "run", killed))
    log = killed["journal.db-wal"]
    verdicts = Counter(
        verdict(
            tmp_path / "run",
            killed | {"journal.db-wal": flipped(log, position, 1 << (position % 8))},
            wanted,
        )
        for position in wal_positions(log, per_frame=1 if seed == 1 else 8, seed=seed)
    )

    assert len(wanted) == 43
    assert verdicts["corrupt"] > 50


def test_lost_rows_are_counted_and_the_files_stay_as_they_are(killed, tmp_path):
    """The message says how much is missing, and the evidence is not overwritten."""
    damaged = killed | {"journal.db-wal": flipped(killed["journal.db-wal"], 100, 0x10)}
    folder = laid_out(tmp_path / "run", damaged)

    for _ in range(2):
        with pytest.raises(StoreCorrupt, match=r"41 acknowledged rows are missing.*row 42"):
            Journal.reopened(folder)
        with pytest.raises(StoreCorrupt, match="missing"):
            list(entries(folder))
    assert {name: (folder / name).read_bytes() for name in FILES} == damaged


@pytest.mark.parametrize("add", [Journal.add, Journal.append], ids=["written", "synced"])
@pytest.mark.parametrize("has_head", [False, True], ids=["before the head", "after the head"])
def test_the_last_write_may_be_cut_anywhere_unless_it_was_synced(tmp_path, add, has_head):
    """Rows that were not on the disk yet are as if they had never been written; the run goes on."""
    folder = tmp_path / "live"
    folder.mkdir()
    with Journal.create(folder, HEADER) as journal:
        journal.append([Tick(0.0)])
        journal.add([Tick(1.0)])
        before = {name: (folder / name).read_bytes() for name in FILES}
        add(journal, [Tick(2.0), Tick(3.0)])
        after = {name: (folder / name).read_bytes() for name in FILES}
    log = after["journal.db-wal"]
    cuts = range(len(before["journal.db-wal"]), len(log), 509)
    for cut in cuts:
        files = {**after, "journal.db-wal": log[:cut]}
        if not has_head:
            files["journal.head"] = before["journal.head"]
        laid_out(tmp_path / "cut", files)
        messages: list[str] = []
        if has_head and add is Journal.append:
            with pytest.raises(StoreCorrupt, match="2 acknowledged rows are missing"):
                Journal.reopened(tmp_path / "cut", messages.append)
            continue
        with Journal.reopened(tmp_path / "cut", messages.append) as again:
            assert len(list(again.read())) == 3
            again.append([Tick(4.0), Tick(5.0), Tick(6.0)])
        assert len(rows_when_resumed(tmp_path / "cut")) == 6
        assert len(messages) == has_head
        assert all("last 2 rows of the journal were lost" in one for one in messages)
    assert len(cuts) > 10


def test_a_new_journal_has_all_its_rows_in_the_file_that_is_renamed(tmp_path, monkeypatch):
    """SQLite ignores a full disk while it closes a database: the log stays, under its old name."""
    with ExitStack() as others:

        def connected_twice(path):
            # The log stays at the close of one connection while there is another.
            first, other = connected(path), others.enter_context(closing(sqlite3.connect(path)))
            other.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            return first

        with monkeypatch.context() as patched:
            patched.setattr(journal_file, "connected", connected_twice)
            journal_file.write_first_rows(tmp_path, [(EntryKind.RUN, HEADER.line())] * 2, 1)

        assert len(rows_when_resumed(tmp_path)) == 2


def test_a_log_that_is_gone_is_found(killed, tmp_path):
    """A copy of journal.db and journal.head without the log is not the whole journal."""
    folder = laid_out(tmp_path / "run", {name: killed[name] for name in FILES[::2]})

    with pytest.raises(StoreCorrupt, match="missing"):
        Journal.reopened(folder)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("7", "and run the workload again without --resume."),
        ("segment-7", "stop the service, move {parent} away, start the service,"),
    ],
)
def test_damage_says_how_to_go_on_with_a_run_and_with_a_service(closed, tmp_path, name, advice):
    folder = laid_out(tmp_path / name, {**closed, "journal.head": bytes(3 * SLOT_BYTES)})

    with pytest.raises(StoreCorrupt) as raised:
        rows_when_resumed(folder)

    assert advice.format(parent=tmp_path) in str(raised.value)


@pytest.mark.parametrize("name", ["journal.db", "journal.head"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_flipped_bit_in_a_closed_journal_loses_no_row_silently(closed, tmp_path, name, seed):
    """The file header and the schema table come first and are swept densely."""
    wanted = rows_when_resumed(laid_out(tmp_path / "run", closed))
    rng, content = random.Random(seed), closed[name]
    dense = range(0, 100, 1 if seed == 2 else 6)
    sparse = rng.sample(range(len(content)), 25 if seed == 1 else 400)
    schema = rng.sample(range(PAGE_BYTES - 500, PAGE_BYTES), 30) if name == "journal.db" else []
    verdicts = Counter(
        verdict(
            tmp_path / "run",
            closed | {name: flipped(content, position, 1 << rng.randrange(8))},
            wanted,
        )
        for position in (*dense, *sparse, *schema)
    )

    assert verdicts["whole"] > 5
    # A flip reaches one slot of the head only, and the other slot is enough.
    assert (verdicts["corrupt"] > 5) == (name == "journal.db")


def test_a_schema_that_is_not_text_is_damage(closed, tmp_path):
    """SQLite quotes the damaged bytes in its message, which Python then cannot decode."""
    content = closed["journal.db"]
    for word in (b"CREATE TABLE rows", b"CREATE TABLE head"):
        at = content.index(word)
        for offset in (0, 8, 14):
            files = closed | {"journal.db": flipped(content, at + offset, 0xFF)}
            laid_out(tmp_path / "run", files)
            with pytest.raises(StoreCorrupt):
                rows_when_resumed(tmp_path / "run")


# --- the head ---------------------------------------------------------------------------------


def test_the_head_is_moved_before_rows_are_acknowledged(tmp_path):
    with Journal.create(tmp_path, HEADER) as journal:
        for second in range(5):
            journal.append([Tick(float(second))])
            *_, last = entries(tmp_path)
            assert heads(tmp_path).synced.seq == last.seq == second + 1


@pytest.mark.parametrize("kept_bytes", [0, 1, 20, 35])
@pytest.mark.parametrize("slot", [0, 1])
def test_a_torn_write_of_the_head_never_blocks(tmp_path, kept_bytes, slot):
    """Two slots are written in turn, so that the one before is still there."""
    with Journal.create(tmp_path, HEADER) as journal:
        for second in range(4 + slot):
            journal.append([Tick(float(second))])
    path = tmp_path / "journal.head"
    content = bytearray(path.read_bytes())
    newest = (4 + slot) % 2 * SLOT_BYTES
    content[newest + kept_bytes : newest + 36] = os.urandom(36 - kept_bytes)
    path.write_bytes(content)

    with Journal.reopened(tmp_path) as journal:
        journal.append([Tick(9.0)])
        assert len(list(journal.read())) == 6 + slot
    assert heads(tmp_path).synced.seq == 5 + slot


def test_a_crash_between_commit_and_head_loses_nothing(tmp_path, monkeypatch):
    """The database is ahead then, by rows that were not acknowledged."""

    class Crash(BaseException):
        pass

    def crash(*_):
        raise Crash

    journal = Journal.create(tmp_path, HEADER)
    journal.append([Tick(0.0)])
    with monkeypatch.context() as patched:
        patched.setattr(Head, "write", crash)
        with pytest.raises(Crash):
            journal.append([Tick(1.0), Tick(2.0)])
    journal.close()

    with Journal.reopened(tmp_path) as again:
        assert [row.seq for row in again.read()] == [0, 1, 2, 3]
        again.append([Tick(3.0)])
        assert heads(tmp_path).synced.seq == 4


def test_a_head_that_cannot_be_written_stops_the_journal(tmp_path, monkeypatch):
    """The rows are in the database, unacknowledged; a resumed run finds them."""

    def full(*_):
        raise OSError(28, "No space left on device", "journal.head")

    with Journal.create(tmp_path, HEADER) as journal:
        journal.append([Tick(0.0)])
        with monkeypatch.context() as patched:
            patched.setattr(head_module.os, "fdatasync", full)
            with pytest.raises(StoreUnavailable, match=r"journal\.head"):
                journal.append([Tick(1.0)])
        with pytest.raises(StoreUnavailable, match=r"journal\.head"):
            journal.append([Tick(2.0)])

    assert [row.seq for row in rows_when_resumed(tmp_path)] == [0, 1, 2]


@pytest.mark.parametrize("fault", [errno.EIO, errno.ENOSPC])
def test_a_log_that_could_not_be_synced_is_never_taken_for_synced(tmp_path, monkeypatch, fault):
    """The kernel drops pages that it cannot write, and reports that once only."""

    def failing(_):
        raise OSError(fault, os.strerror(fault))

    with Journal.create(tmp_path, HEADER) as journal:
        journal.on_full = lambda _: None  # as if there were room at once
        journal.append([Tick(0.0)])
        journal.add([Tick(1.0)])
        with monkeypatch.context() as patched:
            patched.setattr(journal_module.os, "fdatasync", failing)
            with pytest.raises(StoreUnavailable, match=r"journal\.db-wal"):
                journal.sync()
        journal.sync()
        with pytest.raises(StoreUnavailable, match=r"journal\.db-wal"):
            journal.append([Tick(2.0)])

    assert heads(tmp_path).synced.seq == 1


def test_two_damaged_slots_are_damage(closed, tmp_path):
    content = flipped(flipped(closed["journal.head"], 9, 1), SLOT_BYTES + 9, 1)
    folder = laid_out(tmp_path / "run", closed | {"journal.head": content})

    with pytest.raises(StoreCorrupt, match="both copies"):
        Journal.reopened(folder)


def test_a_journal_of_an_older_release_gets_a_head(closed, tmp_path):
    """It has none, which is not damage; the first write makes one."""
    folder = laid_out(tmp_path / "run", {"journal.db": closed["journal.db"]})
    rows = rows_when_resumed(folder)
    assert rows[-1].kind is EntryKind.FINISHED
    assert not (folder / "journal.head").exists()

    with Journal.reopened(folder) as journal:
        journal.begin_epoch()
    assert heads(folder).synced.seq == len(rows)


def test_a_row_that_the_head_contradicts_is_damage(closed, tmp_path):
    """A whole history that was replaced by another sound one is found, too."""
    folder = laid_out(tmp_path / "run", closed)
    last = heads(folder).synced
    Head.create(folder, Position(last.seq, bytes(16), last.version)).close()

    with pytest.raises(StoreCorrupt, match="does not match the journal's head"):
        Journal.reopened(folder)


def test_the_log_is_copied_into_the_database_now_and_then(tmp_path):
    """Damage in the log then concerns recent rows only."""
    with Journal.create(tmp_path, HEADER) as journal:
        for second in range(150):
            journal.append([Tick(float(second))])
        in_database = sqlite3.connect(f"file:{tmp_path / 'journal.db'}?immutable=1", uri=True)
        ((rows,),) = in_database.execute("SELECT count(*) FROM rows").fetchall()
        in_database.close()
        log_bytes = (tmp_path / "journal.db-wal").stat().st_size

    assert rows > 50
    assert log_bytes < 2 << 20
