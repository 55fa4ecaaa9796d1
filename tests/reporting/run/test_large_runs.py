"""Charts of large runs: what is chosen is said, what is folded is counted, and sums stay true."""

from dataclasses import replace

import pytest
from tests.reporting.run.run_results import paper_result, result_of
from tests.runs import map_reduce, totals

import sluice
from sluice.model.slot_kind import SlotKind
from sluice.reporting.charts import theme
from sluice.reporting.run.job_choice import chosen_jobs
from sluice.reporting.run.pool_heat import INTERVALS, POOLS_MAX

STAGES = """
version: 1
cluster: {containers: 4}
jobs:
  - id: report
    phases:
      - {name: "stage 0: scan", tasks: 8, avg_s: 10}
      - {name: "stage 1: join", tasks: 4, avg_s: 30}
      - {name: "stage 2: top", tasks: 1, avg_s: 0.5}
      - {name: "stage 3: write", tasks: 4, avg_s: 5}
"""


@pytest.fixture(scope="module")
def outcomes():
    """100 jobs, each waits longer than the one before; some run longer, two end badly."""
    (like, *_) = paper_result().jobs
    made = [
        replace(
            like, job_id=f"j{n}", submitted_at_s=0.0, started_at_s=float(n),
            finished_at_s=n + (11.0 if n in {50, 51, 52} else 10.0), deadline_at_s=None,
            deadline_met=None, state="done",
        )
        for n in range(100)
    ]  # fmt: skip
    made[3] = replace(made[3], deadline_at_s=5.0, deadline_met=False)
    made[4] = replace(made[4], state="failed")
    made[5] = replace(made[5], finished_at_s=900.0)
    return made


def test_late_failed_waiting_and_long_jobs_are_chosen_and_counted(outcomes):
    chosen = chosen_jobs(outcomes, most=10)
    names = [job.job_id for job in chosen.jobs]

    assert ["j3", "j4", "j5", "j50", "j51", "j52", "j96", "j97", "j98", "j99"] == names
    assert (
        "10 of 100 jobs are shown: 2 of the 2 that were late or failed, the 4 jobs that waited"
        " longest and the 4 that ran longest."
    ) == chosen.note


def test_many_late_jobs_leave_half_of_the_lanes_to_others(outcomes):
    late = [
        replace(job, deadline_at_s=1.0, deadline_met=False) if place < 50 else job
        for place, job in enumerate(outcomes)
    ]
    chosen = chosen_jobs(late, most=10)

    assert sum(job.deadline_met is None for job in chosen.jobs) >= 3
    assert "5 of the 50 that were late" in chosen.note


def test_few_jobs_are_all_shown(outcomes):
    chosen = chosen_jobs(outcomes, most=100)

    assert (100, "") == (len(chosen.jobs), chosen.note)


def test_slots_without_a_task_are_folded():
    spec = result_of(totals(9, 4), [map_reduce("a", 3, 10.0)]).plot("slots").spec

    assert 3 == len(spec["layer"][0]["encoding"]["y"]["scale"]["domain"])
    assert "6 slots without a task are not shown." in spec["title"]["subtitle"]


@pytest.fixture(scope="module")
def crowded():
    """30 jobs of 40 short maps on 200 slots: more lanes than a chart has. Each is its own pool."""
    jobs = "".join(
        f"  - {{id: j{n}, maps: {{tasks: 40, avg_s: {3 + n % 4}}}}}\n" for n in range(30)
    )
    text = f"version: 1\ncluster: {{map_slots: 200}}\njobs:\n{jobs}"
    return sluice.simulate(sluice.parse_workload(text))


def test_bars_that_would_not_be_readable_become_a_heat_map(crowded):
    spec = crowded.plot("slots").spec

    assert "Busy slots by pool" == spec["title"]["text"]
    assert (
        "1,200 task attempts on 200 slots: more than fit as bars." in (spec["title"]["subtitle"][0])
    )
    assert POOLS_MAX == len(spec["layer"][0]["encoding"]["y"]["scale"]["domain"])
    assert "23 pools that used most slot time, and 7 others" in spec["title"]["subtitle"][1]


def test_a_heat_map_adds_up_to_the_busy_time(crowded):
    rows = crowded.plot("slots").spec["data"]["values"]
    width_s = crowded.makespan_s / INTERVALS

    assert sum(row["busy"] for row in rows) * width_s == pytest.approx(
        crowded.work.busy_s[SlotKind.MAP]
    )
    for start in {row["start"] for row in rows}:
        assert sum(row["busy"] for row in rows if row["start"] == start) <= 200 + 1e-6


def test_the_stages_of_one_application_have_lanes_and_labels():
    spec = sluice.simulate(sluice.parse_workload(STAGES)).plot("jobs").spec
    rows = {row["stage"]: row for row in spec["data"]["values"]}

    assert "Stages of report" == spec["title"]["text"]
    assert ("0:20 – 0:50 (0:30)", "54 %") == (
        rows["stage 1: join"]["time"], rows["stage 1: join"]["label"],
    )  # fmt: skip
    assert "" == rows["stage 2: top"]["label"], "below 3 %"
    longest = [row["stage"] for row in rows.values() if row["colour"] == theme.ORANGE]
    assert ["stage 1: join"] == longest


def test_tasks_of_one_application_are_coloured_by_stage():
    spec = sluice.simulate(sluice.parse_workload(STAGES)).plot("slots").spec
    colour = spec["layer"][0]["encoding"]["color"]
    named = {row["stage"] for row in spec["data"]["values"] if "name" in row}

    assert "stage" == colour["field"]
    assert 4 == len(set(colour["scale"]["range"]))
    assert {"stage 0: scan", "stage 1: join", "stage 3: write"} == named
