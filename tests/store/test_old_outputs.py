"""Outputs that stepped aside: each is removed or put back, once no process holds it."""

import shutil

import pytest

from sluice.store.old_outputs import HeldOutputs, old_outputs, settle_left


def output(folder, name):
    made = folder / name
    made.mkdir()
    (made / "_SUCCESS").touch()
    (made / "part-0").write_text(name)
    return made


def test_settling_removes_what_is_replaced_and_puts_back_the_rest(tmp_path):
    replaced, kept = output(tmp_path, "a"), output(tmp_path, "b")
    held = HeldOutputs()
    held.step_aside(replaced)
    held.step_aside(kept)
    assert [] == [one.name for one in tmp_path.iterdir() if not one.name.startswith(".")]
    replaced.mkdir()
    held.settle()

    assert ["a", "b"] == sorted(one.name for one in tmp_path.iterdir())
    assert [] == list(replaced.iterdir())
    assert "b" == (kept / "part-0").read_text()


def test_an_output_that_cannot_be_put_back_does_not_hold_up_the_next(tmp_path):
    held = HeldOutputs()
    for name in "ab":
        held.step_aside(output(tmp_path, name))
    (aside,) = tmp_path.glob(".a.old-*")
    shutil.rmtree(aside)
    with pytest.raises(FileNotFoundError):
        held.settle()

    assert "b" == (tmp_path / "b" / "part-0").read_text()


def test_what_is_held_is_left_alone_until_it_is_let_go(tmp_path):
    held = HeldOutputs()
    held.step_aside(output(tmp_path, "a"))
    assert [] == list(old_outputs(tmp_path))

    held.let_go()
    (left,) = old_outputs(tmp_path)
    assert tmp_path / "a" == left.output
    settle_left(tmp_path / "b")
    assert [left] == list(old_outputs(tmp_path)), "that of another output stays"
    settle_left(tmp_path / "a")
    assert "a" == (tmp_path / "a" / "part-0").read_text()


def test_an_output_that_another_process_holds_does_not_step_aside(tmp_path):
    first, second = HeldOutputs(), HeldOutputs()
    folder = output(tmp_path, "a")
    first.step_aside(folder)
    (aside,) = tmp_path.iterdir()
    with pytest.raises(BlockingIOError):
        second.step_aside(aside)
    assert [aside] == list(tmp_path.iterdir())
    first.settle()


def test_an_unfinished_output_is_no_old_output(tmp_path):
    folder = output(tmp_path, ".a.old-0123abcd")
    (folder / "_SUCCESS").unlink()
    assert [] == list(old_outputs(tmp_path))
