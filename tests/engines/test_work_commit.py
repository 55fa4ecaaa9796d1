"""The output comes all at once or not at all, whenever it is interrupted."""

import os
from pathlib import Path

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


def stand_in(output):
    """What the output holds."""
    return {path.name: path.read_text() for path in output.iterdir()}


COMMITTED = {"part-00000": "part 0\n", "part-00001": "part 1\n", "part-00002": "part 2\n"}


def test_a_commit_gives_the_winners_and_nothing_else(staged):
    """Losers, zombies and the staging folder are gone."""
    staging, winners = staged
    staging.commit(winners, phase=1)

    assert stand_in(staging.output) == {**COMMITTED, "_SUCCESS": ""}
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
    assert crashed or step > 14  # the cases do reach into the commit
    if staging.output.exists():
        assert (staging.output / "_SUCCESS").exists()
    staging.commit(winners, phase=1)
    staging.commit(winners, phase=1)

    assert stand_in(staging.output) == {**COMMITTED, "_SUCCESS": ""}
    assert list(staging.output.parent.iterdir()) == [staging.output]


@pytest.mark.parametrize("kind", ["folder", "full folder", "file", "success"])
def test_an_output_that_appeared_meanwhile_is_left_alone(staged, kind):
    """Somebody else's results are never overwritten."""
    staging, winners = staged
    if kind == "file":
        staging.output.write_text("theirs")
    else:
        staging.output.mkdir()
        if kind == "full folder":
            (staging.output / "part-00000").write_text("theirs")
        if kind == "success":
            (staging.output / "_SUCCESS").touch()
    with pytest.raises(InvalidInput, match="exists"):
        staging.commit(winners, phase=1)

    assert staging.attempts.exists()
    assert not (staging.output / "part-00001").exists()


def test_lost_part_files_blame_their_tasks(staged):
    """So that they run again, rather than that an output is short."""
    staging, winners = staged
    Path(winners[1]).unlink()
    with pytest.raises(WorkFailed) as failure:
        staging.commit(winners, phase=1)

    assert failure.value.blames == [(1, 1)]
    assert not staging.output.exists()


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
