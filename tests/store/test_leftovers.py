"""All that runs leave on the disk is found and removed, and nothing else is."""

import os

import pytest

from sluice.core.events import Tick
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import JobId
from sluice.store.leftovers import (
    LeftoverKind,
    leftovers,
    living_writer,
    remove_leftover,
    remove_run,
)
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


def old_output(folder, name):
    """An output that stepped aside for a process that died."""
    aside = folder / f".{name}.old-0123abcd"
    aside.mkdir(parents=True)
    (aside / "_SUCCESS").write_text(name)
    return aside


@pytest.mark.parametrize(
    ("finished", "is_replaced", "is_leftover"),
    [
        ([], False, False),  # of no known run
        ([False], False, False),  # the run can be resumed, and put it back
        ([False], True, True),
        ([True], False, True),
        ([True, False], False, False),  # the newest run decides
        ([False, True], False, True),
    ],
)
def test_an_old_output_is_a_leftover_unless_the_newest_run_of_its_place_needs_it(
    runs, tmp_path, finished, is_replaced, is_leftover
):
    out = tmp_path / "out"
    started(runs, [out / ".b.sluice-0"], finished=True)  # of another output
    newest = ""
    for number, is_finished in enumerate(finished):
        newest = started(runs, [out / f".a.sluice-{number}"], finished=is_finished).name
    aside = old_output(out, "a")
    if is_replaced:
        (out / "a").mkdir()
    listed = [one for one in leftovers(runs) if one.kind is LeftoverKind.OLD_OUTPUT]

    assert [(one.path, one.run_id) for one in listed] == ([(aside, newest)] if is_leftover else [])
    for one in listed:
        remove_leftover(runs, one)
    assert aside.exists() is not is_leftover
    assert (out / "a" / "_SUCCESS").exists() is (is_leftover and not is_replaced), "put back"


def test_the_staging_folders_of_a_run_without_a_record_are_those_of_its_journal(runs, tmp_path):
    """Runs of old releases had no `run.json`."""
    header = RunHeader(source="/a.yaml", folder="/", sha256="1", started_at="")
    named = [tmp_path / "out" / f".{name}.sluice-1" for name in "ab"]
    prepared = {JobId(path.name): {"staging": str(path)} for path in named}
    with runs.create(header, {**prepared, JobId("without"): {}}) as journal:
        journal.append([Tick(1.0)])
        journal.finish()
    (journal.folder / "run.json").unlink()
    for path in (*named, tmp_path / "out" / ".c.sluice-1"):
        path.mkdir(parents=True)

    assert found(runs) == [(LeftoverKind.STAGING, path) for path in named]


def test_a_writer_of_an_output_lives_while_its_process_drives_the_run(runs, tmp_path):
    out = tmp_path / "out"
    folder = started(runs, [out / ".a.sluice-1"])
    assert living_writer(runs, out / "a") is None
    lock = RunLock(folder)
    try:
        assert living_writer(runs, out / "a") == (folder.name, os.getpid())
        assert living_writer(runs, out / "b") is None
    finally:
        lock.release()


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
