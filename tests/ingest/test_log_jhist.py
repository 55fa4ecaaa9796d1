"""Job histories: what is shown of a job equals a count with `json`, whichever Hadoop wrote it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ingest.damaged_logs import damaged_reads

from sluice.ingest.logs import jhist
from sluice.ingest.logs.jhist import Options
from sluice.ingest.logs.limits import MIB, Limits
from sluice.ingest.logs.report import Contents, Report
from sluice.model.errors import InvalidInput

DATA = Path(__file__).resolve().parents[1] / "data" / "logs" / "jhist"
SLEEP = next(DATA.glob("job_1329348432655_0001-*.jhist"))
MONTE_CARLO = next(DATA.glob("job_1526555215992_0002-*.jhist"))
FAILED = DATA / "job_0.23.9-FAILED.jhist"
THREE = DATA / "job_1699999000000_0042.jhist"
BINARY = DATA / "job_1699999000000_0042-binary.jhist"
JSON = (SLEEP, MONTE_CARLO, FAILED, THREE)
# Bombs are met a little earlier than by default, so that many damaged logs take seconds.
LIMITS = Limits(ratio_free_bytes=MIB, ratio_max=40, skipped_max=1000)

EVENT = "org.apache.hadoop.mapreduce.jobhistory"


def read(path: Path, limits: Limits = LIMITS) -> tuple[Contents, Report]:
    report = Report()
    return jhist.read(path, report, Options(), limits), report


def only_run(path: Path):
    contents, _ = read(path)
    (run,) = contents.runs
    return run


def written(folder: Path, *lines: object, name: str = "job.jhist") -> Path:
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(("Avro-Json", *texts)) + "\n", encoding="utf-8")
    return path


def event(kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, "event": {f"{EVENT}.Some": fields}}


def attempt(number: int, start: int, end: int, kind: str = "MAP") -> list[dict[str, object]]:
    name = f"attempt_1_0001_{kind[0].lower()}_{number:06d}_0"
    return [
        event(f"{kind}_ATTEMPT_STARTED", attemptId=name, startTime=start),
        event(f"{kind}_ATTEMPT_FINISHED", attemptId=name, finishTime=end),
    ]


SUBMITTED = event("JOB_SUBMITTED", jobid="job_1_0001", jobName="wc", submitTime=1000)
FINISHED = event("JOB_FINISHED", jobid="job_1_0001", finishTime=9000)


# --- counted --------------------------------------------------------------------------------------


def counted(path: Path) -> dict[str, dict[str, Any]]:
    """By kind of phase, out of the lines themselves; the last word on an attempt counts."""
    starts: dict[str, int] = {}
    ends: dict[str, tuple[str, dict[str, Any]]] = {}
    for line in path.read_text("utf-8").splitlines()[2:]:
        if not line.strip():
            continue
        said = json.loads(line)
        (fields,) = said["event"].values()
        if said["type"].endswith("_ATTEMPT_STARTED"):
            starts[fields["attemptId"]] = fields["startTime"]
        elif "_ATTEMPT_" in said["type"]:
            ends[fields["attemptId"]] = said["type"], fields
    phases: dict[str, dict[str, Any]] = {}
    for name, (kind, fields) in sorted(ends.items()):
        phase = phases.setdefault(kind.split("_")[0].lower(), {"failed": 0, "lengths": []})
        if kind.endswith("_FAILED"):
            phase["failed"] += 1
        if kind.endswith("_FINISHED"):
            phase["lengths"].append(fields["finishTime"] - starts[name])
            for group in fields["counters"]["groups"]:
                for one in group["counts"]:
                    phase[one["name"]] = phase.get(one["name"], 0) + one["value"]
    return {kind: phase for kind, phase in phases.items() if phase["lengths"]}


@pytest.mark.parametrize("path", JSON, ids=lambda path: path.name[:25])
def test_phases_are_what_json_counts(path):
    """No attempt, millisecond or byte is lost on the way, in any Hadoop's spelling."""
    contents, report = read(path)
    (run,) = contents.runs
    phases = counted(path)

    assert report.skipped == ()
    assert [phase.kind for phase in run.phases] == [*phases]
    for phase in run.phases:
        said = phases[phase.kind]
        lengths = said["lengths"]
        assert (phase.tasks, phase.failed) == (len(lengths), said["failed"])
        assert phase.avg_s == sum(lengths) / len(lengths) / 1000
        assert phase.max_s == max(lengths) / 1000
        assert phase.input_bytes == said["HDFS_BYTES_READ"]
        assert phase.output_bytes == said["HDFS_BYTES_WRITTEN"]
        assert phase.shuffle_read_bytes == said.get("REDUCE_SHUFFLE_BYTES", 0)
        assert phase.shuffle_write_bytes == said.get("MAP_OUTPUT_MATERIALIZED_BYTES", 0)
        assert phase.input_records == said[f"{phase.kind.upper()}_INPUT_RECORDS"]
        assert phase.output_records == said[f"{phase.kind.upper()}_OUTPUT_RECORDS"]
        assert (phase.cpu_s or 0) == said["CPU_MILLISECONDS"] / 1000
        assert sorted(round(1000 * task.length_s) for task in phase.timeline) == sorted(lengths)


