"""Damaged logs give what can be read, and a report of the rest, or one clear refusal."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.ingest.logs_mutations import SEEDS, mutated, way
from tests.ingest.stage_logs import samples

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.registry import AUTO
from sluice.ingest.logs.replay import ReplayOptions, replayed
from sluice.ingest.logs.report import SKIPPED_MAX, LogRead
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind

DATA = Path(__file__).resolve().parents[1] / "data" / "logs"
WATCHED_MAX = 30
MEMORY_BYTES_MAX = 64 * 1024 * 1024
OWN = """
version: 1
cluster: {map_slots: 3, reduce_slots: 2}
jobs:
  - {id: a, maps: {tasks: 40, avg_s: 3}, reduces: {tasks: 5, avg_s: 2}, shuffle: {avg_s: 1}}
  - {id: b, submitted_at_s: 5, maps: {tasks: 60, avg_s: 1.5}}
settings: {jitter: 0.2, task_failure: 0.05}
"""


def own_trace() -> bytes:
    trace = sluice.simulate(sluice.parse_workload(OWN)).trace()
    return "".join(f"{line}\n" for line in trace).encode()


def airflow_history() -> bytes:
    times = ("2026-01-05T08:00:00+00:00", "2026-01-05T08:01:00+00:00")
    rows = [
        {"dag_id": "etl", "dag_run_id": f"run {run}", "task_id": f"task {task}", "try_number": 1,
         "state": "success", "start_date": times[0], "end_date": times[1], "pool": "default_pool"}
        for run in range(20) for task in range(10)
    ]  # fmt: skip
    return json.dumps({"task_instances": rows}, indent=1).encode()


def workflow() -> bytes:
    names = [f"task_{number}" for number in range(60)]
    graph = [
        {"id": name, "name": f"n{at}", "parents": names[max(0, at - 2) : at], "children": []}
        for at, name in enumerate(names)
    ]
    times = [{"id": name, "runtimeInSeconds": 1.5, "coreCount": 1} for name in names]
    graphs, runs = (",\n".join(map(json.dumps, listed)) for listed in (graph, times))
    return (
        '{"name": "chain", "schemaVersion": "1.5", "workflow": {"specification": {"tasks": ['
        f'{graphs}]}}, "execution": {{"tasks": [{runs}]}}}}}}'
    ).encode()


def kueue_workloads() -> bytes:
    at = "2026-01-05T08:0%d:00Z"
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": at % minute}
        for kind, minute in (("Admitted", 1), ("Finished", 3))
    ]
    items = [
        {"kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta1",
         "metadata": {"name": f"w{n}", "namespace": "ns", "creationTimestamp": at % 0},
         "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 1 + n % 3}]},
         "status": {"conditions": conditions}}
        for n in range(60)
    ]  # fmt: skip
    return ('{"items": [' + ",\n".join(map(json.dumps, items)) + "]}").encode()


def volcano_jobs() -> bytes:
    at = "2026-01-05T08:0%d:00Z"
    phases = [
        {"status": one, "lastTransitionTime": at % minute}
        for minute, one in enumerate(("Pending", "Running", "Completed"))
    ]
    items = [
        {"kind": "Job", "apiVersion": "batch.volcano.sh/v1alpha1",
         "metadata": {"name": f"j{n}", "namespace": "ns", "creationTimestamp": at % 0},
         "spec": {"queue": "q", "minAvailable": 1, "tasks": [{"replicas": 1 + n % 3}]},
         "status": {"state": {"phase": "Completed"}, "conditions": phases}}
        for n in range(60)
    ]  # fmt: skip
    return ('{"items": [' + ",\n".join(map(json.dumps, items)) + "]}").encode()


def rm_apps() -> bytes:
    apps = [
        {"id": f"application_1_{n}", "user": "ann", "name": f"query {n % 5}", "queue": "root.etl",
         "state": "FINISHED", "finalStatus": "SUCCEEDED", "startedTime": 1767600000000 + n,
         "launchTime": 1767600001000 + n, "finishedTime": 1767600031000 + 7 * n,
         "vcoreSeconds": 30 + 3 * n, "memorySeconds": 9000}
        for n in range(60)
    ]  # fmt: skip
    return ('{"apps": {"app": [' + ",\n".join(map(json.dumps, apps)) + "]}}").encode()


def history_of_hadoop_1() -> bytes:
    job = 'Job JOBID="job_200904211745_0001"'
    attempts = "".join(
        f'MapAttempt TASK_TYPE="MAP" TASKID="task_200904211745_0001_m_{n:06}" '
        f'TASK_ATTEMPT_ID="attempt_200904211745_0001_m_{n:06}_0" {what} .\n'
        for n in range(40)
        for what in (
            f'START_TIME="{1240335965100 + n}" TRACKER_NAME="tracker_h{n % 3}"',
            (
                f'TASK_STATUS="SUCCESS" FINISH_TIME="{1240335985100 + n}" HOSTNAME="/rack/h{n % 3}"'
                f' COUNTERS="{{(g)(g)[(SPILLED_RECORDS)(Spilled Records)({n})]}}"'
            ),
        )
    )
    return (
        f'Meta VERSION="1" .\n{job} JOBNAME="nightly" SUBMIT_TIME="1240335962848" .\n{attempts}'
        f'{job} FINISH_TIME="1240335990000" JOB_STATUS="SUCCESS" .\n'
    ).encode()


def squeue_listing() -> bytes:
    rows = [
        f"{n}|n{n % 5}|ann|cpu|{'RUNNING' if n < 9 else 'PENDING'}|{1 + n % 7}|1:00:00|0:{n:02}|{n}"
        for n in range(60)
    ]
    head = "JOBID|NAME|USER|PARTITION|STATE|CPUS|TIME_LIMIT|TIME|PRIORITY"
    return "\n".join([head, *rows]).encode()


def sinfo_listing() -> bytes:
    rows = [
        f"n[{10 * n + 1:03}-{10 * n + 9:03}]|cpu|{('idle', 'mix', 'drain*')[n % 3]}|9|{8 + n % 5}"
        for n in range(60)
    ]
    return "\n".join(["NODELIST|PARTITION|STATE|NODES|CPUS", *rows]).encode()


def first_lines(path: Path, count: int) -> bytes:
    return b"".join(path.read_bytes().splitlines(keepends=True)[:count])


SAMPLES: dict[str, Callable[[], bytes]] = {
    "spark": (DATA / "spark" / "local-1532512550423").read_bytes,
    "swim": lambda: next((DATA / "swim").glob("*first50*")).read_bytes(),
    "swf": lambda: first_lines(DATA / "swf" / "hpc2n.swf", 300),
    "batsim": lambda: next((DATA / "batsim").glob("*.json")).read_bytes(),
    "sacct": (DATA / "sacct" / "whole.txt").read_bytes,
    "squeue": squeue_listing,
    "sinfo": sinfo_listing,
    "airflow": airflow_history,
    "wfformat": workflow,
    "kueue": kueue_workloads,
    "rm-apps": rm_apps,
    "volcano": volcano_jobs,
    "mr1": history_of_hadoop_1,
    **{name: partial(bytes, content) for name, content in samples().items()},
    "sluice": own_trace,
}


@contextmanager
def bounded_memory(seed: int) -> Iterator[None]:
    """Whatever a bomb or a huge line unfolds into, only so much of it is held."""
    if way(seed) not in ("bomb", "huge") or seed >= WATCHED_MAX:  # for watching is slow
        yield
        return
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MEMORY_BYTES_MAX
    finally:
        tracemalloc.stop()


def outcome(path: Path, name: str) -> str:
    """Return the outcome of reading a log: "read" whole, "skipped" in part, or "refused"."""
    try:
        log = read_log(path, name)
    except InvalidInput as error:
        refusal = str(error)
    else:
        check(log)
        return "skipped" if log.skipped_count else "read"
    assert str(path) in refusal
    assert "\n" not in refusal
    return "refused"


def check(log: LogRead) -> None:
    """A result that everything after it can trust."""
    assert len(log.skipped) == min(log.skipped_count, SKIPPED_MAX)
    assert all(one.why.isprintable() for one in log.skipped)
    if log.format == "sinfo":  # a cluster, and nothing that ran
        assert log.workload.cluster.slots(SlotKind.CONTAINER) > 0
        return
    assert log.runs
    for run in log.runs:
        assert (run.run_id + run.profile).isprintable()
        for position, phase in enumerate(run.phases):  # `PastPhase` checks the lengths itself
            said = (phase.input_bytes, phase.output_bytes, phase.shuffle_read_bytes)
            assert 0 <= min(said) <= max(said) < 2**63
            assert all(0 <= one < position for one in phase.after)
    if any(run.phases for run in log.runs):
        assert replayed([log], ReplayOptions(), source="log").jobs


@pytest.mark.in_turn(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_log_of_each_format_is_read_or_refused(name, tmp_path):
    """Cut, flipped, in another encoding, with a huge line, a bomb: nothing else comes out."""
    content = SAMPLES[name]()
    path = tmp_path / "log"
    said: dict[str, set[str]] = {}
    for seed in SEEDS:
        path.write_bytes(mutated(content, seed))
        with bounded_memory(seed):
            said.setdefault(way(seed), set()).add(outcome(path, name))

    assert set().union(*said.values()) >= {"skipped", "refused"}
    assert said["bomb"] <= {"refused", "skipped"}
    assert said["wide"] == {"refused"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_whole_log_is_recognised_and_read_without_loss(name, tmp_path):
    """So that the damaged ones of the other test differ by their damage alone."""
    path = tmp_path / "log"
    path.write_bytes(SAMPLES[name]())
    log = read_log(path, AUTO)

    assert (log.format, log.skipped_count) == (name, 6 if name == "swf" else 0)
    check(log)
