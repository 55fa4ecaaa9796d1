"""`sluice init` writes files that work as they are."""

import json

import pytest
from tests.cli.terminal import sluice

from sluice.cli.commands.init import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_written_once_and_is_valid(kind, tmp_path):
    file = tmp_path / "my jobs.yaml"
    answer = sluice("init", file, "--kind", kind)
    assert (answer.code, answer.out) == (0, "")
    assert f"'{file}'" in answer.err  # ready to paste

    assert json.loads(sluice("validate", file, "--json").out)["valid"] is True
    assert f"'{file}'" in file.read_text()
    again = sluice("init", file)
    assert (again.code, "exists" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("kind", "verbs"),
    [
        ("jobs", ["simulate", "compare --seeds 1", "order --evaluations 50", "plan"]),
        ("stages", ["simulate --tasks fair", "plan", "capacity"]),
    ],
)
def test_the_commands_that_it_names_work(kind, verbs, tmp_path):
    file = tmp_path / "workload.yaml"
    assert sluice("init", file, "--kind", kind).code == 0
    for verb in verbs:
        name, *flags = verb.split()
        assert f"sluice {name}" in file.read_text() or name == "compare"
        answer = sluice(name, file, *flags)
        assert answer.code == 0, (verb, answer.err)


def test_a_dash_prints_the_file_for_another_command():
    text = sluice("init", "-", "--kind", "stages")

    assert text.err == ""
    assert "jobs" in json.loads(sluice("simulate", "-", "--json", stdin=text.out.encode()).out)


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--kind", "stage"], ["--kind", "Did you mean stages?"]),
        (["no/such/folder/a.yaml"], ["cannot be written", "No such file"]),
        (["a\0b"], ["cannot be written"]),
    ],
)
def test_what_cannot_be_written_is_refused(words, fragments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = sluice("init", *words)

    assert (answer.code, answer.out) == (2, "")
    assert all(fragment in answer.err for fragment in fragments)
    assert list(tmp_path.iterdir()) == []