# What `JobHistoryParser` of Hadoop 3.5.0 says of the same files: attempts that ended well and that
# failed, sum and maximum of their lengths (ms), bytes read from HDFS, shuffled, stored by maps.
HADOOP_SAYS = {
    SLEEP: {"map": (10, 0, 93081, 12077, 480, 0, 120), "reduce": (2, 0, 7210, 3605, 0, 240, 0)},
    MONTE_CARLO: {"map": (1, 0, 2257, 2257, 267, 0, 28), "reduce": (1, 0, 2331, 2331, 0, 28, 0)},
    THREE: {
        "map": (4, 2, 23995, 6745, 472653616, 0, 140000000),
        "reduce": (2, 0, 34200, 17600, 0, 140000001, 0),
    },
}


@pytest.mark.parametrize("path", HADOOP_SAYS, ids=lambda path: path.name[:25])
def test_phases_are_what_hadoop_itself_says(path):
    """Its own parser is the second opinion, above all on attempts that were given up later."""
    said = {
        phase.kind: (
            phase.tasks,
            phase.failed,
            round(phase.avg_s * phase.tasks * 1000),
            round(phase.max_s * 1000),
            phase.input_bytes,
            phase.shuffle_read_bytes,
            phase.shuffle_write_bytes,
        )
        for phase in only_run(path).phases
    }

    assert said == HADOOP_SAYS[path]


def test_the_binary_encoding_shows_the_same_as_json():
    """Hadoop 3 writes it by default; both files are one history."""
    assert jhist.recognises(BINARY, BINARY.read_bytes()[:1000])
    assert only_run(BINARY) == only_run(THREE)


def test_a_run_is_shown_in_full():
    run = only_run(THREE)
    maps, reduces = run.phases

    assert (run.run_id, run.profile, run.source) == (
        "job_1699999000000_0042",
        "word count (3.x)",
        "jhist",
    )
    assert (run.submitted_at_s, run.elapsed_s, run.queue) == (1.7e9, 30.1, "etl")
    assert (run.succeeded, run.notes, reduces.after) == (True, (), (0,))
    assert maps.rss_bytes_max == 409_001_000
    assert [task.fetched_at_s for task in reduces.timeline] == [22.9, 22.8]
    assert reduces.timeline[0].node == "node2.example.com"
    assert [task.started_at_s for task in maps.timeline] == [3.0, 5.6, 15.5, 9.6]


def test_a_job_that_failed_is_a_run_without_success():
    run = only_run(FAILED)

    assert (run.profile, run.succeeded, run.phases) == ("Fail job", False, ())
    assert run.elapsed_s == 29.95


# --- configuration --------------------------------------------------------------------------------


def test_settings_that_bear_on_speed_are_taken_from_beside():
    """Both generations of names give today's."""
    settings = only_run(MONTE_CARLO).configuration

    assert settings["mapreduce.task.io.sort.mb"] == "100"
    assert settings["mapreduce.job.reduces"] == "1"
    assert only_run(SLEEP).configuration["mapreduce.task.io.sort.mb"] == "100"
    assert "mapreduce.job.name" not in settings


