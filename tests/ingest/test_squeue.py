"""The queue of Slurm as a listing: what runs, what waits, and for how long at most."""

import json

import pytest
from tests.cli.terminal import sluice as command

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput

TABLE = """\
Fri Nov 27 10:00:00 2026
JOBID|NAME|USER|PARTITION|STATE|CPUS|NODES|TIME_LIMIT|TIME|PRIORITY|SUBMIT_TIME|REASON
11|train|ann|gpu|RUNNING|8|1|2:00:00|30:00|100|2026-11-27T09:00:00|None
12_[3-5]|sweep|bob|cpu|PENDING|4|1|1:00:00|0:00|50|2026-11-27T09:10:00|Priority
13|big|ann|gpu|PENDING|8|1|3:00:00|0:00|90|2026-11-27T09:20:00|Resources
14|wait|eve|cpu|PENDING|2|1|1:00:00|0:00|10|2026-11-27T09:20:00|JobHeldUser
15|end|eve|cpu|COMPLETING|2|1|1:00:00|59:00|10|2026-11-27T08:00:00|None
16|free|eve|cpu|PENDING|2|1|UNLIMITED|0:00|5|2026-11-27T08:00:00|Priority
"""
LAYOUT = """\
             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
                21       cpu    model      ann  R    1:00:00      2 n[1-2]
                22       cpu    tidy       bob PD       0:00      1 (Resources)
"""


@pytest.fixture
def listing(tmp_path):
    def of(text):
        path = tmp_path / "squeue.txt"
        path.write_text(text)
        return path

    return of


def jobs_of(path, **options):
    log = read_log(path, options=options)
    assert log.format == "squeue"
    return {
        str(job.job_id): (job.phases[0].tasks, job.limit_s, str(job.pool))
        for job in log.workload.jobs
    }


def test_slurm_prints_whole_thousands_with_a_letter(listing):
    text = "JOBID ST TIME TIME_LIMIT CPUS\n7 R 5:00 10:00 2K\n8 PD 0:00 10:00 512\n"

    assert {name: tasks for name, (tasks, *_) in jobs_of(listing(text)).items()} == {
        "7": 2048, "8": 512,
    }  # fmt: skip


def test_running_jobs_hold_the_rest_of_their_limit_and_waiting_ones_follow_by_priority(listing):
    found = jobs_of(listing(TABLE))

    assert list(found.items()) == [
        ("11", (8, 5400, "ann")),
        ("13", (8, 10800, "ann")),
        *((f"12_{task}", (4, 3600, "bob")) for task in (3, 4, 5)),
    ]
    replayed = sluice.simulate(read_log(listing(TABLE)).workload, tasks="easy")
    assert [job.started_at_s for job in replayed.jobs] == [0, 5400, 16200, 16200, 19800]


def test_a_queue_is_served_with_backfilling_as_its_forecast_is(listing):
    """22 is short and starts in the slots that 21, which is first, cannot use yet."""
    text = (
        "JOBID|NAME|USER|STATE|CPUS|TIME_LIMIT|TIME|PRIORITY\n"
        "20|a|ann|RUNNING|6|1:00:00|0:00|90\n21|b|bob|PENDING|8|1:00:00|0:00|80\n"
        "22|c|cat|PENDING|2|30:00|0:00|70\n"
    )
    path = listing(text)
    forecast = sluice.eta(path, slots=8).document()["jobs"]["22"]
    asked = ("--from-log", path, "--from-log-set", "processors=8", "--json")
    why = json.loads(command("why", "22", *asked).out)
    in_turn = json.loads(command("why", "22", *asked, "--tasks", "fcfs").out)

    assert forecast["ends_in_s"]["high"] == why["finished_at_s"] == 1800
    assert in_turn["finished_at_s"] == 3600 + 3600 + 1800


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_columns_have_any_separator_and_a_cell_may_hold_another(listing, separator):
    text = TABLE.replace("|", separator).replace("sweep", "swe|ep")

    assert jobs_of(listing(text)) == jobs_of(listing(TABLE))


def test_what_has_no_end_or_is_held_is_skipped_with_its_reason(listing):
    skipped = [one.why for one in read_log(listing(TABLE)).skipped]
    assert skipped == ["job 14 is held", "job 15 is completing", "job 16 has no time limit"]
    assert jobs_of(listing(TABLE), limit_s=60)["16"] == (2, 60, "eve")


def test_the_default_layout_counts_nodes_and_needs_a_limit(listing):
    with pytest.raises(InvalidInput, match="time limit"):
        jobs_of(listing(LAYOUT))
    assert jobs_of(listing(LAYOUT), limit_s=7200) == {
        "21": (2, 3600, "ann"),
        "22": (1, 7200, "bob"),
    }


def test_json_is_read_as_the_table_is(listing):
    def number(value):
        return {"set": True, "infinite": False, "number": value}

    jobs = [
        {"job_id": 11, "name": "train", "user_name": "ann", "partition": "gpu",
         "job_state": ["RUNNING"], "cpus": number(8), "time_limit": number(120),
         "start_time": number(1_000_000), "priority": number(100)},
        {"job_id": 12, "array_job_id": number(12), "array_task_id": {"set": False},
         "array_task_string": "3-5", "name": "sweep", "user_name": "bob", "partition": "cpu",
         "job_state": "PENDING", "cpus": 4, "time_limit": number(60), "priority": number(50)},
        {"job_id": 17, "job_state": ["PENDING"], "cpus": 1, "partition": "cpu",
         "time_limit": {"set": False, "infinite": True, "number": 0}},
    ]  # fmt: skip
    found = jobs_of(listing(json.dumps({"last_update": number(1_001_800), "jobs": jobs})))

    assert found == {
        "11": (8, 5400, "ann"),
        **{f"12_{task}": (4, 3600, "bob") for task in (3, 4, 5)},
    }


def test_an_eta_says_that_the_limit_of_an_array_does_not_count(listing):
    head = "JOBID|NAME|USER|PARTITION|STATE|CPUS|TIME_LIMIT|TIME|REASON\n"
    row = "12_[3-5{}]|sweep|bob|cpu|PENDING|4|1:00:00|0:00|JobArrayTaskLimit\n"
    limited, free = (
        sluice.eta(listing(head + row.format(most)), slots=8).notes for most in ("%2", "")
    )

    said = "The limit of array 12 (%2 at once) is not in it: its tasks may start later."
    assert said in limited
    assert not any("at once" in note for note in free)
