"""No figure is fixed: another seed, demand or deadline moves it. One test for each subject."""

import copy
import json
from pathlib import Path

import pytest

import sluice
from sluice.reproductions.cura import figures
from sluice.reproductions.cura.workloads import Load

EXAMPLES = Path(__file__).parents[1] / "examples"
SHUFFLE = {
    "version": 1,
    "cluster": {"nodes": 2, "node": {"map_slots": 2, "reduce_slots": 2}},
    "jobs": [
        {
            "id": "sort",
            "map_output": {"bytes": 8e9, "records": 8e7},
            "maps": {"tasks": 16, "avg_s": 10},
            "reduces": {"tasks": 4, "avg_s": 5},
        }
    ],
}
WORKFLOW = {
    "version": 1,
    "server_units": 4,
    "vm_types": [{"id": "small", "units": 1, "vms": 4}],
    "jobs": [
        {"id": "first", "predictions": {"small": {"1": 50}}},
        {"id": "last", "after": ["first"], "deadline_s": 300, "predictions": {"small": {"1": 100}}},
    ],
}
QUOTED = {
    "version": 1,
    "server_units": 12,
    "vm_types": [{"id": "VM-1", "units": 2, "vms": 40}],
    "jobs": [{"id": "a", "deadline_s": 270, "predictions": {"VM-1": {"10": 250, "20": 131.58}}}],
}
SHARED = {
    "version": 1,
    "cluster": {
        "node_groups": [
            {"id": "fast", "containers": 1, "unit_weight": 2},
            {"id": "slow", "containers": 1},
        ]
    },
    "queues": [{"id": "a"}, {"id": "b"}],
    "jobs": [
        {"id": "x", "pool": "a", "maps": {"tasks": 6, "avg_s": 10}},
        {"id": "y", "pool": "b", "maps": {"tasks": 6, "avg_s": 10}},
    ],
}
GOALS = {
    "version": 1,
    "cluster": {"nodes": 2, "node": {"cpu": 100, "io": 100, "memory": 100}},
    "jobs": [
        {
            "id": name,
            "deadline_s": deadline_s,
            "demand": {"map": {"cpu": cpu}, "reduce": {"cpu": 20}},
            "maps": {"tasks": 20, "avg_s": 20},
            "reduces": {"tasks": 2, "avg_s": 10},
        }
        for name, deadline_s, cpu in (("tight", 90, 30), ("loose", 400, 60))
    ],
}


def with_value(document, *path, to):
    """The document with one value changed."""
    made = copy.deepcopy(document)
    *steps, last = path
    place = made
    for step in steps:
        place = place[step]
    place[last] = to
    return made


def workload(document, *path, to=None):
    return sluice.parse_workload(
        json.dumps(with_value(document, *path, to=to) if path else document)
    )


def all_differ(*figures):
    return len(set(figures)) == len(figures)


def test_early_shuffles():
    """The start of reduces, the bytes that they fetch, and the seed of the lengths."""

    def makespan_s(*path, to=None, slowstart=0.05, seed=0):
        made = workload(SHUFFLE, *path, to=to)
        settings = {"slowstart": slowstart, "jitter": 0.2, "contention": "shared"}
        return sluice.simulate(made, settings=settings, seed=seed).makespan_s

    assert all_differ(
        makespan_s(),
        makespan_s(slowstart=1.0),
        makespan_s(seed=1),
        makespan_s("jobs", 0, "map_output", "bytes", to=3.2e10),
    )


def test_jobs_after_jobs():
    """The share that the first job has of the deadline of the last."""

    def due_s(*path, to=None):
        return sluice.pools(workload(WORKFLOW, *path, to=to)).document()["jobs"]["first"][
            "deadline_at_s"
        ]

    assert due_s() == 100
    assert due_s("jobs", 1, "deadline_s", to=600) == 200
    assert due_s("jobs", 0, "predictions", to={"small": {"1": 100}}) == 150


def test_tuned_buffers():
    """Their size and spills follow the output of the maps; random searches follow their seed."""

    def options(source, tune="buffers", seed=0):
        return sluice.plan(source, tune=[tune], io_model="merge", seed=seed).mapreduce_options(1)

    text = (EXAMPLES / "budget.yaml").read_text()
    more = sluice.parse_workload(text.replace("bytes: 8.0e9", "bytes: 4.0e10"))
    assert all_differ(
        options(sluice.parse_workload(text)),
        options(more),
        options(more, "buffers-random"),
        options(more, "buffers-random", seed=1),
    )


def test_weights_of_nodes():
    """The use of a queue counts by the node, and by the number of its tasks."""

    def used(*path, to=None):
        made = sluice.simulate(workload(SHARED, *path, to=to), tasks="ltrf").document()
        return sum(row["used_container_s"] for row in made["accounts"].values())

    assert used() == 180
    assert used("cluster", "node_groups", 0, "unit_weight", to=3) == 240
    assert used("jobs", 0, "maps", "tasks", to=8) == 210


def test_prices_by_deadline():
    """They follow the length of the job, and rise where its deadline comes sooner."""

    def prices(*path, to=None):
        made = sluice.deadline_prices(workload(QUOTED, *path, to=to), "a").prices
        return [round(one.price_server_s) for one in made]

    assert prices() == [439, 417, 417]
    assert prices("jobs", 0, "deadline_s", to=140)[:1] == [439]
    assert prices("jobs", 0, "predictions", to={"VM-1": {"10": 500, "20": 250}})[0] == 833


@pytest.mark.parametrize("change", [{"mean_deadline_s": 400}, {"jobs": 61}])
def test_evaluation_of_vm_pools(change):
    """The draws of a load follow its seed, its deadlines and its number of jobs."""

    def cost(seed=0, **given):
        load = Load(**{"jobs": 60, "mean_deadline_s": 300, **given})
        return figures.cura(figures.problem(load, seed)).total_cost_server_s

    assert all_differ(cost(), cost(seed=1), cost(**change))


def test_completion_time_goals():
    """The slots that RAS gives follow the goals and the demand of a task."""

    def ends_s(*path, to=None):
        found = sluice.simulate(workload(GOALS, *path, to=to), tasks="ras").document()["jobs"]
        return tuple(row["finished_at_s"] for row in found.values())

    assert all_differ(
        ends_s(),
        ends_s("jobs", 0, "deadline_s", to=400),
        ends_s("jobs", 1, "demand", "map", "cpu", to=20),
    )


def test_rented_vms():
    """The rent follows the deadlines, the price and the limit."""
    text = (EXAMPLES / "deadlines.yaml").read_text()

    def rent_usd(text=text, **settings):
        chosen = {"capacity.vms_max": 16, **{f"capacity.{one}": to for one, to in settings.items()}}
        found = sluice.simulate(
            sluice.parse_workload(text), tasks="yarn-like", admission="capacity", settings=chosen
        )
        return found.document()["machines"]["rented_usd"]

    assert all_differ(
        round(rent_usd(), 9),
        round(rent_usd(on_demand_vm_usd=0.44), 9),
        round(rent_usd(vms_max=11), 9),
        round(rent_usd(text.replace("deadline_s: 300", "deadline_s: 420")), 9),
    )
