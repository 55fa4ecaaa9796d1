"""The same words by plain MapReduce, by Hadoop Streaming, and by our agents on the same files."""

import subprocess
import time
from pathlib import Path

import pytest
from tests.hadoop.test_yarn_runs import words_for
from tests.live.command_line import Place

import sluice

pytestmark = [pytest.mark.slow, pytest.mark.yarn, pytest.mark.timeout(900)]

MEGABYTES = 20
SPLIT_BYTES = 10 << 20  # a JVM takes seconds to start: few tasks of Hadoop's
DRIVER = "org.apache.hadoop.examples.ExampleDriver"
STREAMING = "org.apache.hadoop.streaming.HadoopStreaming"
LARGE = f"-Dmapreduce.input.fileinputformat.split.minsize={SPLIT_BYTES}"
WORDS = "tr -s '[:space:]' '\\n'"
COUNT = "uniq -c"


@pytest.fixture(scope="module")
def novel(tmp_path_factory):
    """A text of many different words, on this machine."""
    path = tmp_path_factory.mktemp("novel") / "novel.txt"
    block = "".join(
        f"it was the {number % 977}th of {number % 13} and word{number * 7919 % 40009}\n"
        for number in range(30_000)
    ).encode()
    path.write_bytes(block * (MEGABYTES * 1_000_000 // len(block)))
    return path


def counts(lines, *, is_tabbed):
    """By word: how often. Hadoop writes the word first."""
    pairs = (line.split(b"\t" if is_tabbed else None) for line in lines)
    return {pair[not is_tabbed]: int(pair[is_tabbed]) for pair in pairs}


def test_all_three_count_the_same_words(hadoop, novel, tmp_path, record_property):
    counted = subprocess.run(
        ["sh", "-c", f"{WORDS} < {novel} | LC_ALL=C sort | {COUNT}"],
        check=True,
        capture_output=True,
    )
    expected = counts(counted.stdout.splitlines(), is_tabbed=False)
    hadoop.hdfs("-put", str(novel), "/novel.txt")
    times_s: dict[str, float] = {}

    begun_s = time.monotonic()
    hadoop.java(DRIVER, "wordcount", LARGE, "-Dmapreduce.job.reduces=2", "/novel.txt", "/plain")
    times_s["plain MapReduce"] = time.monotonic() - begun_s
    plain = hadoop.hdfs("-cat", "/plain/part-*").encode().splitlines()
    assert counts(plain, is_tabbed=True) == expected

    begun_s = time.monotonic()
    hadoop.java(
        STREAMING, LARGE, "-Dmapreduce.job.reduces=2", "-mapper", WORDS, "-reducer", COUNT,
        "-input", "/novel.txt", "-output", "/streamed",
    )  # fmt: skip
    times_s["Hadoop Streaming"] = time.monotonic() - begun_s
    streamed = hadoop.hdfs("-cat", "/streamed/part-*").encode().splitlines()
    assert counts(streamed, is_tabbed=False) == expected

    place = Place(Path(tmp_path / "run"))
    place.folder.mkdir()
    run = {
        "input": [f"{hadoop.files}/novel.txt"],
        "output": "out",
        "mapper": WORDS,
        "reducer": COUNT,
        "split_bytes": SPLIT_BYTES,
    }
    place.write([{"id": "words", "reduces": {"tasks": 2}, "run": run}])
    begun_s = time.monotonic()
    code, _, complained = place.sluice(*words_for(place, hadoop))
    times_s["our agents"] = time.monotonic() - begun_s
    assert code == 0, complained
    assert counts(place.lines("out"), is_tabbed=False) == expected
    for name, length_s in times_s.items():
        record_property(name, f"{length_s:.1f} s")
    print(times_s)  # noqa: T201  # shown by `pytest -s`: the table of docs/yarn.md
    assert times_s["our agents"] < times_s["Hadoop Streaming"]


def test_the_history_server_and_the_history_file_give_the_same_run(hadoop, pi, tmp_path):
    hadoop.start_history()
    files = tmp_path / "files"
    files.mkdir()
    hadoop.hdfs("-get", "/staging/history/done/*/*/*/*/*.jhist", str(files))
    stores = [str(tmp_path / f"{name}.db") for name in ("server", "files")]
    sluice.import_logs([hadoop.history], store=stores[0])
    sluice.import_logs([str(files)], store=stores[1])

    by_server, by_file = (
        sluice.profiles(pi["name"], store=one).document()["profiles"][pi["name"]]["runs"]
        for one in stores
    )
    assert by_server
    for run, same in zip(by_server, by_file, strict=True):
        for key in ("id", "phases", "elapsed_s", "queue", "succeeded"):
            assert run.get(key) == same.get(key), key
