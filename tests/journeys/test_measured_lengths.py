"""A job is run once; then each command that asks for lengths takes those that were measured."""

from __future__ import annotations

import json

import pytest
from tests.cli.terminal import sluice

FILE = """\
version: 1
cluster: {map_slots: 2, reduce_slots: 1}
jobs:
  - id: words
    run: {input: in/*.txt, mapper: cat, reducer: uniq -c, output: "{folder}/out"}
"""


@pytest.fixture
def workload(tmp_path, monkeypatch):
    """A file whose job has run once. One input is written without brackets."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    (folder / "in").mkdir(parents=True)
    for number in range(3):
        (folder / "in" / f"{number}.txt").write_text("a\nb\n" * 100)
    (folder / "job.yaml").write_text(FILE.replace("{folder}", str(folder)))
    monkeypatch.chdir(tmp_path)  # from another folder, by a relative path
    refused = sluice("advise", "work/job.yaml")
    assert (refused.code, "Run it once" in refused.err) == (2, True), refused
    assert sluice("run", "work/job.yaml").code == 0
    return "work/job.yaml"


@pytest.mark.parametrize(
    "words",
    [("simulate",), ("compare",), ("order",), ("predict",), ("advise",),
     ("size", "--deadline-s", "60")],
)  # fmt: skip
def test_each_command_answers(workload, words):
    command, *more = words
    answer = sluice(command, workload, *more, "--json")
    assert answer.code == 0, answer.err
    assert "words" in answer.out or command in ("advise", "size", "compare"), answer.out
    json.loads(answer.out)


def test_other_commands_under_the_same_name_measured_nothing(workload, tmp_path):
    changed = tmp_path / "work" / "job.yaml"
    changed.write_text(changed.read_text().replace("mapper: cat", "mapper: tac"))
    answer = sluice("size", workload, "--deadline-s", "60")
    assert (answer.code, "has no lengths" in answer.err) == (2, True), answer
