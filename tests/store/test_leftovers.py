"""What runs leave on the disk is found and removed, and nothing else is."""

import pytest

from sluice.model.errors import EngineUnavailable
from sluice.store.leftovers import LeftoverKind, leftovers, remove_leftover, remove_run
from sluice.store.rows import RunHeader
from sluice.store.run_lock import RunLock
from sluice.store.run_record import mark
from sluice.store.runs import Runs


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "home")


def started(runs, staging=(), *, finished=False):
    """The folder of a run, with a scratch folder and its staging folders."""
    header = RunHeader(source="/a.yaml", folder="/", sha256="1", started_at="")
    with runs.create(header, staging=map(str, staging)) as journal:
        if finished:
            journal.finish()
    (journal.folder / "scratch" / "node").mkdir(parents=True)
    (journal.folder / "scratch" / "node" / "spill").write_bytes(b"x" * 1000)
    for folder in staging:
        folder.mkdir(parents=True)
        mark(folder, journal.folder)
    return journal.folder


def found(runs):
    return [(one.kind, one.path) for one in leftovers(runs)]


def clean(runs):
    for one in leftovers(runs):
        remove_leftover(runs, one)
    assert leftovers(runs) == ()


def test_an_unfinished_run_leaves_nothing_that_may_go(runs, tmp_path):
    started(runs, [tmp_path / "out" / ".a.sluice-a"])

    assert found(runs) == []


def test_scratch_and_staging_of_a_finished_run_are_leftovers(runs, tmp_path):
    staging = tmp_path / "out" / ".a.sluice-a"
    folder = started(runs, [staging], finished=True)
    (one, _) = leftovers(runs)

    assert found(runs) == [
        (LeftoverKind.SCRATCH, folder / "scratch"),
        (LeftoverKind.STAGING, staging),
    ]
    assert (one.bytes, one.run_id) == (1000, folder.name)
    clean(runs)
    assert (folder / "journal.db").exists()
    assert not staging.exists()


def test_a_run_without_a_journal_and_drafts_are_leftovers(runs):
    folder = started(runs)
    draft, unstarted = folder / "journal.db.new-wal", runs.folder / "run-000009-abcdef01"
    draft.write_text("")
    unstarted.mkdir()
    (unstarted / "journal.db.new").write_text("")

    assert found(runs) == [(LeftoverKind.DRAFT, draft), (LeftoverKind.UNSTARTED, unstarted)]
    clean(runs)
    assert list(runs.folders()) == [folder]


def test_a_run_that_has_begun_meanwhile_is_not_removed(runs):
    """It was listed while its process was just making it."""
    folder = started(runs)
    journal = folder / "journal.db"
    journal.rename(folder / "hidden")
    (one,) = leftovers(runs)
    (folder / "hidden").rename(journal)
    remove_leftover(runs, one)

    assert one.kind is LeftoverKind.UNSTARTED
    assert journal.exists()


def test_a_staging_folder_of_a_lost_run_is_found_next_to_others(runs, tmp_path):
    lost, kept = tmp_path / "out" / ".a.sluice-1", tmp_path / "out" / ".b.sluice-2"
    started(runs, [lost]).rename(tmp_path / "lost")
    started(runs, [kept])

    assert found(runs) == [(LeftoverKind.STAGING, lost)]
    clean(runs)
    assert (lost.exists(), kept.exists()) == (False, True)


def test_staging_folders_of_other_state_folders_are_not_touched(runs, tmp_path):
    """Their runs may be going on; this state folder knows nothing about them."""
    other = Runs(tmp_path / "other")
    started(other, [tmp_path / "out" / ".a.sluice-1"])
    unmarked = tmp_path / "out" / ".c.sluice-3"
    unmarked.mkdir()
    started(runs, [tmp_path / "out" / ".b.sluice-2"], finished=True)

    assert [path.name for _, path in found(runs)] == ["scratch", ".b.sluice-2"]
    clean(runs)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        ".a.sluice-1",
        ".c.sluice-3",
    ]


def test_a_record_that_was_tampered_with_removes_nothing_else(runs, tmp_path):
    """Only what is named as a staging folder goes."""
    precious = tmp_path / "precious"
    folder = started(runs, [precious, tmp_path / "out" / ".a.sluice-a"], finished=True)
    clean(runs)
    remove_run(runs.find(folder.name))

    assert precious.is_dir()
    assert not folder.exists()


def test_a_run_goes_with_all_that_it_left(runs, tmp_path):
    staging = tmp_path / "out" / ".a.sluice-a"
    folder = started(runs, [staging])
    remove_run(runs.find(folder.name))

    assert (folder.exists(), staging.exists()) == (False, False)


def test_nothing_is_removed_under_a_process_that_drives_the_run(runs, tmp_path):
    staging = tmp_path / "out" / ".a.sluice-a"
    folder = started(runs, [staging], finished=True)
    before = leftovers(runs)
    lock = RunLock(folder)
    try:
        assert leftovers(runs) == (), "it is cleaning up itself"
        for one in before:
            with pytest.raises(EngineUnavailable, match="is being driven"):
                remove_leftover(runs, one)
        with pytest.raises(EngineUnavailable, match="is being driven"):
            remove_run(runs.find(folder.name))
    finally:
        lock.release()
    assert (folder / "scratch").is_dir()
    assert staging.is_dir()
