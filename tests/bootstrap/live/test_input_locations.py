"""Where part files lie: on the node that wrote them, as the journal of their run shows it."""

import pytest

from sluice.api import run as api
from sluice.bootstrap.history import past_runs
from sluice.model.cluster import Locality
from sluice.store.runs import Runs

FIRST = """version: 1
jobs:
  - id: first
    reduces: {tasks: 4}
    run: {input: [in/text], output: parts, mapper: cat, reducer: cat}
"""
SECOND = """version: 1
jobs:
  - id: second
    run: {input: [parts, in], output: out, mapper: cat}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "text").write_text("".join(f"word{n}\t1\n" for n in range(40)))
    (tmp_path / "first.yaml").write_text(FIRST)
    (tmp_path / "second.yaml").write_text(SECOND)
    return tmp_path


def test_a_split_of_a_part_file_lies_where_the_part_was_written(folder):
    first = api.run(folder / "first.yaml", nodes=2, map_slots=1, reduce_slots=1)
    wrote = {
        f"part-{attempt.key.task:05d}": attempt.node.node_id
        for attempt in first.attempts
        if attempt.key.phase == 1
    }
    second = api.run(folder / "second.yaml", nodes=2, map_slots=1, reduce_slots=1)

    (run, *_) = Runs().newest()
    places = past_runs.replayed(run).state.jobs["second"].phases[0].pending._locations
    assert {"node-1", "node-2"} == set(wrote.values())
    assert sorted([*((node,) for node in wrote.values()), ()]) == sorted(places)
    assert Locality.NODE in {attempt.launch.locality for attempt in second.attempts}


def test_what_nobody_here_wrote_lies_nowhere(folder):
    (folder / "second.yaml").write_text(SECOND.replace("parts, ", ""))
    api.run(folder / "second.yaml", nodes=2, map_slots=1, reduce_slots=1)

    (run, *_) = Runs().newest()
    assert not past_runs.replayed(run).state.jobs["second"].phases[0].pending.is_placed