def beside(folder: Path, xml: str) -> tuple[Contents, Report]:
    path = written(folder, SUBMITTED, *attempt(0, 2000, 3000), FINISHED)
    (folder / "job_1_0001_conf.xml").write_text(xml, encoding="utf-8")
    return read(path)


def test_older_names_become_todays_and_secrets_stay_out(tmp_path):
    contents, report = beside(
        tmp_path,
        "<configuration><property><name>io.sort.mb</name><value>7</value></property>"
        "<property><name>fs.s3a.secret.key</name><value>hush</value></property></configuration>",
    )

    assert contents.runs[0].configuration == {"mapreduce.task.io.sort.mb": "7"}
    assert report.skipped == ()


LAUGHS = '<!DOCTYPE c [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><configuration>&b;</configuration>'


@pytest.mark.parametrize(
    "xml",
    [
        LAUGHS,
        "<configuration><property><name>io.sort.mb</name>",
        "no xml",
        "<a>" * 1000,
        '<?xml version="1.0" encoding="klingon"?><configuration/>',
    ],
    ids=["entities", "cut", "text", "deep", "encoding"],
)
def test_a_bad_configuration_is_reported_and_left_out(xml, tmp_path):
    """The history counts without it."""
    contents, report = beside(tmp_path, xml)

    assert (contents.runs[0].phases[0].tasks, contents.runs[0].configuration) == (1, {})
    assert report.skipped[0].why.startswith("job_1_0001_conf.xml: ")


# --- what is missing, odd or damaged --------------------------------------------------------------


@given(st.randoms(use_true_random=False))
def test_events_may_come_in_any_order(tmp_path_factory, random):
    """Those of one file do, when its parts were joined in the wrong order."""
    header, schema, *events = SLEEP.read_text("utf-8").splitlines()
    random.shuffle(events)
    folder = tmp_path_factory.mktemp("jhist")
    path = folder / "x.jhist"
    path.write_text("\n".join((header, schema, *events)), encoding="utf-8")
    contents, report = read(path)

    assert contents.runs[0].phases == only_run(SLEEP).phases
    assert report.skipped == ()


def test_what_is_said_twice_counts_once(tmp_path):
    path = written(tmp_path, SUBMITTED, *attempt(0, 2000, 3000), *attempt(0, 2000, 4000), FINISHED)
    contents, report = read(path)

    assert contents.runs[0].phases[0].avg_s == 1.0
    assert [(one.line, "second time" in one.why) for one in report.skipped] == [
        (5, True),
        (6, True),
    ]


def test_odd_events_are_skipped_with_their_line_and_reason(tmp_path):
    lines = (
        SUBMITTED,
        *attempt(0, 2000, 3000),
        "{",
        event("TEA_MADE", jobid="job_1_0001"),
        event("MAP_ATTEMPT_STARTED", attemptId="attempt_1_0001_r_000001_0", startTime=5),
        event("MAP_ATTEMPT_STARTED", attemptId="attempt_1_0001_m_000001_0", startTime=-5),
        event("MAP_ATTEMPT_STARTED", attemptId="attempt_1_0001_m_000002_0", startTime=10**30),
        *attempt(3, 5000, 4000),
        event("MAP_ATTEMPT_STARTED", attemptId="attempt_1_0001_m_000004_0", startTime=2000),
        event("MAP_ATTEMPT_FINISHED", attemptId="attempt_1_0001_m_000005_0", finishTime=2000),
        event("JOB_INITED", jobid="job_1_0002"),
        {"type": "JOB_FINISHED", "event": None},
        [1, 2],
        FINISHED,
    )
    contents, report = read(written(tmp_path, *lines))

    assert contents.runs[0].phases[0].tasks == 1
    assert {one.line: one.why for one in report.skipped} == {
        5: "no JSON: unexpected end of data: line 1 column 2 (char 1)",
        6: "an event of unknown type 'TEA_MADE'",
        7: "attemptId 'attempt_1_0001_r_000001_0' names no attempt of a map",
        8: "startTime is not an instant",
        9: "startTime is not an instant",
        10: "attempt_1_0001_m_000003_0: it ends before it starts",
        12: "attempt_1_0001_m_000004_0: it starts, but its end is missing",
        13: "attempt_1_0001_m_000005_0: it ends, but its start is missing",
        14: "1 events of job_1_0002, in the history of job_1_0001",
        15: "an event without content",
        16: "an event without content",
    }


