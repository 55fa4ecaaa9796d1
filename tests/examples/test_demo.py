"""The demo from end to end, on a small library, and every command that it ends with."""

import os
import shlex
import subprocess
import sys

import pytest
from examples import demo as demo_module
from examples.demo import Files, demo, next_commands

# Where each command's output says that it did what it was said to do.
TOLD = {"run": ", took ", "story": "job grep", "why": "grep", "simulate": "makespan"}


def make_library(folder, *, modules=12):
    for number in range(modules):
        text = f"import os\n\n\ndef function_{number}(self):\n    return os.sep\n" * 400
        (folder / f"m{number:02}.py").write_text(text)


@pytest.mark.slow
@pytest.mark.no_invariants
def test_the_demo_tells_its_story_twice_and_its_last_commands_work(tmp_path, monkeypatch, capsys):
    """Twice, for a second `make demo` finds the folder of the first."""
    monkeypatch.setenv("SLUICE_HOME", "overwritten by the demo, restored by the test")
    (tmp_path / "lib").mkdir()
    make_library(tmp_path / "lib")
    folder = tmp_path / "demo"

    for _ in range(2):
        demo(folder, volume_bytes=30_000, library=tmp_path / "lib")

    printed = capsys.readouterr().out.split("Real text")[-1]
    assert "Both runs wrote the same" in printed
    assert "4,800 lines import something" in printed
    assert all((folder / name).stat().st_size > 10_000 for name in ("gantt.html", "gantt.png"))
    check_next_commands(Files(folder))


def check_next_commands(files):
    for _, words in next_commands(files):
        answer = subprocess.run(
            [sys.executable, "-m", "sluice", *shlex.split(words)],
            cwd=demo_module.EXAMPLES.parent,
            env=os.environ | {"SLUICE_HOME": str(files.state), "COLUMNS": "80"},
            capture_output=True,
            check=False,
            text=True,
        )
        assert (0, "") == (answer.returncode, answer.stderr if answer.returncode else ""), words
        assert TOLD[words.split()[0]] in answer.stdout, words
