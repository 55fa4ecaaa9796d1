"""The journal of a cluster that goes on is cut between turns, or stays whole where it must."""

from dataclasses import replace

import pytest
from tests.engines.fakes import HEADER, FakeEngine, FakeSource, driver, job
from tests.engines.test_intake import ScriptedIntake
from tests.store.test_journal import synced

from sluice.core.events import Tick
from sluice.engines.interruption import RunInterrupted
from sluice.engines.live_settings import LiveSettings
from sluice.engines.progress import Unwatched
from sluice.engines.segments import SegmentLimits
from sluice.model.errors import EngineUnavailable
from sluice.policies.orders.fifo import Fifo
from sluice.store.database import StoreFull, StoreUnavailable
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, entries, header_and_end, opening_row
from sluice.store.run_lock import RunLock
from sluice.store.service.segments import chain_of, chains, following, segments_in

SCRIPT = [(float(number), [job(f"job-{number:06d}")]) for number in range(8)]


class Segments:
    """Folders for segments. full: how many are refused before one is given."""

    def __init__(self, folder, full=0):
        self.folder, self.full, self.asked = folder, full, 0

    def saved(self, unsettled):
        return {"unsettled": sorted(unsettled)}

    def next(self):
        self.asked += 1
        if self.asked <= self.full:
            raise StoreFull("no room")
        found = segments_in(self.folder)
        folder = self.folder / f"segment-{self.asked + 1:06d}"
        folder.mkdir()
        return folder, replace(HEADER, after=found[-1].name)


class Said(Unwatched):
    def __init__(self):
        self.messages = []

    def on_message(self, message):
        self.messages.append(message)


def begun(root):
    folder = root / "segment-000001"
    folder.mkdir()
    Journal.create(folder, HEADER).close()
    return folder


def served(root, segments, end_s=20.0, **limits):
    """Drive the jobs of the script; what the driver said."""
    source, said = FakeSource([]), Said()
    with Journal.reopened(begun(root)) as journal:
        intake = ScriptedIntake(source, list(SCRIPT), journal.folder, end_s)
        made = driver(
            journal, FakeEngine(), source, [], intake=intake, segments=segments, watcher=said,
            settings=LiveSettings(segments=SegmentLimits(**limits)),
        )  # fmt: skip
        with pytest.raises(RunInterrupted):
            made.run()
    return said.messages


def rows(root):
    return [row for segment in chain_of(segments_in(root)[-1]) for row in entries(segment)]


def test_a_segment_begins_after_so_many_rows_or_so_long(tmp_path):
    by_rows, by_age, never = (tmp_path / name for name in ("rows", "age", "never"))
    for root in (by_rows, by_age, never):
        root.mkdir()
    served(by_rows, Segments(by_rows), rows=20)
    served(by_age, Segments(by_age), age_s=4.0)
    served(never, Segments(never))
    assert len(segments_in(by_rows)) > 3
    assert len(segments_in(by_age)) == 5  # at 4, 8, 12 and 16 seconds, or a turn later
    assert len(segments_in(never)) == 1
    events = [
        [row.payload for row in rows(root) if row.kind is EntryKind.EVENT]
        for root in (by_rows, by_age, never)
    ]
    assert events[0] == events[1] == events[2]


def test_a_policy_that_cannot_save_leaves_one_segment(tmp_path, monkeypatch):
    monkeypatch.setattr(Fifo, "saved", _nothing)
    segments = Segments(tmp_path)
    messages = served(tmp_path, segments, rows=20)
    assert segments.asked == 0
    assert messages == [
        "the journal stays one segment: the tasks policy fifo cannot save what it remembers."
    ]
    assert len(segments_in(tmp_path)) == 1


def test_a_disk_that_does_not_take_a_segment_is_tried_again(tmp_path):
    segments = Segments(tmp_path, full=1)
    messages = served(tmp_path, segments, rows=20, end_s=100.0)
    assert messages == ["no new segment of the journal yet: no room"]
    assert segments.asked > 1
    assert chains(tmp_path) == [segments_in(tmp_path)]
    assert len(segments_in(tmp_path)) == 2


def test_a_segment_that_was_not_written_whole_is_none(tmp_path, monkeypatch):
    first, second = begun(tmp_path), tmp_path / "segment-000002"
    second.mkdir()
    header = replace(HEADER, after=first.name)
    with Journal.reopened(first) as journal:
        journal.begin_epoch()
        monkeypatch.setattr("sluice.store.journal_file.sync_folder", _fails)
        with monkeypatch.context() as patched:
            patched.setattr("shutil.rmtree", lambda *_, **__: None)  # as on a disk that fails
            with pytest.raises(StoreUnavailable, match="torn"):
                journal.go_on_in(second, header, "{}")
        assert segments_in(tmp_path) == [first]
        with pytest.raises(StoreUnavailable, match="torn"):
            journal.go_on_in(second, header, "{}")
        monkeypatch.undo()
        assert not second.exists()
        second.mkdir()
        assert segments_in(tmp_path) == [first]
        assert following(first) is None
        journal.begin_epoch()  # it goes on as before
        journal.go_on_in(second, header, "{}")
        with pytest.raises(EngineUnavailable):
            RunLock(first)  # attempts of the first segment still run
        journal.begin_epoch()
    assert [row.kind for row in entries(second)] == [
        EntryKind.RUN, EntryKind.OPENING, EntryKind.EPOCH,
    ]  # fmt: skip
    assert [row.epoch for row in entries(second)] == [2, 2, 2]
    assert (opening_row(first), opening_row(second)) == (None, "{}")
    assert header_and_end(second)[0].after == first.name
    assert following(first) == second
    with Journal.reopened(second) as journal:
        assert journal.epoch == 3
    RunLock(first).release()


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_segment_is_whole_on_the_disk_before_the_next_one_begins(tmp_path, monkeypatch, is_noted):
    """The note on its last batch is in it, too."""
    first, second = begun(tmp_path), tmp_path / "segment-000002"
    second.mkdir()
    with Journal.reopened(first) as journal:
        journal.begin_epoch()
        journal.add([Tick(1.0)])
        if is_noted:
            journal.note([])
        names = synced(monkeypatch)
        journal.go_on_in(second, replace(HEADER, after=first.name), "{}")
        monkeypatch.undo()
        journal.begin_epoch()

    kinds = [EntryKind.EVENT, EntryKind.DECISION] if is_noted else [EntryKind.EVENT]
    assert [row.kind for row in entries(first)][-len(kinds) :] == kinds
    assert [row.kind for row in entries(second)][1:] == [EntryKind.OPENING, EntryKind.EPOCH]
    assert names.index("journal.head") < names.index("journal.head.new")
    assert is_noted or names[0] == "journal.db-wal"


def _fails(_folder):
    raise OSError("torn")


def _nothing(_policy):
    return None


def test_a_segment_that_began_with_nothing_is_a_chain_of_its_own(tmp_path):
    for number, after in enumerate(["", "segment-000001", "", "segment-000003"], 1):
        folder = tmp_path / f"segment-{number:06d}"
        folder.mkdir()
        Journal.create(folder, replace(HEADER, after=after)).close()
    (tmp_path / "segment-000005").mkdir()  # a crash came before its journal
    first, second, third, fourth = segments_in(tmp_path)
    assert chains(tmp_path) == [[first, second], [third, fourth]]
    assert chain_of(second) == [first, second]
    assert chain_of(third) == [third]
    assert [following(one) for one in (first, second, third, fourth)] == [
        second, None, fourth, None,
    ]  # fmt: skip
