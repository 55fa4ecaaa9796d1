"""Formats that hold submissions: Standard Workload Format, Batsim; and Sluice's own traces."""

import json
from pathlib import Path

import pytest

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.replay import workload_from_logs
from sluice.ingest.logs.report import LogRead
from sluice.model.errors import InvalidInput

# --- Standard Workload Format ---------------------------------------------------------------------

HEAD = "; Version: 2.2\n; MaxProcs: 16\n; UnixStartTime: 1000\n;\n"


def swf(*cells: object) -> str:
    """A record; what is not given is not known."""
    return " ".join(str(cell) for cell in (*cells, *[-1] * (18 - len(cells)))) + "\n"


def read_text(path: Path, text: str, **options: object) -> LogRead:
    path.write_text(text)
    return read_log(path, options=options)


def test_a_job_holds_its_processors_from_start_to_end(tmp_path):
    """Fields 2 to 8, 12, 14 and 15 of the definition; CPU time may have a fraction."""
    record = swf(7, 50, 5, 60, 4, 59.25, 2048, 4, 100, -1, 1, 3, 1, 9, 2)
    log = read_text(tmp_path / "log.swf", HEAD + record)
    (run,) = log.runs
    (phase,) = run.phases

    assert (run.run_id, run.profile, run.queue) == ("1000/7", "executable 9 of user 3", "queue 2")
    assert (run.submitted_at_s, run.elapsed_s, run.slots) == (1050, 65, {"map": 16})
    assert (phase.tasks, phase.avg_s, phase.cpu_s) == (4, 60, 237)
    assert phase.rss_bytes_max == 2048 * 1024
    assert log.workload.cluster.nodes[0].map_slots == 16
    assert log.workload.jobs[0].submitted_at_s == 50


def test_processors_asked_for_stand_in_for_those_used(tmp_path):
    log = read_text(tmp_path / "log", swf(1, 0, 0, 10, -1, -1, -1, 8, -1, -1, 1))

    assert log.runs[0].phases[0].tasks == 8


@pytest.mark.parametrize(
    ("head", "waits", "processors"),
    [
        ("", (0, 5, 0), 8), ("", (0, 0, 0), 12), ("", (-1, -1, -1), 8),
        ("; MaxNodes: 4\n", (0, 0, 0), 12),
        ("; MaxNodes: 8\n", (0, 0, 0), 8), ("; MaxProcs: 6\n", (0, 0, 0), 6),
    ],
)  # fmt: skip
def test_a_head_without_a_size_gives_the_most_at_once(tmp_path, head, waits, processors):
    sizes = (8, 4, 2)
    text = "".join(swf(n, 0, waits[n], 5, sizes[n]) for n in range(2)) + swf(2, 50, waits[2], 5, 2)
    log = read_text(tmp_path / "log", head + text)
    assert log.workload.cluster.nodes[0].map_slots == processors


