"""The buffer of map output: no setting changes a byte, and its spills are those of the model."""

import math
from dataclasses import replace

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from tests.effort import IS_THOROUGH
from tests.engines.work_runs import SUM, job_in, run_job, run_tasks, write_input

from sluice.engines.mapreduce import grouping
from sluice.engines.mapreduce.layout import prepare
from sluice.engines.mapreduce.process_group import ProcessGroup
from sluice.engines.mapreduce.task_context import merge_files
from sluice.model.buffers import MERGE_WIDTH_MAX, BufferRanges, BufferSetting
from sluice.planning.pareto.problem import IoModel
from sluice.planning.pareto.spills import MapShare, moved_bytes, spills

PYTHON = '''
class Values:
    """The values of a key, in the order in which they come."""

    def mapper(self, line):
        yield line[:2], line

    def reducer(self, key, values):
        yield key, "|".join(values)


class Counts:
    def mapper(self, line):
        yield line[:2], 1

    def combiner(self, key, values):
        yield key, sum(values)

    reducer = combiner
'''
KINDS = {
    "commands": {"mapper": "cut -c1-2", "reducer": "uniq -c"},
    "a combiner": {"mapper": "sed s/$/\\t1/", "combiner": SUM, "reducer": SUM},
    "no mapper": {"reducer": "cat"},
    "functions": {"python": "code.py:Values"},
    "combined functions": {"python": "code.py:Counts"},
}


def with_buffer(job, setting):
    """The job with a buffer that is not tuned."""
    return replace(job, buffer=BufferRanges(default=setting))


def measured(folder, text, setting, **run):
    """The counters of the only map of a job."""
    write_input(folder, text)
    _, results = run_tasks(prepare(with_buffer(job_in(folder, **run), setting)), folder)
    counters: dict[str, int] = results[0, 0]["counters"]
    return counters


buffer_settings = st.builds(
    BufferSetting,
    bytes=st.sampled_from([1.0, 100.0, 2e3, 1e4, 1e6]),
    metadata_share=st.floats(0.01, 0.9),
    spill_threshold=st.floats(0.1, 0.95),
    merge_width=st.just(2) | st.integers(2, MERGE_WIDTH_MAX),
)
numbered = st.builds("{}\t{}".format, st.sampled_from("ab"), st.integers(0, 10**6))
line_lists = st.lists(numbered | st.text(alphabet="ab\t\N{SNOWMAN}", max_size=9), min_size=1)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20 if IS_THOROUGH else 1, deadline=None)
@example(
    lines=[f"a\t{n}" for n in range(60)], setting=BufferSetting(bytes=1.0, merge_width=2), reduces=1
)  # many passes, and values whose order is seen
@given(lines=line_lists, setting=buffer_settings, reduces=st.sampled_from([1, 3, 11]))
def test_no_setting_changes_a_byte_of_the_output(tmp_path_factory, kind, lines, setting, reduces):
    """Runs, their number, and how they are merged are not seen by a reduce."""
    folder = tmp_path_factory.mktemp("buffers")
    (folder / "code.py").write_text(PYTHON)
    text = "\n".join((lines * 30)[:60])  # more lines than most merges are wide
    write_input(folder, text)
    job = job_in(folder, reduces=reduces, **KINDS[kind])
    whole = run_job(job, folder)
    again = with_buffer(replace(job, run=replace(job.run, output="again")), setting)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "TAKEN", 3)  # the fewest pairs that fill a buffer
        assert run_job(again, folder) == whole

        counters = measured(folder, text, setting, output="once-more", **KINDS[kind])
    event(f"merge passes: {min(3, counters['merge_passes'])}")
    assert counters["spilled_bytes"] >= counters["output_bytes"]