def test_counters_that_are_none_count_as_0(tmp_path):
    counters = {
        "groups": [
            {"name": "g", "counts": [{"name": "HDFS_BYTES_READ", "value": value}]}
            for value in (-1, 10**40, "x", None, True)
        ]
    }
    name = "attempt_1_0001_m_000000_0"
    path = written(
        tmp_path,
        event("MAP_ATTEMPT_STARTED", attemptId=name, startTime=2000),
        event("MAP_ATTEMPT_FINISHED", attemptId=name, finishTime=2500, counters=counters),
    )

    assert only_run(path).phases[0].input_bytes == 0


def test_other_file_systems_count_and_the_nodes_own_disk_does_not(tmp_path):
    """FILE_ is what maps spill; a job on local files is shown by its input format."""
    remote = [("S3A_BYTES_READ", 5), ("HDFS_BYTES_READ", 2), ("FILE_BYTES_READ", 100)]
    local = [("FILE_BYTES_READ", 100), ("BYTES_READ", 7)]
    for counts, expected in ((remote, 7), (local, 7)):
        counters = {"groups": [{"counts": [{"name": n, "value": v} for n, v in counts]}]}
        start, end = attempt(0, 2000, 3000)
        end["event"][f"{EVENT}.Some"]["counters"] = counters
        assert only_run(written(tmp_path, SUBMITTED, start, end)).phases[0].input_bytes == expected


def test_a_log_without_its_head_says_what_it_lacks(tmp_path):
    """The name is then in the file's own name, as Hadoop forms it."""
    name = "job_1_0001-1000-me-my%2Djob+two-9000-1-0-SUCCEEDED-default.jhist"
    path = written(tmp_path, *attempt(0, 2000, 3000), FINISHED, name=name)
    run = only_run(path)

    assert (run.profile, run.submitted_at_s, run.elapsed_s) == ("my-job two", None, None)
    assert run.phases[0].timeline[0].started_at_s == 0
    assert "no submission" in run.notes[0]


def test_a_log_without_its_end_is_no_success(tmp_path):
    run = only_run(written(tmp_path, SUBMITTED, *attempt(0, 2000, 3000)))

    assert (run.succeeded, run.elapsed_s, run.phases[0].tasks) == (False, None, 1)
    assert "ends before the job" in run.notes[0]


def test_clocks_that_disagree_are_shown(tmp_path):
    """A task's node may be behind; no instant of a run is before its beginning."""
    run = only_run(written(tmp_path, SUBMITTED, *attempt(0, 900, 3000), FINISHED))

    assert (run.submitted_at_s, run.phases[0].timeline[0].started_at_s) == (0.9, 0)
    assert "0.1 s before the submission" in run.notes[0]


def test_histories_joined_into_one_file_are_as_many_runs(tmp_path):
    path = tmp_path / "joined.jhist"
    path.write_bytes(SLEEP.read_bytes() + MONTE_CARLO.read_bytes())
    contents, report = read(path)

    assert [run.profile for run in contents.runs] == ["Sleep job", "QuasiMonteCarlo"]
    assert report.skipped == ()


@pytest.mark.parametrize("content", [b"", b"Avro-Json\n", b"Avro-Binary\n", b"{}\n", b"\x7fELF"])
def test_a_file_without_events_is_refused(content, tmp_path):
    path = tmp_path / "x.jhist"
    path.write_bytes(content)

    with pytest.raises(InvalidInput, match="holds no event of a MapReduce job"):
        read(path)


def test_tasks_one_by_one_are_kept_while_they_are_few():
    contents, _ = read(SLEEP, Limits(timeline_tasks_max=11))
    (run,) = contents.runs

    assert [(phase.tasks, phase.timeline) for phase in run.phases] == [(10, ()), (2, ())]
    assert "more than 11 tasks" in run.notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("path", [THREE, BINARY], ids=["json", "binary"])