def test_a_job_that_is_larger_than_the_machine_is_left_out_of_a_replay(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 6\n" + swf(1, 0, 0, 5, 8) + swf(2, 0, 0, 7, 4))
    found = workload_from_logs([path])
    assert [str(job.job_id) for job in found.jobs] == ["2"]
    assert any("Left out" in note and "job 1, which takes 8" in note for note in found.notes)
    assert sluice.simulate(found).makespan_s == 7
    larger = workload_from_logs([path], options={"map_slots": 8})
    assert len(larger.jobs) == 2


def test_jobs_that_failed_ran_but_taught_nothing(tmp_path):
    """They held processors, so they are replayed, unless one chooses otherwise."""
    text = "".join(swf(n, n, 0, 10, 2, -1, -1, 2, -1, -1, n) for n in (0, 1, 5))
    kept = read_text(tmp_path / "log", text)
    skipped = read_text(tmp_path / "log", text, failed="skip")

    assert [run.succeeded for run in kept.runs] == [False, True, False]
    assert [len(run.phases) for run in kept.runs] == [0, 1, 0]
    assert [len(log.workload.jobs) for log in (kept, skipped)] == [3, 1]
    assert "failed = keep: 2 jobs" in kept.notes[-1]


def test_a_run_time_of_0_is_a_rounded_one(tmp_path):
    """The definition allows it; how long is chosen by an option, and shown."""
    log = read_text(tmp_path / "log", swf(1, 0, 0, 0, 2), rounded_s=0.4)

    assert log.runs[0].phases[0].avg_s == 0
    assert log.workload.jobs[0].phases[0].lengths.avg_s(2) == 0.4
    assert "rounded_s = 0.4: 1 jobs" in log.notes[-1]


def test_a_log_with_text_in_columns_that_are_not_read_is_recognised(tmp_path):
    log = tmp_path / "log"
    log.write_text("1 0 0 10 2 -1 -1 2 0:10 2GB 1 3 g 7 1 p - -\n" * 3)

    assert "swf" == read_log(log).format


@pytest.mark.parametrize(
    "record",
    [f"{swf(2, 0, 0, 5, 4).strip()} 7 extra\n", "2 0 0 5 4 -1 -1 4 5 -1 1 1 1 1 1 1 x x\n"],
    ids=["more than 18 columns", "text in columns that are not read"],
)
def test_columns_that_are_not_read_do_not_cost_the_job(record, tmp_path):
    log = read_text(tmp_path / "log", HEAD + swf(1, 0, 0, 10, 2) + record)

    assert ("swf", 2, ()) == (log.format, len(log.runs), log.skipped)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (swf(2, 0, 0, -1, 4), "job 2 has no run time"),
        (swf(2, 0, 0, 5, -1), "job 2 has no number of processors"),
        (swf(1, 0, 0, 5, 4), "job 1 is given twice"),
        (swf(2, 0, 0, "x", 4), "'x' where a number should be"),
        (swf(2, 0, 0, "1e99", 4), "'1e99' where a number should be"),
        ("1 2 3\n", "3 columns, not 18"),
        (swf(2, -5, 0, 5, 4), "submitted at -5"),
    ],
)
def test_a_record_that_shows_too_little_is_skipped_and_shown(record, why, tmp_path):
    log = read_text(tmp_path / "log", HEAD + swf(1, 0, 0, 10, 2) + record)

    assert (len(log.runs), log.skipped[0].line) == (1, 6)
    assert why in log.skipped[0].why


# --- Batsim ---------------------------------------------------------------------------------------

PROFILES = {
    "wait": {"type": "delay", "delay": 20.25},
    "even": {"type": "parallel_homogeneous", "cpu": 10e9, "com": 125e6},
    "spread": {"type": "parallel_homogeneous_total", "cpu": 10e9, "com": 250e6},
    "newer": {
        "type": "ParallelTaskHomogeneousProfile", "cpu": 10e9, "com": 250e6,
        "generation_strategy": "DefinedAmountsSpreadUniformly",
    },
    "own": {"type": "parallel", "cpu": [5e9, 0], "com": [0, 125e6, 250e6, 0]},
    "twice": {"type": "composed", "repeat": 2, "seq": ["wait", "even"]},
    "itself": {"type": "SequentialCompositionProfile", "seq": ["itself"]},
    "replay": {"type": "TraceReplayProfile", "trace_type": "SMPI", "filename": "x"},
}  # fmt: skip


def batsim(path: Path, *jobs: dict[str, object], **options: object) -> LogRead:
    numbered = [{"id": f"w!{n}", "subtime": n, "res": 2, **job} for n, job in enumerate(jobs)]
    text = json.dumps({"nb_res": 8, "jobs": numbered, "profiles": PROFILES})
    return read_text(path, text, **options)


@pytest.mark.parametrize(
    ("profile", "length_s"),
    [("wait", 20.25), ("even", 11), ("spread", 6), ("newer", 6), ("own", 6), ("twice", 62.5)],
)
def test_a_profile_becomes_a_length(profile, length_s, tmp_path):
    """By hand, at 1e9 operations and 125e6 bytes a second, on two machines."""
    (run,) = batsim(tmp_path / "log", {"profile": profile}).runs

    assert (run.run_id, run.profile) == ("log/0", profile)
    assert (run.phases[0].tasks, run.phases[0].avg_s) == (2, length_s)


def test_speeds_are_options_and_shown_where_they_were_needed(tmp_path):
    plain = batsim(tmp_path / "log", {"profile": "wait"}, flops_per_s=5e9)
    worked = batsim(tmp_path / "log", {"profile": "even"}, flops_per_s=5e9)

    assert len(plain.notes) == 1
    assert worked.runs[0].phases[0].avg_s == 3
    assert "flops_per_s = 5e+09" in worked.notes[1]


