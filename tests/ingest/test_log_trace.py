"""The reader of Sluice's own traces: the lengths of tasks that a simulation takes from one."""

import gzip
import json

import pytest
from tests.runs import even_nodes, map_reduce, simulate

from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.trace import recorded_lengths
from sluice.model.errors import InvalidInput
from sluice.reporting.run.trace import FIELDS, lines, write_trace


def test_a_recorded_run_replays_to_the_same_trace(tmp_path):
    """Lengths read back from a run with jitter, put into one without, give the same run."""
    jobs = [map_reduce("a", 7, 3.0, 2, 5.0), map_reduce("b", 4, 2.0, 3, 1.0)]
    first = simulate(even_nodes(2, 2, 1), jobs, seed=4, jitter=0.4)
    write_trace(tmp_path / "run.jsonl", lines(first.closed))
    recorded = recorded_lengths(tmp_path / "run.jsonl")

    for attempt in first.closed:
        key, took_s = attempt.key, attempt.finished_at_s - attempt.started_at_s
        assert took_s == pytest.approx(recorded(key.job_id, attempt.phase.name, key.task))
    assert recorded("a", "map", 7) is None


def test_only_success_is_a_length(tmp_path):
    """A task that was killed after a second did not take a second."""
    write_trace(tmp_path / "run.jsonl", [_line(outcome="killed", finished_at_s=1.0), _line()])

    assert 4.0 == recorded_lengths(tmp_path / "run.jsonl")("j", "map", 0)


def test_a_length_is_the_work_without_the_fetch(tmp_path):
    write_trace(tmp_path / "run.jsonl", [_line(shuffled_at_s=3.0)])

    assert 1.0 == recorded_lengths(tmp_path / "run.jsonl")("j", "map", 0)


def test_a_length_is_divided_by_the_factor_of_its_locality(tmp_path):
    """The simulation multiplies it again by where the task runs then."""
    write_trace(tmp_path / "run.jsonl", [_line(locality="rack"), _line(task=1)])
    recorded = recorded_lengths(tmp_path / "run.jsonl", {"rack": 2.0})

    assert (2.0, 4.0) == (recorded("j", "map", 0), recorded("j", "map", 1))


def test_a_packed_trace_is_read_as_any_log_is(tmp_path):
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(gzip.compress(f"{_line()}\n".encode()))

    assert 4.0 == recorded_lengths(path)("j", "map", 0)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidInput, match="cut off or damaged"):
        recorded_lengths(path)


def _line(**changes):
    plain = dict.fromkeys(FIELDS)
    task = {"job": "j", "phase": "map", "task": 0, "outcome": "done"}
    return json.dumps(plain | task | {"started_at_s": 0.0, "finished_at_s": 4.0} | changes)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "1",
        "{}",
        "[" * 100_000,
        "x" * 100_000,
        _line(task=-1),
        _line(task=True),
        _line(task="1"),
        _line(job=3),
        _line(started_at_s="0"),
        _line(started_at_s=5.0),
        _line(shuffled_at_s=5.0),
        _line(started_at_s=float("nan")),
        _line(finished_at_s=float("inf")),
        _line(finished_at_s=1).replace("1", "1e999"),
        "\xff",
    ],
    ids=lambda line: line[:40],
)
def test_a_line_that_is_not_of_a_trace_is_refused_with_its_number(tmp_path, line):
    path = tmp_path / "run.jsonl"
    path.write_bytes(f"{_line()}\n{line}\n".encode("latin-1"))

    with pytest.raises(InvalidInput, match="line 2"):
        recorded_lengths(path)


def test_an_import_skips_the_line_that_a_simulation_refuses(tmp_path):
    """Both use one reader, so both name the same line for the same reason."""
    path = tmp_path / "run.jsonl"
    path.write_text(f"{_line(slot_index=0)}\n{_line(task=-1)}\n")
    (skipped,) = read_log(path, "sluice").skipped

    assert 2 == skipped.line
    with pytest.raises(InvalidInput, match=skipped.why):
        recorded_lengths(path)


@pytest.mark.parametrize("name", ["none/run.jsonl", ".", "a\0b"])
def test_a_path_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(InvalidInput, match=r"cannot be read|not a file"):
        recorded_lengths(f"{tmp_path}/{name}")
