"""The demo from end to end, on a small library, and every command that it ends with."""

import ast
import os
import shlex
import sys
from pathlib import Path

import pytest
from tests import warm_start
from tests.cli.terminal import sluice

from sluice.cli.demonstration.story import Files, demo, example, next_commands

HOUSE = Path(__file__).resolve().parents[3]
# What the output of each command has, if the command did what the demo says.
SHOWN = {"run": ", took ", "story": "job grep", "why": "grep", "simulate": "makespan"}


def make_library(folder, *, modules=12):
    for number in range(modules):
        text = f"import os\n\n\ndef function_{number}(function):\n    return os.sep\n" * 400
        (folder / f"m{number:02}.py").write_text(text)


@pytest.mark.slow
@pytest.mark.no_invariants
def test_the_demo_runs_twice_and_its_last_commands_work(tmp_path, monkeypatch, capsys):
    """Twice, because a second `sluice demo` finds the folder of the first."""
    monkeypatch.setenv("SLUICE_HOME", "the user's own")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib").mkdir()
    make_library(tmp_path / "lib")
    folder = Path("the demo")

    for _ in range(2):
        demo(folder, volume_bytes=30_000, library=tmp_path / "lib")

    printed = capsys.readouterr().out.split("Real text")[-1]
    assert os.environ["SLUICE_HOME"] == "the user's own"
    assert "Both runs wrote the same" in printed
    # Two modules fill a volume, and there are four volumes.
    assert "3,200 lines repeat six letters or more" in printed
    assert "of 5 predictions held" in printed
    assert all((folder / name).stat().st_size > 10_000 for name in ("gantt.html", "gantt.png"))
    check_next_commands(Files(folder), tmp_path)


def check_next_commands(files, folder):
    for _, words in next_commands(files):
        answer = warm_start.run(
            [sys.executable, "-m", "sluice", *shlex.split(words)],
            cwd=folder,
            env=os.environ | {"SLUICE_HOME": str(files.state.absolute()), "COLUMNS": "80"},
            capture_output=True,
            check=False,
            text=True,
        )
        assert (0, "") == (answer.returncode, answer.stderr if answer.returncode else ""), words
        assert SHOWN[words.split()[0]] in answer.stdout, words


@pytest.mark.parametrize("name", ["letter", ".hidden"])
def test_a_folder_with_other_files_is_refused_and_stays_as_it_is(name, tmp_path):
    (tmp_path / name).write_text("dear")
    answer = sluice("demo", tmp_path)
    of_a_file = sluice("demo", tmp_path / name)

    assert (2, "", True) == (answer.code, answer.out, "FOLDER" in answer.err)
    assert (2, "") == (of_a_file.code, of_a_file.out)
    assert (tmp_path / name).read_text() == "dear"


def test_the_wheel_has_all_files_of_the_demo():
    """The hook of the build names them; an installed package has no checkout around it."""
    tree = ast.parse((HOUSE / "hatch_build.py").read_text())
    (packed,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "DEMO_FILES"
    )
    source = (HOUSE / "src/sluice/cli/demonstration/story.py").read_text()

    assert all((HOUSE / "examples" / name).is_file() for name in packed)
    assert all(example(name).is_file() for name in packed)
    for name in packed:
        assert Path(name).name in source or Path(name).name == "LICENSE"