def test_a_job_ends_at_its_walltime_unless_that_is_ignored(tmp_path):
    job = {"profile": "wait", "walltime": 20}
    killed = batsim(tmp_path / "log", job)
    whole = batsim(tmp_path / "log", job, walltime="ignore")

    assert [log.runs[0].phases[0].max_s for log in (killed, whole)] == [20, 20.25]
    assert killed.notes[-1] == "walltime = kill: 1 jobs end at their walltime."


@pytest.mark.parametrize("profile", ["itself", "replay", "none", "own"])
def test_a_profile_without_a_length_is_skipped_and_shown(profile, tmp_path):
    """`own` is of two machines, and the job asks for three."""
    log = batsim(tmp_path / "log", {"profile": "wait"}, {"profile": profile, "res": 3})

    assert [run.profile for run in log.runs] == ["wait"]
    assert log.skipped[0].why.startswith("job number 2: ")


# --- Sluice's own traces --------------------------------------------------------------------------

WORKLOAD = sluice.parse_workload("""
version: 1
cluster: {map_slots: 3, reduce_slots: 2}
jobs:
  - {id: a, maps: {tasks: 7, avg_s: 3}, reduces: {tasks: 3, avg_s: 2}, shuffle: {avg_s: 1}}
  - {id: b, submitted_at_s: 40, maps: {tasks: 6, avg_s: 1.5}}
settings: {jitter: 0.3, task_failure: 0.3}
""")


def test_a_trace_shows_what_the_run_came_to(tmp_path):
    """Counts and lengths are those of the run's own attempts; failed ones are counted apart."""
    result = sluice.simulate(WORKLOAD, seed=3)
    lines = list(result.trace())
    rows = [json.loads(line) for line in lines]
    log = read_text(tmp_path / "trace.jsonl", "".join(f"{line}\n" for line in lines))

    assert (log.format, [run.profile for run in log.runs]) == ("sluice", ["a", "b"])
    for run in log.runs:
        for phase in run.phases:
            said = [row for row in rows if (row["job"], row["phase"]) == (run.profile, phase.name)]
            done = [row for row in said if row["outcome"] == "done"]
            lengths_s = [row["finished_at_s"] - row["started_at_s"] for row in done]
            assert phase.tasks == len(done) == len(phase.timeline)
            assert phase.failed == sum(row["outcome"] == "failed" for row in said)
            assert phase.max_s == max(lengths_s)
            assert phase.avg_s == pytest.approx(sum(lengths_s) / len(lengths_s))
    assert any(phase.failed for run in log.runs for phase in run.phases)
    reduces = log.runs[0].phases[1]
    assert (reduces.kind, reduces.after) == ("reduce", (0,))
    assert reduces.timeline[0].fetched_at_s == pytest.approx(reduces.timeline[0].started_at_s + 1)


def test_two_traces_of_one_workload_are_different_runs(tmp_path):
    """Jobs have the same names in both; read again, a trace gives the same runs."""

    def ids(seed: int) -> list[str]:
        lines = sluice.simulate(WORKLOAD, seed=seed).trace()
        log = read_text(tmp_path / "trace", "".join(f"{line}\n" for line in lines))
        return [run.run_id for run in log.runs]

    assert ids(1) == ids(1)
    assert not set(ids(1)) & set(ids(2))


def test_a_trace_without_success_is_refused(tmp_path):
    line = next(iter(sluice.simulate(WORKLOAD).trace())).replace('"done"', '"killed"')
    with pytest.raises(InvalidInput, match="no task in it ended well"):
        read_text(tmp_path / "trace", line)


def test_what_was_killed_or_lost_is_neither_success_nor_failure(tmp_path):
    """A copy that lost its race shows nothing of the job."""
    lines = [line for line in sluice.simulate(WORKLOAD).trace() if '"job":"b"' in line]
    done = [line for line in lines if '"done"' in line]
    killed = [done[0].replace('"done"', '"killed"'), done[1].replace('"done"', '"lost"')]
    whole = read_text(tmp_path / "trace", "\n".join(lines)).runs[0].phases[0]
    fewer = read_text(tmp_path / "less", "\n".join([*killed, *done[2:]])).runs[0].phases[0]

    assert (fewer.tasks, fewer.failed) == (whole.tasks - 2, 0)
