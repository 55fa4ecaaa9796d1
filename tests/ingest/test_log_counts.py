"""The numbers that importers give of the samples equal those of a few lines of `json` and `csv`.

SLUICE_LOG_SAMPLES may name a folder with further samples of the same formats, too large to be kept
here; they are then counted as well.
"""

import csv
import gzip
import json
import math
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.swim import SwimOptions

DATA = Path(__file__).resolve().parents[1] / "data" / "logs"
MORE = os.environ.get("SLUICE_LOG_SAMPLES")
LARGE_BYTES = 1_000_000


def samples(name: str, *patterns: str) -> list[Path]:
    folders = [DATA / name, *([Path(MORE)] if MORE else [])]
    found = [path for folder in folders for one in patterns for path in sorted(folder.rglob(one))]
    assert found, name
    return found


def lines_of(path: Path) -> Iterator[str]:
    with path.open("rb") as stream:
        head = stream.read(4)
        stream.seek(0)
        if head.startswith(b"\x1f\x8b"):
            yield from gzip.decompress(stream.read()).decode().splitlines()
        elif head == b"\x28\xb5\x2f\xfd":
            plain = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
            yield from plain.read().decode().splitlines()
        else:
            yield from stream.read().decode().splitlines()


# --- Spark ----------------------------------------------------------------------------------------


def spark_counts(path: Path) -> dict[int, dict[str, float]]:
    """By stage: tasks that ended well, how long they took, what they read and wrote."""
    stages: dict[int, dict[str, float]] = {}
    lengths: dict[int, list[int]] = defaultdict(list)
    for line in lines_of(path):
        event = json.loads(line)
        if event["Event"] != "SparkListenerTaskEnd":
            continue
        stage = stages.setdefault(event["Stage ID"], defaultdict(int))
        if event["Task End Reason"]["Reason"] != "Success":
            stage["failed"] += 1
            continue
        info, metrics = event["Task Info"], event["Task Metrics"]
        lengths[event["Stage ID"]].append(info["Finish Time"] - info["Launch Time"])
        read = metrics.get("Shuffle Read Metrics", {})
        stage["input_bytes"] += metrics.get("Input Metrics", {}).get("Bytes Read", 0)
        stage["output_bytes"] += metrics.get("Output Metrics", {}).get("Bytes Written", 0)
        stage["shuffle_read_bytes"] += read.get("Remote Bytes Read", 0)
        stage["shuffle_read_bytes"] += read.get("Local Bytes Read", 0)
        stage["shuffle_write_bytes"] += metrics.get("Shuffle Write Metrics", {}).get(
            "Shuffle Bytes Written", 0
        )
    for stage_id, taken in lengths.items():
        stages[stage_id]["tasks"] = len(taken)
        stages[stage_id]["avg_s"] = sum(taken) / len(taken) / 1000
        stages[stage_id]["max_s"] = max(taken) / 1000
    return {stage_id: stage for stage_id, stage in stages.items() if stage.get("tasks")}


SPARK = samples("spark", "app-*", "application_1*", "local-*", "*.zstd", "*.gz")


@pytest.mark.parametrize("path", SPARK, ids=lambda path: path.name)
def test_spark_stages_are_what_json_counts(path):
    """No task, second or byte is lost on the way, in logs of Spark 1.4 to 4."""
    counted = spark_counts(path)
    log = read_log(path)
    (run,) = log.runs

    assert (log.format, log.skipped_count) == ("spark", 0)
    assert [int(phase.name.split(":")[0].split()[1]) for phase in run.phases] == sorted(counted)
    for phase, (_, stage) in zip(run.phases, sorted(counted.items()), strict=True):
        assert phase.avg_s == pytest.approx(stage["avg_s"], rel=1e-12)
        for name in (
            "tasks", "failed", "max_s", "input_bytes", "output_bytes", "shuffle_read_bytes",
            "shuffle_write_bytes",
        ):  # fmt: skip
            assert getattr(phase, name) == stage.get(name, 0), (phase.name, name)
        assert len(phase.timeline) == phase.tasks


MANIFEST = json.loads((DATA / "spark" / "manifest.json").read_text("utf-8"))


