"""Jobs of stages in virtual time: barriers, driver time, and the containers they run in."""

import pytest

import sluice
from sluice.bootstrap.policy_classes import policy_names

STAGES = """
version: 1
cluster: {cluster}
jobs:
  - id: report
    driver_s: 2
    phases:
      - {{name: left, tasks: 4, avg_s: 3}}
      - {{name: right, tasks: 4, avg_s: 2, after: []}}
      - {{name: join, tasks: 4, avg_s: 5, after: [left, right]}}
      - {{name: write, tasks: 1, avg_s: 1}}
"""
MIXED = STAGES + "  - {{id: etl, maps: {{tasks: 4, avg_s: 3}}, reduces: {{tasks: 2, avg_s: 2}}}}\n"


def simulated(text, cluster="{containers: 4}", **options):
    return sluice.simulate(sluice.parse_workload(text.format(cluster=cluster)), **options)


@pytest.mark.parametrize("tasks", ["fifo", "fair", "static", "yarn-like"])
def test_a_graph_of_stages_ends_as_its_critical_path_says(tasks):
    """2 s of driver, two rounds of 4 tasks (3 s and 2 s), one of 5 s, and 1 s."""
    assert simulated(STAGES, tasks=tasks).makespan_s == 2 + 3 + 2 + 5 + 1


@pytest.mark.parametrize("tasks", ["fifo", "fair", "yarn-like"])
def test_independent_stages_run_together(tasks):
    assert simulated(STAGES, "{containers: 8}", tasks=tasks).makespan_s == 2 + 3 + 5 + 1


@pytest.mark.parametrize("cluster", ["{containers: 4}", "{map_slots: 3, reduce_slots: 1}"])
@pytest.mark.parametrize("tasks", ["fifo", "fair", "yarn-like"])
def test_all_jobs_of_a_workload_with_stages_run_in_containers(cluster, tasks):
    result = simulated(MIXED, cluster, tasks=tasks)

    assert {job.state for job in result.jobs} == {"done"}
    assert {kind for kind, share in result.utilisation.items() if share} == {"containers"}


@pytest.mark.parametrize("tasks", ["fifo", "fair", "static"])
def test_maps_and_reduces_run_on_a_cluster_of_containers(tasks):
    text = (
        "{version: 1, cluster: {containers: 4}, jobs:"
        " [{id: a, maps: {tasks: 8, avg_s: 3}, reduces: {tasks: 2, avg_s: 5}}]}"
    )

    assert sluice.simulate(sluice.parse_workload(text), tasks=tasks).makespan_s == 3 + 3 + 5


@pytest.mark.slow
@pytest.mark.parametrize("tasks", ["fifo", "fair"])
@pytest.mark.parametrize(
    "settings",
    [
        {"speculation": "late", "sepb": 0.5},
        {"speculation": "late", "sepb_mode": "pool", "sepb_pool": 0.5, "heartbeat_s": 1},
        {"kill_slow": True},
    ],
)
def test_stragglers_of_a_stage_are_copied_or_killed(tasks, settings):
    """Eight tasks of 10 s on 9 containers, one in eight of them 20 times slower."""
    text = """
    version: 1
    cluster: {nodes: 3, node: {containers: 3}}
    jobs: [{id: a, phases: [{name: scan, durations_s: [10, 10, 10, 10, 10, 10, 10, 10]}]}]
    settings: {p_slow: 0.12, slow_factor: 20, min_age_s: 5}
    """
    workload = sluice.parse_workload(text)

    def total_s(given):
        runs = [
            sluice.simulate(workload, tasks=tasks, seed=seed, settings=given) for seed in range(16)
        ]
        return sum(run.makespan_s for run in runs)

    assert total_s(settings) < 0.85 * total_s({})


@pytest.mark.parametrize("cluster", ["{containers: 4}", "{map_slots: 2, reduce_slots: 2}"])
@pytest.mark.parametrize("tasks", ["dynamicmr", "order=fair+slots=lent", "fair+slots=containers"])
def test_stages_run_in_lent_slots_as_in_containers(tasks, cluster):
    """Their tasks are of no kind, so that each slot is lent to the next one."""
    workload = sluice.parse_workload(STAGES.format(cluster=cluster))
    fair, found = (sluice.simulate(workload, tasks=name) for name in ("fair", tasks))

    assert fair.makespan_s == found.makespan_s
    assert {"done"} == {job.state for job in found.jobs}


def test_every_named_policy_runs_stages():
    workload = sluice.parse_workload(STAGES.format(cluster="{containers: 4}"))

    found = sluice.compare(workload, ["all"], seeds=1)

    assert set(policy_names("tasks")) == {row.scheduler for row in found.rows}
