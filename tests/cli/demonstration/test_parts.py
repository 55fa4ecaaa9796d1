"""The parts of the demo, each by itself."""

import io
import re
from collections import defaultdict

import pytest
from examples.jobs import inverted_index, word_count
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import sluice
from sluice.cli.demonstration.findings import findings
from sluice.cli.demonstration.forecast import (
    ALL,
    Measured,
    PredictedEnd,
    ends_s,
    predict,
    prediction_table,
)
from sluice.cli.demonstration.volumes import sources, write_volumes
from sluice.ingest.logs.swim import load_swim
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId

TRACE = "examples/swim/FB-2009_samples_24_times_1hr_0_first50jobs.tsv"
LINES = st.lists(st.text(alphabet="ab_ (1\t", max_size=12), max_size=20)


def library(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path = path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    return folder


def test_volumes_hold_every_source_once_and_whole(tmp_path):
    """A split must not find half a line where one source ends and the next begins."""
    made = library(tmp_path / "lib", abc=b"one\ntwo", bisect=b"", json__decoder=b"three\n")
    (tmp_path / "text").mkdir()

    volumes = write_volumes(tmp_path / "text", library=made, volume_bytes=8)

    assert ["1_abc-abc.txt", "2_bisect-json.txt"] == [path.name for path in volumes]
    assert ["one\ntwo\n", "three\n"] == [path.read_text() for path in volumes]


def test_volumes_leave_out_what_only_some_machines_have(tmp_path):
    made = library(
        tmp_path, abc=b"", test__test_abc=b"", json__tests__x=b"", **{"site-packages__mine": b""}
    )

    assert ["abc.py"] == [path.name for path in sources(made)]


def test_a_source_in_another_encoding_is_still_text(tmp_path):
    made = library(tmp_path / "lib", old=b"# caf\xe9\n")
    (tmp_path / "text").mkdir()

    (volume,) = write_volumes(tmp_path / "text", library=made)

    assert "# caf�\n" == volume.read_text("utf-8")


def test_an_empty_library_makes_no_volume(tmp_path):
    assert [] == write_volumes(tmp_path, library=tmp_path)


@given(LINES, st.randoms(use_true_random=False))
def test_counts_come_out_the_same_however_they_are_combined(lines, order):
    """A combiner may run any number of times, on any part."""
    pairs = [pair for line in lines for pair in word_count.mapper(line)]
    order.shuffle(pairs)
    cut = order.randint(0, len(pairs))
    combined = [*reduced(word_count.combiner, pairs[:cut]), *pairs[cut:]]

    assert reduced(word_count.reducer, pairs) == reduced(word_count.reducer, combined)


@given(LINES, LINES)
def test_the_index_names_each_file_of_a_word_once(first, second):
    pairs = []
    with pytest.MonkeyPatch.context() as patch:
        for file, lines in (("b", second), ("a", first)):
            patch.setenv("mapreduce_map_input_file", f"/text/{file}.txt")
            pairs += [pair for line in lines for pair in inverted_index.mapper(line)]

    for name, files in reduced(inverted_index.reducer, pairs):
        text = {"a": "\n".join(first), "b": "\n".join(second)}
        stands_in = [file for file in "ab" if name in inverted_index.NAME.findall(text[file])]
        assert " ".join(stands_in) == files


def reduced(reducer, pairs):
    """All pairs by key, each key's values through the reducer, in order of the keys."""
    groups = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return [pair for key in sorted(groups) for pair in reducer(key, iter(groups[key]))]


def test_a_written_workload_is_simulated_like_the_value_it_was_written_from(tmp_path):
    """Map-only jobs, shuffles, submissions: all of the trace comes through the file unchanged."""
    trace = load_swim(TRACE).workload
    node = Node(node_id=NodeId("n"), map_slots=4, reduce_slots=2)
    cluster = Cluster(nodes=(node,))
    value = type(trace)(cluster=cluster, jobs=trace.jobs, settings={"jitter": 0.15})
    sluice.write_workload(tmp_path / "trace.json", value)

    one, other = sluice.simulate(value, seed=3), sluice.simulate(tmp_path / "trace.json", seed=3)

    assert one.jobs == other.jobs
    assert one.total_response_s == other.total_response_s


def test_the_error_is_a_share_of_what_was_measured():
    """Predicted 9 s, took 10 s: 10 % too little, and in the interval; 13 s is not."""
    console = Console(width=80, record=True, file=io.StringIO())
    ends = [
        PredictedEnd(name=name, predicted_s=9.0, low_s=8.0, high_s=12.0) for name in ("grep", ALL)
    ]
    console.print(prediction_table([12.0, 15.0], ends, [10.0, 13.0]))
    text = console.export_text()

    assert ["grep", "12 s", "9 s", "8s–12s", "10 s", "-10 %", "yes"] == cells(text, "grep")
    assert "no" == cells(text, ALL)[-1]


def cells(text, name):
    (line,) = (line for line in text.splitlines() if line.strip().startswith(name))
    return [cell for cell in re.split(r"\s{2,}", line.strip()) if cell]


def measured(*ratios, start_s=0.0):
    """One job of four maps of 3 s each, on two slots."""
    workload = sluice.parse_workload(
        "{version: 1, cluster: {map_slots: 2}, jobs: [{id: a, maps: {tasks: 4, avg_s: 3}}]}"
    )
    return Measured(workload=workload, start_s=start_s, ratios=ratios)


def test_without_variation_the_interval_is_the_prediction():
    """Two waves of 3 s after a start of 0.5 s."""
    ends = predict(measured(1.0, start_s=0.5), "fifo")

    same = {"predicted_s": 6.5, "low_s": 6.5, "high_s": 6.5}
    assert [PredictedEnd(name="a", **same), PredictedEnd(name=ALL, **same)] == ends


def test_the_interval_covers_tasks_and_runs_that_vary():
    """Factors of 0.8 to 1.2, squared at most: one for the task, one for the load of its run."""
    (end, _) = predict(measured(0.8, 1.0, 1.2), "fifo")

    assert 6.0 == end.predicted_s
    assert 6.0 * 0.8**2 <= end.low_s <= 6.0 * 0.8
    assert 6.0 * 1.2 < end.high_s <= 6.0 * 1.2**2


def test_the_ends_of_a_run_are_those_of_its_jobs_and_then_of_all():
    result = sluice.simulate("examples/worked_example.yaml", tasks="fair")

    assert [job.finished_at_s for job in result.jobs] == ends_s(result)[:-1]
    assert result.makespan_s == ends_s(result)[-1]


def test_a_fixed_number_of_volumes_repeats_the_sources(tmp_path):
    """One source of 8 bytes fills each volume of 8 bytes, however many are asked for."""
    made = library(tmp_path / "lib", abc=b"one two\n")
    (tmp_path / "text").mkdir()

    volumes = write_volumes(tmp_path / "text", library=made, volume_bytes=8, count=3)

    assert ["1_abc-abc.txt", "2_abc-abc.txt", "3_abc-abc.txt"] == [path.name for path in volumes]
    assert {"one two\n"} == {path.read_text() for path in volumes}
    assert [] == write_volumes(tmp_path, library=tmp_path / "text", count=3)


def test_findings_read_what_the_jobs_wrote(tmp_path):
    """Word count and index as key TAB value, phrases as `uniq -c` writes, grep as the lines."""
    outputs = {
        "word-count": "self\t7\nthe\t9\nif\t1\nor\t2\n",
        "inverted-index": "self\t1_a 2_b\nthe\t1_a\n",
        "phrases": "     12 \n      3 not None\n      2 if x\n",
        "grep": "import important\nfrom random import randomly\n",
    }
    for job, text in outputs.items():
        (tmp_path / job).mkdir()
        (tmp_path / job / "part-00000").write_text(text)

    assert {
        "word-count": "4 names; most often the 9, self 7, or 2",
        "inverted-index": "1 names are in all 2 files",
        "phrases": "3 different phrases; 'not None' alone 3 times",
        "grep": "2 lines repeat six letters or more",
    } == dict(findings(tmp_path))