def test_damaged_histories_are_read_or_refused(path, tmp_path):
    """Nothing else comes out, and what comes out is sound; `PastPhase` checks lengths itself."""
    seen = set()
    for outcome, contents in damaged_reads(path.read_bytes(), tmp_path / "x.jhist", read):
        seen.add(outcome)
        for run in contents.runs:
            assert (run.run_id + run.profile).isprintable()
            assert all(phase.tasks <= 6 and phase.input_bytes < 2**63 for phase in run.phases)

    assert seen == {"refused", "skipped", "whole"}


# --- costs ----------------------------------------------------------------------------------------


def counters(**values: int) -> dict[str, object]:
    counts = [{"name": name, "displayName": "", "value": value} for name, value in values.items()]
    return {"name": "COUNTERS", "groups": [{"name": "g", "counts": counts}]}


def map_on(number: int, node: str, splits: str = "", locality: str = "", **counts: int):
    """A map of `number` seconds, whose input is on the nodes of `splits`."""
    name, end = f"attempt_1_0001_m_{number:06d}_0", 2000 + 1000 * number
    task = f"task_1_0001_m_{number:06d}"
    place: dict[str, object] = {"locality": {"string": locality}} if locality else {}
    return [
        event("TASK_STARTED", taskid=task, taskType="MAP", startTime=2000, splitLocations=splits),
        event("MAP_ATTEMPT_STARTED", attemptId=name, startTime=2000, trackerName=node, **place),
        event("MAP_ATTEMPT_FINISHED", attemptId=name, finishTime=end, counters=counters(**counts)),
    ]


def costs_of(folder: Path, *events: object, finished: object = FINISHED):
    (phase,) = only_run(written(folder, SUBMITTED, *events, finished)).phases
    return phase.costs


def test_spilled_records_and_garbage_collection_are_summed_over_attempts(tmp_path):
    costs = costs_of(
        tmp_path,
        *map_on(1, "a", SPILLED_RECORDS=30, GC_TIME_MILLIS=250),
        *map_on(2, "a", SPILLED_RECORDS=12, GC_TIME_MILLIS=5000),  # at most its own 2 s
    )

    assert (costs.spilled_records, costs.gc_s) == (42, 2.25)
    assert costs.spilled_bytes is costs.remote_tasks is None


def test_a_map_away_from_its_input_is_remote(tmp_path):
    costs = costs_of(
        tmp_path,
        *map_on(1, "n1", "n1,n2"),
        *map_on(2, "/rack/n2", "n1,/rack/n2"),
        *map_on(3, "n3", "n1,n2"),
        *map_on(4, "10.0.0.4", "n1", locality="NODE_LOCAL"),
        *map_on(5, "n1", "n1", locality="RACK_LOCAL"),
        *map_on(6, "n6", locality="OFF_SWITCH"),  # it has no input
    )

    assert (costs.remote_tasks, costs.remote_s) == (2, 8.0)
    assert costs.gc_s is costs.spilled_records is None


@pytest.mark.parametrize(
    ("total", "remote"),
    [
        ({"DATA_LOCAL_MAPS": 1, "RACK_LOCAL_MAPS": 1}, 1),
        ({"RACK_LOCAL_MAPS": 9}, 2),  # with failed attempts
        ({"OTHER_LOCAL_MAPS": 2}, None),
    ],
)
def test_the_counters_of_the_job_say_where_maps_ran_if_attempts_do_not(total, remote, tmp_path):
    finished = event(
        "JOB_FINISHED", jobid="job_1_0001", finishTime=9000, totalCounters=counters(**total)
    )
    costs = costs_of(
        tmp_path, *map_on(1, "a", GC_TIME_MILLIS=1), *map_on(2, "a"), finished=finished
    )

    assert costs.remote_tasks == remote


def test_a_log_without_counters_has_no_costs(tmp_path):
    assert costs_of(tmp_path, *attempt(0, 2000, 3000)) is None
