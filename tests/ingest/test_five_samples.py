"""Jobs, tasks and seconds of five samples of each format equal those of an independent reader."""

import random

import pytest
from tests.ingest import five_samples

from sluice.ingest.logs.formats import read_log
from sluice.model.slot_kind import SlotKind

FORMATS = {
    "swf": "samples.swf", "batsim": "w.json", "philly": "cluster_job_log", "volcano": "jobs.json",
    "squeue": "squeue.txt", "swim": "day.tsv", "rumen": "rumen.json", "sls": "sls.json",
    "mr1": "history", "dbt": "run_results.json", "ray": "timeline.json", "tez": "history.txt",
    "alibaba": "batch_task.csv", "sluice": "run.jsonl",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", FORMATS)
def test_counts_are_those_of_an_independent_reader(tmp_path, name, seed):
    writer = "trace" if name == "sluice" else name
    text = getattr(five_samples, writer)(random.Random(seed))
    path = tmp_path / FORMATS[name]
    path.write_text(text)
    counted = getattr(five_samples, f"count_{writer}")(text)

    log = read_log(path)
    runs = {
        run.run_id.rpartition("/")[2]: [(p.tasks, p.avg_s) for p in run.phases] for run in log.runs
    }
    if log.workload is not None:  # rigid jobs that failed are replayed, too
        runs = {
            job.job_id.rpartition("/")[2]: [
                (phase.tasks, phase.lengths.average_s) for phase in job.phases
            ]
            for job in log.workload.jobs
        }
    found = {
        job_id: (
            sum(tasks for tasks, _ in phases),
            # The lengths of SWIM follow from sizes and options: test_swim counts them.
            None if name == "swim" else round(sum(tasks * each_s for tasks, each_s in phases), 3),
        )
        for job_id, phases in runs.items()
    }

    assert (log.format, len(found)) == (name, len(log.workload.jobs if log.workload else log.runs))
    assert found == counted


@pytest.mark.parametrize("seed", range(5))
def test_processors_of_sinfo_are_those_of_an_independent_reader(tmp_path, seed):
    path = tmp_path / "sinfo.txt"
    path.write_text(five_samples.sinfo(random.Random(seed)))

    log = read_log(path)

    assert log.format == "sinfo"
    counted = five_samples.count_sinfo(path.read_text())
    assert log.workload.cluster.slots(SlotKind.CONTAINER) == counted
