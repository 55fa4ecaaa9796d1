"""SWIM traces: sizes become tasks and lengths by named options, nothing is guessed in silence."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.swim import SwimOptions, load_swim, parse_swim
from sluice.model.errors import InvalidInput
from sluice.model.lengths import ConstantLengths

HOUSE = Path(__file__).resolve().parents[2]
FIFTY = HOUSE / "examples" / "swim" / "FB-2009_samples_24_times_1hr_0_first50jobs.tsv"

ROUND = SwimOptions(
    block_bytes=100,
    reduce_bytes=1000,
    map_bytes_per_s=10.0,
    fetch_bytes_per_s=50.0,
    reduce_bytes_per_s=20.0,
    task_s=1.0,
)


def test_the_example_is_read_whole():
    trace = load_swim(FIFTY)

    assert (len(trace.workload.jobs), trace.skipped) == (50, ())
    first = trace.workload.jobs[0]
    assert (first.job_id, first.submitted_at_s) == ("job0", 49)
    assert [phase.tasks for phase in first.phases] == [1, 1]
    assert len(trace.workload.jobs[4].phases) == 1


def test_tasks_and_lengths_follow_from_sizes_and_options():
    """250 B in blocks of 100 B: 3 maps of 83.3 B at 10 B/s; 1500 B shuffled: 2 reduces."""
    trace = parse_swim(b"a\t5\t5\t250\t1500\t500\n", source="trace", options=ROUND)
    maps, reduces = trace.workload.jobs[0].phases

    assert (maps.tasks, reduces.tasks, reduces.after) == (3, 2, (0,))
    assert maps.lengths == ConstantLengths(1 + 250 / 3 / 10, 1 + 250 / 3 / 10)
    assert reduces.fetch == ConstantLengths(750 / 50, 750 / 50)
    assert reduces.lengths == ConstantLengths(1 + 1000 / 20, 1 + 1000 / 20)


def test_a_job_that_shuffles_nothing_writes_in_its_maps():
    trace = parse_swim(b"a\t5\t5\t100\t0\t100\tin\tout\n", source="trace", options=ROUND)
    (maps,) = trace.workload.jobs[0].phases

    assert maps.lengths == ConstantLengths(21.0, 21.0)


def test_every_choice_is_shown():
    notes = "\n".join(ROUND.notes())

    for name in (
        "block_bytes = 100",
        "task_s = 1",
        "fetch_bytes_per_s = 50",
        "reduce_bytes = 1000",
    ):
        assert name in notes


def test_bad_lines_are_skipped_and_shown_with_their_number():
    lines = (
        b"a\t1\t1\t1\t1\t1",
        b"",
        b"b\t1\t1\t1",
        b"c\t-1\t1\t1\t1\t1",
        b"d\t1\t1\tnan\t1\t1",
        b"a\t1\t1\t1\t1\t1",
        b"\xff\x00\t1\t1\t1\t1\t1",
        b"e\t1\t1\t" + b"9" * 18 + b"\t1\t1",
    )
    trace = parse_swim(b"\n".join(lines), source="trace", options=SwimOptions())

    assert [job.job_id for job in trace.workload.jobs] == ["a"]
    assert [line.line for line in trace.skipped] == [3, 4, 5, 6, 7, 8]
    assert ["columns", "submit", "map_input", "twice", "character", "tasks"] == [
        next(word for word in ("columns", "submit", "map_input", "twice", "character", "tasks")
             if word in line.why)
        for line in trace.skipped
    ]  # fmt: skip


def test_a_file_without_jobs_is_refused():
    with pytest.raises(InvalidInput, match=r"trace: it holds no SWIM job \(line 1"):
        parse_swim(b"hello\n", source="trace", options=SwimOptions())


def test_jobs_max_reads_the_first():
    assert len(load_swim(FIFTY, options=SwimOptions(jobs_max=7)).workload.jobs) == 7


@pytest.mark.parametrize("name", ["block_bytes", "task_s", "map_bytes_per_s", "jobs_max"])
def test_options_are_above_0(name):
    with pytest.raises(InvalidInput, match=name):
        SwimOptions(**{name: 0})


@given(st.binary(max_size=120), st.integers(0, 1500))
def test_a_mutated_trace_is_a_trace_or_invalid_input(noise, at):
    content = bytearray(FIFTY.read_bytes())
    content[at : at + len(noise)] = noise

    try:
        trace = parse_swim(bytes(content), source="trace", options=SwimOptions())
    except InvalidInput as error:
        message = str(error)
    else:
        assert trace.workload.jobs
        return
    assert "trace" in message


def test_a_line_with_paths_may_end_in_a_tab(tmp_path):
    """SWIM's own `...withInputPaths...tsv` has nine cells a line; the last one is empty."""
    line = "job1\t60\t0\t1000000\t200000\t300000\tinputPath1\toutputPath1\t\n"
    path = tmp_path / "FB-2009_samples_withInputPaths.tsv"
    path.write_text(line * 2 + line.replace("job1", "job2"))

    log = read_log(path)

    assert "swim" == log.format
    assert ["job1", "job2"] == [job.job_id for job in log.workload.jobs]
    assert [2] == [skipped.line for skipped in log.skipped]
