"""Spark logs run again as they ran: cores once, stages, driver time; recorded against replayed."""

import json
import random
from heapq import heapify, heappop, heappush
from math import inf
from pathlib import Path
from statistics import median

import pytest
from tests.cli.terminal import sluice

import sluice as api
from sluice.ingest.logs.replay import ReplayOptions, replayed, workload_from_logs
from sluice.ingest.logs.report import LogRead
from sluice.model.history import PastPhase, PastRun, PastTask
from sluice.model.slot_kind import SlotKind

SPARK = Path(__file__).resolve().parents[1] / "data" / "logs" / "spark"
LOGS = sorted(path for path in SPARK.iterdir() if path.suffix not in (".md", ".json"))
BIG = "nds_q72_dataproc_2_2.zstd"  # 13,504 tasks
YARN = SPARK / "application_1516285256255_0012"
LINES = SPARK / "linelen_rdd-50MB-local2.jsonl.gz"
JHIST = next((SPARK.parent / "jhist").glob("job_1329348432655_0001-*"))


def replay_errors(logs):
    for log in logs:
        (job,) = api.simulate(workload_from_logs([log])).document()["jobs"].values()
        assert job["recorded_s"] > 0
        assert job["replayed_s"] == pytest.approx(
            job["response_s"]
            if "response_s" in job
            else job["finished_at_s"] - job["submitted_at_s"]
        )
        yield job["replay_error"]


def test_replays_err_by_a_few_percent():
    errors = [abs(error) for error in replay_errors(log for log in LOGS if log.name != BIG)]

    assert len(errors) >= 7
    assert median(errors) <= 0.01
    assert max(errors) <= 0.05


@pytest.mark.slow
@pytest.mark.no_invariants
def test_so_does_one_of_thirteen_thousand_tasks():
    (error,) = replay_errors([SPARK / BIG])

    assert abs(error) <= 0.01


def made_application(draw):
    """Stages side by side under Spark's FIFO: a core takes the lowest stage with a waiting task.

    Executors come late, launches take time, and the driver takes a while between stages.
    """
    count, cores = draw.randint(1, 12), draw.choice([2, 4, 8, 32])
    after = [
        tuple(sorted(set(draw.choices(range(at), k=draw.randint(0, 2))))) if at else ()
        for at in range(count)
    ]
    lengths = [
        [draw.lognormvariate(0, 1) for _ in range(draw.choice([1, 3, 8, 20, 60]))] for _ in after
    ]
    free = [(10.0 + (draw.choice([0, 2, 30]) if core > 1 else 0), core) for core in range(cores)]
    heapify(free)
    ready_at_s = [10.0 if not before else None for before in after]
    spans: list[list[tuple[float, float]]] = [[] for _ in after]
    while any(len(own) < len(wanted) for own, wanted in zip(spans, lengths, strict=True)):
        now_s, core = heappop(free)
        waiting = [at for at in range(count) if len(spans[at]) < len(lengths[at])]
        able = [at for at in waiting if (ready_at_s[at] or inf) <= now_s]
        if not able:
            heappush(free, (now_s + 0.05, core))
            continue
        at = able[0]
        end_s = now_s + 0.02 + lengths[at][len(spans[at])]
        spans[at].append((now_s + 0.02, end_s))
        heappush(free, (end_s, core))
        for later in range(count):
            if ready_at_s[later] is None and all(
                len(spans[one]) == len(lengths[one]) for one in after[later]
            ):
                ends_s = [end_s for one in after[later] for _, end_s in spans[one]]
                ready_at_s[later] = max(ends_s) + draw.choice([0.0, 0.2, 3.0])
    stages = [
        PastPhase(
            name=f"stage {at}",
            kind="reduce" if after[at] else "map",
            tasks=len(own),
            avg_s=min(end_s - start_s for start_s, end_s in own),
            max_s=max(end_s - start_s for start_s, end_s in own),
            timeline=tuple(PastTask(started_at_s=a, finished_at_s=b) for a, b in own),
            after=after[at],
        )
        for at, own in enumerate(spans)
    ]
    return PastRun(
        run_id="app",
        profile="app",
        source="spark",
        phases=tuple(stages),
        submitted_at_s=0.0,
        elapsed_s=max(end_s for own in spans for _, end_s in own) + 1.5,
        slots={"map": cores, "reduce": cores},
    )