@pytest.mark.parametrize("said", MANIFEST, ids=lambda said: said["app"])
def test_spark_stages_are_what_the_manifest_says(said):
    """A second, older count of the same logs, made when they were recorded."""
    (run,) = read_log(DATA / "spark" / said["file"]).runs

    assert (run.profile, run.succeeded) == (said["app"], True)
    assert run.elapsed_s == said["app_ms"] / 1000
    for phase, stage in zip(run.phases, said["stages"], strict=True):
        assert phase.name.startswith(f"stage {stage['stage']}: {stage['name']} ")
        assert phase.after == tuple(stage["parents"])
        assert (phase.tasks, phase.max_s) == (stage["tasks"], stage["max_ms"] / 1000)
        assert round(phase.avg_s * 1000, 1) == stage["avg_ms"]
        assert (phase.input_bytes, phase.output_bytes) == (stage["in_bytes"], stage["out_bytes"])
        assert phase.shuffle_read_bytes == stage["shuffle_read"]
        assert phase.shuffle_write_bytes == stage["shuffle_write"]


# --- SWIM -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", samples("swim", "FB-*.tsv"), ids=lambda path: path.name)
def test_swim_bytes_are_those_of_the_columns(path):
    """Task counts are chosen, and follow from the bytes and one option; the bytes are shown."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.reader(stream, delimiter="\t") if row]
    log = read_log(path)
    options = SwimOptions()

    assert (log.format, len(log.runs), log.skipped_count) == ("swim", len(rows), 0)
    for run, row in zip(log.runs, rows, strict=True):
        read, shuffled, written = (int(cell) for cell in row[3:6])
        maps, *reduces = run.phases
        assert run.submitted_at_s == float(row[1])
        assert run.input_bytes == read
        assert maps.tasks == max(1, math.ceil(read / options.block_bytes))
        assert maps.shuffle_write_bytes == shuffled
        assert sum(phase.shuffle_read_bytes for phase in reduces) == shuffled
        assert sum(phase.output_bytes for phase in run.phases) == written
        assert len(reduces) == (shuffled > 0)
    assert log.workload is not None
    assert [f"{run.run_id}" for run in log.runs] == [
        f"{path.stem}/{job.job_id}" for job in log.workload.jobs
    ]


# --- Standard Workload Format ---------------------------------------------------------------------


@pytest.mark.parametrize("path", samples("swf", "*.swf"), ids=lambda path: path.name)
def test_swf_jobs_are_those_of_the_columns(path):
    """Records of unknown length are shown as skipped, and all others are there."""
    records = [
        line.split()
        for line in path.read_text("latin-1").splitlines()
        if line.strip() and not line.startswith(";")
    ]
    known = [record for record in records if float(record[3]) >= 0]
    log = read_log(path)

    assert (log.format, len(log.runs)) == ("swf", len(known))
    assert log.skipped_count == len(records) - len(known)
    for run, record in zip(log.runs, known, strict=True):
        (phase,) = run.phases
        processors, seconds = int(record[4]), float(record[3])
        assert run.run_id.rpartition("/")[2] == record[0]
        assert (phase.tasks, phase.avg_s, phase.max_s) == (processors, seconds, seconds)
        assert run.elapsed_s == float(record[2]) + seconds
        if float(record[5]) >= 0:
            assert phase.cpu_s == pytest.approx(float(record[5]) * processors)


# --- Batsim ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", samples("batsim", "example_workload*.json"), ids=lambda path: path.name
)
def test_batsim_jobs_are_those_of_the_file(path):
    """Its profiles are delays, cut off at the walltime, as Batsim does."""
    said = json.loads(path.read_text("utf-8"))
    log = read_log(path)

    assert (log.format, len(log.runs), log.skipped_count) == ("batsim", len(said["jobs"]), 0)
    for run, job in zip(log.runs, said["jobs"], strict=True):
        (phase,) = run.phases
        length_s = min(said["profiles"][job["profile"]]["delay"], job["walltime"])
        assert run.profile == job["profile"]
        assert (phase.tasks, phase.avg_s, phase.max_s) == (job["res"], length_s, length_s)
        assert run.submitted_at_s == job["subtime"]
    assert log.workload.cluster.nodes[0].map_slots == said["nb_res"]