@settings(max_examples=20, deadline=None)
@given(
    records=st.integers(1, 600),
    width=st.integers(2, 60),
    setting=buffer_settings.filter(lambda one: one.bytes > 1e3),
)
def test_spills_are_those_of_the_model(tmp_path_factory, records, width, setting):
    """Records of one size: as many spills as predicted, and the bytes of the `merge` model.

    A record is never cut, so a spill may be smaller than the model's by less than a record, or
    larger where a buffer is too small for a single one.
    """
    text = f"{'x' * (width - 1)}\n" * records
    counters = measured(tmp_path_factory.mktemp("model"), text, setting, reducer="cat")

    a_spill = min(setting.spill_bytes // width, setting.spill_metadata_bytes // 16)
    found = math.ceil(records / max(1, a_spill))
    assert counters["spills"] == found
    assert counters["merge_passes"] == setting.merge_passes(found)
    share = MapShare(float(len(text)), float(records))
    predicted = spills(share, setting).times
    assert predicted <= found or a_spill < 1
    if predicted == found and found <= setting.merge_width:
        assert counters["spilled_bytes"] == moved_bytes(share, setting, IoModel.MERGE)
        event("spilled once" if found == 1 else "merged at once")
    assert counters["spilled_bytes"] <= len(text) * (1 + 2 * setting.merge_passes(found))


def test_a_record_larger_than_the_buffer_is_a_spill_of_its_own(tmp_path):
    counters = measured(tmp_path, "long line\n" * 5, BufferSetting(bytes=1.0), reducer="cat")

    assert (counters["spills"], counters["merge_passes"]) == (5, 1)
    assert counters["spilled_bytes"] == 3 * 50


def test_a_task_without_a_buffer_of_its_own_counts_no_spills(tmp_path):
    write_input(tmp_path, "a\n")
    _, results = run_tasks(prepare(job_in(tmp_path, reducer="cat")), tmp_path)

    assert "spills" not in results[0, 0]["counters"]


def test_the_memory_limit_of_an_attempt_limits_its_buffer(tmp_path):
    """A quarter of the memory is for the buffer, whatever the file says."""
    write_input(tmp_path, "0123456789\n" * 100)
    job = with_buffer(job_in(tmp_path, reducer="cat"), BufferSetting(metadata_share=0.5))
    limits = {"memory_bytes": 4000}
    _, results = run_tasks(prepare(job), tmp_path, limits=limits)

    assert results[0, 0]["counters"]["spills"] == math.ceil(100 / (1000 * 0.5 * 0.8 // 16))


def test_the_memory_limit_of_an_attempt_limits_the_groups_of_functions(tmp_path, monkeypatch):
    (tmp_path / "code.py").write_text(PYTHON)
    write_input(tmp_path, "".join(f"{n}\n" for n in range(1000, 2000)))
    monkeypatch.setattr(grouping, "TAKEN", 3)
    job = with_buffer(job_in(tmp_path, python="code.py:Values"), BufferSetting())
    spilled = [
        run_tasks(prepare(job), tmp_path, limits=limits)[1][0, 0]["counters"]["spills"]
        for limits in ({}, {"memory_bytes": 40_000})
    ]

    assert spilled[0] == 1 < spilled[1]


def test_a_reduce_merges_as_many_maps_at_once_as_it_can(tmp_path, monkeypatch):
    """The merge width is for the spills of a map. One that suits two would slow a reduce down."""
    seen = tmp_path / "seen"  # tasks are processes of their own
    start = ProcessGroup.start

    def watched(self, name, argv, **streams):
        with seen.open("a") as file:
            file.writelines(f"{word}\n" for word in argv if "--batch-size" in word)
        return start(self, name, argv, **streams)

    monkeypatch.setattr(ProcessGroup, "start", watched)
    write_input(tmp_path, "a\nb\n" * 50)
    job = job_in(tmp_path, reducer="cat", split_bytes=20)
    run_job(with_buffer(job, BufferSetting(merge_width=2)), tmp_path)

    assert set(seen.read_text().split()) == {f"--batch-size={merge_files()}"}