@pytest.mark.no_invariants
def test_made_applications_with_stages_side_by_side_are_replayed_too():
    errors = []
    for seed in range(12):
        run = made_application(random.Random(seed))
        log = LogRead(path="log", format="spark", runs=(run,))
        workload = replayed([log], ReplayOptions(), source="log")
        (job,) = api.simulate(workload).document()["jobs"].values()
        errors.append(abs(job["replay_error"]))

    assert median(errors) <= 0.01
    assert max(errors) <= 0.10


def test_cores_count_once_and_the_driver_has_its_time():
    workload = workload_from_logs([YARN])
    (job,) = workload.jobs

    assert workload.cluster.nodes[0].containers == 5
    assert workload.cluster.slots(SlotKind.CONTAINER) == 5
    assert {phase.kind for phase in job.phases} == {SlotKind.CONTAINER}
    assert job.phases[1].after == (0,)
    assert job.driver_s == pytest.approx(469.933)


def test_twice_the_cores_help_and_half_of_them_hurt():
    times_s = [
        api.simulate(workload_from_logs([LINES], options={"containers": n})).total_response_s
        for n in (1, 2, 4)
    ]

    assert times_s[0] > times_s[1] > times_s[2]
    assert times_s[0] <= 5.2 + 2.7 + 0.2  # the work of both cores, one after the other


def test_typed_slots_are_an_option():
    job = workload_from_logs([YARN], options={"slots": "typed"}).jobs[0]

    assert [phase.kind for phase in job.phases] == [SlotKind.MAP, SlotKind.REDUCE]
    assert job.driver_s == 0


def test_jobs_of_hadoop_are_compared_too():
    (job,) = api.simulate(workload_from_logs([JHIST])).document()["jobs"].values()

    assert abs(job["replay_error"]) <= 0.05
    assert job["recorded_s"] == pytest.approx(25.4, abs=0.1)


def test_what_the_log_does_not_hold_is_null():
    swim = next((SPARK.parent / "swim").glob("*first50*"))
    options = {"map_slots": 40, "reduce_slots": 20, "jobs_max": 3}
    jobs = api.simulate(workload_from_logs([swim], options=options)).document()["jobs"]

    for job in jobs.values():
        assert (job["recorded_s"], job["replayed_s"], job["replay_error"]) == (None, None, None)


def test_a_workload_file_has_no_recorded_times():
    text = "{version: 1, cluster: {containers: 2}, jobs: [{id: a, maps: {tasks: 4, avg_s: 3}}]}"

    (job,) = api.simulate(api.parse_workload(text)).document()["jobs"].values()
    assert "recorded_s" not in job


def test_the_table_shows_recorded_replayed_and_error():
    answer = sluice("simulate", "--from-log", YARN)

    assert all(name in answer.out for name in ("recorded", "replayed", "error", "7m 53s", "0 %"))


def test_other_policies_do_not_change_the_replay():
    """It shows how good the model of the job is, whatever the simulated scheduler does."""
    one, other = (
        json.loads(sluice("simulate", "--from-log", LINES, "--json", *more).out)["jobs"]
        for more in ((), ("--from-log-set", "containers=1", "--tasks", "fair"))
    )
    (one,), (other,) = one.values(), other.values()

    assert one["replay_error"] == other["replay_error"]
    assert one["finished_at_s"] < other["finished_at_s"]


def test_time_outside_the_tasks_of_a_hadoop_job_is_part_of_every_replay():
    """300 s before the maps, 5 s before the reduces and 5 s after them; 20 s of tasks."""
    workload = workload_from_logs([SPARK.parent / "rumen_made" / "late_start.json"])

    result = api.simulate(workload)

    assert workload.jobs[0].driver_s == 310
    assert result.makespan_s == 330
    (job,) = result.document()["jobs"].values()
    assert (job["recorded_s"], job["replayed_s"]) == (330, 330)
    assert any("driver time" in note for note in workload.notes)
    assert api.order(workload).problem.jobs[0].name == "job_200001010000_0001"
