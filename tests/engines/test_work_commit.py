"""The output comes all at once or not at all, whenever it is interrupted."""

import os
import stat
from pathlib import Path
from zlib import crc32

import pytest

from sluice.engines.mapreduce import WorkFailed
from sluice.engines.mapreduce.commit import Staging
from sluice.model.errors import InvalidInput


class Crash(BaseException):
    """The machine stops here."""


@pytest.fixture
def staged(tmp_path):
    """Three winners and a loser, ready to be committed."""
    staging = Staging.beside(tmp_path / "deep" / "out", "job-1")
    staging.begin()
    winners = []
    for task in range(3):
        path = staging.attempts / f"job-1-1-{task}-1-e1.part"
        path.write_text(f"part {task}\n")
        winners.append(str(path))
    (staging.attempts / "job-1-1-0-2-e1.part").write_text("of a loser\n")
    (staging.attempts / "job-1-1-1-2-e1.writing").write_text("of a zomb")
    return staging, winners


def content_of(output):
    """The files of the output with their text."""
    return {path.name: path.read_text() for path in output.iterdir()}


COMMITTED = {
    "part-00000": "part 0\n",
    "part-00001": "part 1\n",
    "part-00002": "part 2\n",
    "_SUCCESS": "",
    ".sluice": ".out.sluice-job-1\n",
}


def test_a_commit_gives_the_winners_and_nothing_else(staged):
    """Losers, zombies and the staging folder are gone."""
    staging, winners = staged
    staging.commit(winners, phase=1)

    assert content_of(staging.output) == COMMITTED
    assert list(staging.output.parent.iterdir()) == [staging.output]


def crash_at(monkeypatch, step):
    """Let the step-th act on the file system be the last before a crash."""
    acts = 0
    # Each of these is one act that a crash may come before.
    for owner, name in ((Path, "replace"), (Path, "rename"), (Path, "mkdir"), (os, "fsync"),
                        (os, "unlink"), (os, "rmdir")):  # fmt: skip
        real = getattr(owner, name)

        def act(*args, real=real, **more):
            nonlocal acts
            acts += 1
            if acts == step:
                raise Crash
            return real(*args, **more)

        monkeypatch.setattr(owner, name, act)


@pytest.mark.parametrize("step", range(1, 30))
def test_a_commit_interrupted_anywhere_is_finished_by_repeating_it(staged, monkeypatch, step):
    """Recovery does not know how far the commit came."""
    staging, winners = staged
    crashed = False
    with monkeypatch.context() as patched:
        crash_at(patched, step)
        try:
            staging.commit(winners, phase=1)
        except Crash:
            crashed = True
    assert crashed or step > 16  # the cases do reach into the commit
    if staging.output.exists():
        assert (staging.output / "_SUCCESS").exists()
    staging.commit(winners, phase=1)
    staging.commit(winners, phase=1)

    assert content_of(staging.output) == COMMITTED
    assert list(staging.output.parent.iterdir()) == [staging.output]


@pytest.mark.parametrize("kind", ["folder", "full folder", "file", "success", "other run"])
def test_an_output_that_appeared_meanwhile_is_left_alone(staged, kind):
    """Results of another program are never overwritten."""
    staging, winners = staged
    if kind == "file":
        staging.output.write_text("theirs")
    else:
        staging.output.mkdir()
        if kind == "full folder":
            (staging.output / "part-00000").write_text("theirs")
        if kind in {"success", "other run"}:
            (staging.output / "_SUCCESS").touch()
        if kind == "other run":
            (staging.output / ".sluice").write_text(".out.sluice-job-2\n")
    with pytest.raises(InvalidInput, match="exists"):
        staging.commit(winners, phase=1)

    assert staging.attempts.exists()
    assert not (staging.output / "part-00001").exists()


