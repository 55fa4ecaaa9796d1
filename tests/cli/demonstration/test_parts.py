"""The parts of the demo, each by itself."""

import io
from collections import defaultdict

import pytest
from examples.jobs import inverted_index, word_count
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import sluice
from sluice.cli.demonstration.findings import findings
from sluice.cli.demonstration.forecast import ends, prediction_table
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
    """Predicted 9 s, took 10 s: 10 % too little."""
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(prediction_table(iter([("grep", 12.0, 9.0, 10.0), ("all", None, None, None)])))
    told = console.export_text()

    assert "grep          12 s               9 s          10 s   -10 %" in told
    assert "–" in told


def test_ends_are_told_job_by_job_and_then_for_all():
    fifo, fair = (
        sluice.simulate("examples/worked_example.yaml", tasks=t) for t in ("fifo", "fair")
    )

    rows = list(ends(fifo, fifo, fair))

    assert ["J1", "J2", "J3", "J4", "all (makespan)"] == [row[0] for row in rows]
    assert (44.0, 44.0) == rows[-1][1:3]
    assert fair.makespan_s == rows[-1][3]


def test_findings_read_what_the_jobs_wrote(tmp_path):
    """Word count and index as key TAB value, sort as `uniq -c` writes, grep as the lines stand."""
    outputs = {
        "word-count": "self\t7\nthe\t9\nif\t1\nor\t2\n",
        "inverted-index": "self\t1_a 2_b\nthe\t1_a\n",
        "sort": "     12 \n      3     return\n      2 x = 1\n",
        "grep": "import os\nfrom re import match\n",
    }
    for job, text in outputs.items():
        (tmp_path / job).mkdir()
        (tmp_path / job / "part-00000").write_text(text)

    assert {
        "word-count": "4 names; most often the 9, self 7, or 2",
        "inverted-index": "1 names are in all 2 files",
        "sort": "3 different lines; 'return' alone 3 times",
        "grep": "2 lines import something",
    } == dict(findings(tmp_path))
