"""No name and no line that a task wrote can control the terminal."""

import json
import re

import pytest
from tests.cli.terminal import sluice
from tests.estimate.made_runs import MachineModel, draws, settings

from sluice.cli.answers import console, talk
from sluice.store.profiles import Profiles

RED, TITLE, NUL = "\x1b[31m", "\x1b]0;gone\x07", "\x00"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def failing(tmp_path):
    """A job whose task writes escapes to stderr, and fails."""
    (tmp_path / "in.txt").write_text("a\n")
    (tmp_path / "bad.sh").write_text(
        "printf '\\033[31mred \\033]0;gone\\007 nul \\000 bell \\007\\n' >&2; exit 3\n"
    )
    run = {"input": ["in.txt"], "output": "out", "mapper": "sh bad.sh"}
    (tmp_path / "w.json").write_text(json.dumps({"version": 1, "jobs": [{"id": "j", "run": run}]}))


@pytest.mark.slow
def test_what_a_task_wrote_is_escaped_for_people_and_exact_for_programs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failing(tmp_path)
    answers = [sluice("run", "w.json"), sluice("why", "j"), sluice("story", "j/map/0")]

    for answer in answers:
        assert not CONTROL.search(answer.out + answer.err)
    assert r"\x1b[31mred" in answers[2].out
    assert r"\x00" in answers[2].out
    exact = json.loads(sluice("story", "j/map/0", "--json").out)
    assert RED in json.dumps(exact, ensure_ascii=False).replace(r"\u001b", "\x1b")


def test_an_imported_name_is_escaped_in_tables(tmp_path):
    name = f"{RED}etl{TITLE}"
    with Profiles.open() as profiles:
        profiles.add(
            MachineModel().runs(settings(slots=(1, 2), sizes_mb=(40,)), draws(1), profile=name)
        )

    for words in (["profiles"], ["profiles", name], ["calibrate"]):
        answer = sluice(*words)
        assert not CONTROL.search(answer.out + answer.err), words
        assert r"\x1b[31m" in answer.out, words
    assert name in json.loads(sluice("profiles", "--json").out)["profiles"]


def test_messages_and_lines_are_escaped(capsys):
    talk(f"job {RED}{NUL}")
    console().print(f"{TITLE}\ttab")
    console(stderr=True).print(f"{RED}")
    heard = capsys.readouterr()

    assert "job \\x1b[31m\\x00\n" in heard.err
    assert not CONTROL.search(heard.out + heard.err)