def test_a_job_that_ran_again_after_its_commit_keeps_its_output(staged):
    """A damaged journal may have lost that the tasks ended, and that the output was committed."""
    staging, winners = staged
    staging.commit(winners, phase=1)
    staging.begin()
    for winner in winners:
        Path(winner).write_text("again\n")
    staging.commit(winners, phase=1)

    assert content_of(staging.output) == COMMITTED
    assert list(staging.output.parent.iterdir()) == [staging.output]


def test_an_output_that_replaced_the_own_one_is_left_alone(staged):
    """It has a _SUCCESS as well, and all winners are gone; the mark shows the difference."""
    staging, winners = staged
    staging.commit(winners, phase=1)
    staging.output.rename(staging.output.with_name("kept"))
    staging.output.mkdir()
    (staging.output / "_SUCCESS").touch()

    with pytest.raises(InvalidInput, match="exists"):
        staging.commit(winners, phase=1)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_an_output_has_the_modes_that_the_umask_gives(tmp_path, umask):
    """It is the user's, not state; the staging folder is private until then."""
    before = os.umask(umask)
    try:
        (tmp_path / "plain").mkdir()
        (tmp_path / "plain" / "file").touch()
        staging = Staging.beside(tmp_path / "deep" / "out", "job-1")
        staging.begin()
        winner = staging.attempts / "winner.part"
        winner.touch()
        assert mode_of(staging.folder) == 0o700
        staging.commit([str(winner)], phase=0)
    finally:
        os.umask(before)

    plain_folder, plain_file = mode_of(tmp_path / "plain"), mode_of(tmp_path / "plain" / "file")
    assert mode_of(staging.output) == mode_of(staging.output.parent) == plain_folder
    assert {mode_of(path) for path in staging.output.iterdir()} == {plain_file}


def test_an_output_in_a_shared_folder_gets_the_group_of_the_folder(tmp_path):
    """The setgid bit passes through the staging folder."""
    tmp_path.chmod(0o2775)
    staging = Staging.beside(tmp_path / "out", "job-1")
    staging.begin()
    winner = staging.attempts / "winner.part"
    winner.touch()
    staging.commit([str(winner)], phase=0)

    assert staging.output.stat().st_mode & stat.S_ISGID


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_lost_part_files_blame_their_tasks(staged):
    """So that they run again, rather than that an output is short."""
    staging, winners = staged
    Path(winners[1]).unlink()
    with pytest.raises(WorkFailed) as failure:
        staging.commit(winners, phase=1)

    assert failure.value.blames == [(1, 1)]
    assert not staging.output.exists()


@pytest.mark.parametrize("content", [b"", b"part ", b"part 2\n", b"part 1\nand more\n"])
def test_part_files_that_changed_since_they_were_written_are_no_output(staged, content):
    """Their names hold their checksums. One that was gathered before a crash is looked at too."""
    staging, winners = staged
    named = [f"{path.removesuffix('.part')}-{crc32(f'part {n}{chr(10)}'.encode()):08x}.part"
             for n, path in enumerate(winners)]  # fmt: skip
    for path, name in zip(winners, named, strict=True):
        Path(path).rename(name)
    Path(named[1]).write_bytes(content)

    for _ in range(2):
        with pytest.raises(WorkFailed, match="tasks 1 are not what") as failure:
            staging.commit(named, phase=1)
        assert failure.value.blames == [(1, 1)]
        assert not staging.output.exists()
    staging.committed.joinpath("part-00001").write_text("part 1\n")
    staging.commit(named, phase=1)
    assert content_of(staging.output) == COMMITTED


def test_an_abort_leaves_no_trace_and_may_be_repeated(staged):
    """A failed job has no output."""
    staging, _ = staged
    staging.abort()
    staging.abort()

    assert list(staging.output.parent.iterdir()) == []


def test_a_long_output_name_still_has_a_staging_folder(tmp_path):
    """Names of files end at 255 bytes."""
    staging = Staging.beside(tmp_path / ("ü" * 120), "n" * 70)
    staging.begin()

    assert staging.attempts.is_dir()
