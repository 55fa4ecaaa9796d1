"""A trace of SLS that has its nodes and its jobs in one file, next to its sls-runner.xml."""

from pathlib import Path

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.replay import workload_from_logs
from sluice.model.slot_kind import SlotKind

TRACE = Path(__file__).resolve().parents[1] / "data" / "logs" / "sls_made" / "trace.json"


def test_a_trace_with_its_nodes_keeps_its_jobs():
    workload = workload_from_logs([TRACE])

    assert len(workload.jobs) == len(read_log(TRACE).runs) == 8
    assert sum(phase.tasks for job in workload.jobs for phase in job.phases) == 95
    assert len(sluice.simulate(workload).document()["jobs"]) == 8


def test_containers_that_begin_before_their_job_have_their_lengths():
    """SLS reads end minus start; a trace may start all containers at 0."""
    runs = {run.run_id: run for run in read_log(TRACE).runs}
    (job,) = [run for name, run in runs.items() if name.endswith("job_0")]
    assert job.submitted_at_s
    assert [phase.timeline for phase in job.phases] == [(), ()]

    found = sluice.simulate(workload_from_logs([TRACE])).document()["jobs"]
    responses = {name: one["finished_at_s"] - one["submitted_at_s"] for name, one in found.items()}
    for run in runs.values():
        longest = sum(phase.max_s for phase in run.phases)
        assert responses[run.run_id] > 0.5 * longest, run.run_id


def test_its_nodes_have_the_containers_of_the_runner():
    """4096 MB and 4 cores of a node are four containers of 1024 MB and 1 core."""
    cluster = workload_from_logs([TRACE]).cluster

    assert [node.slots(SlotKind.CONTAINER) for node in cluster.nodes] == [4, 4, 4, 4]
    assert cluster.slots(SlotKind.CONTAINER) == 16
