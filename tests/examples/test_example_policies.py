"""The policies that the documents teach do what their first line says, in cases done by hand."""

import sys
from collections import Counter
from pathlib import Path

import pytest

import sluice

FOLDER = Path(__file__).parents[2] / "docs" / "example_policy"
PARTS = FOLDER / "own_parts.py"
TASK_POLICY = FOLDER / "shortest_remaining.py"
LONG_AND_SHORT = """
version: 1
cluster: {nodes: 2, node: {map_slots: 2, reduce_slots: 2}}
jobs:
  - {id: long, maps: {tasks: 8, avg_s: 10}}
  - {id: short, deadline_s: 30, maps: {tasks: 4, avg_s: 5}}
"""


def ends(text, **how):
    """When each job ended, in seconds."""
    found = sluice.simulate(sluice.parse_workload(text), **{"tasks": "fifo", **how})
    return {str(job.job_id): job.finished_at_s for job in found.jobs}


def test_without_them_the_jobs_run_one_after_the_other():
    """4 map slots: 8 maps of 10 s take two waves, 4 of 5 s a third."""
    assert ends(LONG_AND_SHORT) == {"long": 20.0, "short": 25.0}


@pytest.mark.parametrize(
    ("how", "long_s", "short_s"),
    [
        # Its 20 s of work are less than the 80 s of the first.
        ({"tasks": f"{TASK_POLICY}:ShortestRemaining"}, 25.0, 5.0),
        # 4 tasks are fewer than 8.
        ({"tasks": f"order={FOLDER / 'weighted_smallest.py'}:WeightedSmallest"}, 25.0, 5.0),
        ({"tasks": f"order=fifo+goals={PARTS}:DeadlinesFirst"}, 25.0, 5.0),
        # It is refused when it comes.
        ({"admission": f"{PARTS}:DeadlinesOnly"}, 0.0, 5.0),
        # It begins 10 s later.
        ({"tasks": f"order=fifo+data={PARTS}:AfterCopying"}, 30.0, 35.0),
        # 2 slots instead of 4 take twice as long.
        ({"tasks": f"order=fifo+machines={PARTS}:AllButFirst"}, 40.0, 50.0),
    ],
)
def test_a_policy_changes_when_the_two_jobs_end(how, long_s, short_s):
    assert ends(LONG_AND_SHORT, **how) == {"long": long_s, "short": short_s}


def test_the_task_policy_starts_stages_in_containers():
    """`two` has 4 s of work left, and `one` 10 s; a container takes one task at a time."""
    text = """
    version: 1
    cluster: {nodes: 1, node: {containers: 1}}
    jobs:
      - id: one
        phases: [{name: a, tasks: 2, avg_s: 5}]
      - id: two
        phases: [{name: a, tasks: 2, avg_s: 1}, {name: b, after: [a], tasks: 1, avg_s: 2}]
    """

    assert ends(text, tasks=f"{TASK_POLICY}:ShortestRemaining") == {"one": 14.0, "two": 4.0}


def test_the_weight_of_a_job_divides_its_tasks():
    """8 tasks by weight 4 are less than 4 tasks by weight 1."""
    heavy = LONG_AND_SHORT.replace("id: long", "id: long, weight: 4")
    order = f"order={FOLDER / 'weighted_smallest.py'}:WeightedSmallest"

    assert ends(heavy, tasks=order) == {"long": 20.0, "short": 25.0}
    # The weight counts for nothing if it is raised to 0.
    unweighted = {"weighted-smallest.power": 0}
    assert ends(heavy, tasks=order, settings=unweighted) == {"long": 25.0, "short": 5.0}


def test_jobs_are_released_one_at_a_time():
    """The second job has slots from the start, and waits for the 10 s of the first."""
    text = LONG_AND_SHORT.replace("tasks: 8", "tasks: 1").replace("tasks: 4", "tasks: 1")

    assert ends(text) == {"long": 10.0, "short": 5.0}
    assert ends(text, release=f"{PARTS}:OneAtATime") == {"long": 10.0, "short": 15.0}


def test_a_node_runs_one_reduce():
    """4 reduces of 10 s on 2 nodes of 2 slots each: two waves instead of one, after 5 s of maps."""
    text = """
    version: 1
    cluster: {nodes: 2, node: {map_slots: 2, reduce_slots: 2}}
    jobs: [{id: j, maps: {tasks: 4, avg_s: 5}, reduces: {tasks: 4, avg_s: 10}}]
    """

    assert ends(text) == {"j": 15.0}
    assert ends(text, tasks=f"order=fifo+slots={PARTS}:OneReduceEach") == {"j": 25.0}


def test_a_slow_task_is_copied_where_nothing_waits():
    """One of two nodes takes 60 s for a map of 10 s. It is old after 25 s; the next look, every
    3 s, is at 27 s, and the copy on the other node ends at 37 s.
    """
    text = """
    version: 1
    cluster: {nodes: 2, node: {map_slots: 1}}
    jobs: [{id: j, maps: {tasks: 2, avg_s: 10}}]
    settings: {p_slow_node: 0.5, slow_node_factor: 6}
    """
    seed = next(one for one in range(20) if slow_nodes(text, one) == 1)

    assert ends(text, seed=seed) == {"j": 60.0}
    copies = f"order=fifo+copies={PARTS}:Old"
    assert ends(text, tasks=copies, seed=seed) == {"j": 37.0}
    later = {"old.after_s": 40}
    assert ends(text, tasks=copies, seed=seed, settings=later) == {"j": 52.0}


def slow_nodes(text, seed):
    """The number of nodes that are slow with a seed."""
    run = sluice.simulate(sluice.parse_workload(text), tasks="fifo", seed=seed)
    return sum(one.finished_at_s - one.started_at_s > 10.0 for one in run.attempts)


def test_a_task_costs_the_task_policy_three_calls():
    """A task that ends frees a slot: `fill`, the key of its job, and the sum in it. Calls are most
    of the cost of a policy that is not compiled; `bench/models.py` holds its time.
    """
    jobs = "".join(
        f"  - {{id: j{job}, maps: {{tasks: 80, avg_s: {5 + job}}},"
        f" reduces: {{tasks: 20, avg_s: {7 + job}}}}}\n"
        for job in range(10)
    )
    workload = sluice.parse_workload(
        f"version: 1\ncluster: {{nodes: 2, node: {{map_slots: 4, reduce_slots: 2}}}}\njobs:\n{jobs}"
        "settings: {jitter: 0.2}\n"
    )
    calls: Counter[str] = Counter()

    def count(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename == str(TASK_POLICY):
            calls[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        sluice.simulate(workload, tasks=f"{TASK_POLICY}:ShortestRemaining")
    finally:
        sys.setprofile(None)

    assert calls["fill"] >= 100  # a node each, at the least
    assert calls.total() <= 3.1 * 1000, calls
