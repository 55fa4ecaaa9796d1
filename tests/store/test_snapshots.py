"""A snapshot of a journal changes how long its events take to read, and never what they are."""

import pickle
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import sluice
from sluice.core.events import NodeLost, Tick
from sluice.model.errors import StoreCorrupt
from sluice.model.ids import NodeId
from sluice.store import snapshots
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, RunHeader, entries
from sluice.store.snapshots import SNAPSHOT_NAME, recorded_events

HEADER = RunHeader(source="/data/jobs.yaml", sha256="0f" * 32, started_at="2026-01-01T00:00:00Z")
BATCHES = [[NodeLost(float(at), NodeId(f"n{at}"), "gone"), Tick(float(at))] for at in range(6)]
EVENTS = [event for batch in BATCHES for event in batch]


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(snapshots, "SEGMENT_EVENTS", 4)


def finished_run(folder, batches):
    folder.mkdir(exist_ok=True)
    with Journal.create(folder, HEADER) as journal:
        for batch in batches:
            journal.add(batch)
            journal.note([])
        journal.finish()
    return folder


@pytest.fixture
def recorded(tmp_path, small_segments):
    """The folder of a finished run, whose snapshot has three segments."""
    return finished_run(tmp_path / "run", BATCHES)


def by_rows(folder):
    return [entry.event() for entry in entries(folder) if entry.kind is EntryKind.EVENT]


def damage_row(folder, seq):
    connection = sqlite3.connect(folder / "journal.db", isolation_level=None)
    connection.execute("UPDATE rows SET payload = '{}' WHERE seq = ?", (seq,))
    connection.close()


def test_events_are_those_of_the_rows(recorded):
    assert list(recorded_events(recorded)) == by_rows(recorded) == EVENTS
    damage_row(recorded, 1)  # so what follows comes from the snapshot
    assert list(recorded_events(recorded)) == EVENTS


def test_a_run_of_few_events_has_none(tmp_path):
    folder = finished_run(tmp_path / "run", BATCHES)

    assert not (folder / SNAPSHOT_NAME).exists()
    assert list(recorded_events(folder)) == EVENTS


def test_only_a_finished_run_with_a_snapshot_gives_its_events_at_once(recorded, tmp_path):
    """Any other is replayed row by row, which compares its decisions as well."""
    with Journal.reopened(recorded) as journal:
        assert list(journal.events_if_finished() or ()) == EVENTS
        journal.begin_epoch()
        assert journal.events_if_finished() is None
    with Journal.reopened(finished_run(tmp_path / "few", BATCHES[:1])) as journal:
        assert journal.events_if_finished() is None


def test_without_a_snapshot_the_rows_are_read(recorded):
    (recorded / SNAPSHOT_NAME).unlink()

    assert list(recorded_events(recorded)) == EVENTS


def test_no_flipped_bit_changes_what_is_read(recorded):
    path = recorded / SNAPSHOT_NAME
    sound = path.read_bytes()
    for place in range(0, len(sound), 3):
        path.write_bytes(
            sound[:place] + bytes([sound[place] ^ 1 << place % 8]) + sound[place + 1 :]
        )
        assert list(recorded_events(recorded)) == EVENTS, place


def test_no_cut_changes_what_is_read(recorded):
    path = recorded / SNAPSHOT_NAME
    sound = path.read_bytes()
    for length in range(0, len(sound), 7):
        path.write_bytes(sound[:length])
        assert list(recorded_events(recorded)) == EVENTS, length


def test_a_damaged_segment_leaves_those_before_it(recorded):
    damage_row(recorded, 1)
    path = recorded / SNAPSHOT_NAME
    path.write_bytes(path.read_bytes()[:-1])

    assert list(recorded_events(recorded)) == EVENTS


def test_rows_after_the_snapshot_are_verified(recorded):
    path = recorded / SNAPSHOT_NAME
    path.write_bytes(path.read_bytes()[:-1])
    (last,) = [entry.seq for entry in entries(recorded) if entry.kind is EntryKind.FINISHED]
    damage_row(recorded, last)

    with pytest.raises(StoreCorrupt, match=f"row {last} "):
        list(recorded_events(recorded))


def test_a_snapshot_of_another_run_is_ignored(recorded, tmp_path):
    other = finished_run(tmp_path / "other", [[Tick(float(at))] for at in range(12)])
    shutil.copy(recorded / SNAPSHOT_NAME, other / SNAPSHOT_NAME)

    assert list(recorded_events(other)) == by_rows(other) != EVENTS


def test_a_snapshot_of_another_release_is_ignored(recorded, monkeypatch):
    monkeypatch.setattr(sluice, "__version__", "0.0.1")
    assert list(recorded_events(recorded)) == EVENTS
    damage_row(recorded, 1)

    with pytest.raises(StoreCorrupt, match="row 1 "):
        list(recorded_events(recorded))


def test_a_resumed_run_adds_its_events_after_the_snapshot(tmp_path, small_segments):
    folder = tmp_path / "run"
    folder.mkdir()
    with Journal.create(folder, HEADER) as journal:
        for batch in BATCHES[:3]:
            journal.add(batch)
    with Journal.reopened(folder) as journal:
        journal.begin_epoch()
        for batch in BATCHES[3:]:
            journal.add(batch)
        journal.finish()

    assert (folder / SNAPSHOT_NAME).exists()
    assert list(recorded_events(folder)) == EVENTS


class Hostile:
    """A pickle of it makes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_snapshot_cannot_run_code(recorded, tmp_path):
    path = recorded / SNAPSHOT_NAME
    (first, *_) = snapshots._segments(path)
    made = tmp_path / "made"
    pickle.loads(pickle.dumps(Hostile(made)))  # noqa: S301  # to see that this pickle runs code
    assert made.exists()
    made.unlink()
    hostile: list[Any] = [Hostile(made)]
    path.write_bytes(snapshots._packed(hostile, first.last))

    assert list(recorded_events(recorded)) == EVENTS
    assert not made.exists()


def test_a_full_disk_costs_the_snapshot_only(tmp_path, small_segments, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshots, "open_private_file", full)
    folder = finished_run(tmp_path / "run", BATCHES)

    assert not (folder / SNAPSHOT_NAME).exists()
    assert list(recorded_events(folder)) == EVENTS


def test_a_live_run_is_explained_and_reported_alike(tmp_path, monkeypatch):
    """`why`, `story` and a finished `--resume`, with the snapshot and without it."""
    monkeypatch.setattr(snapshots, "SEGMENT_EVENTS", 10)
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    (tmp_path / "in").mkdir()
    for number in range(8):
        (tmp_path / "in" / str(number)).write_text("to be or not to be\n")
    file = tmp_path / "jobs.json"
    file.write_text(
        '{"version": 1, "cluster": {"map_slots": 2, "reduce_slots": 1}, "jobs": [{"id": "words",'
        ' "reduces": {"tasks": 1},'
        ' "run": {"input": ["in"], "output": "out", "mapper": "cat", "reducer": "uniq -c"}}]}'
    )
    sluice.run(file)
    (snapshot,) = (tmp_path / "home/runs").glob(f"*/{SNAPSHOT_NAME}")

    def answers():
        resumed = sluice.run(file, resume=True)
        assert resumed.extra["was_finished"]
        return sluice.why("words"), sluice.story("words"), (resumed.jobs, resumed.extra)

    with_it = answers()
    snapshot.unlink()
    assert with_it == answers()
