"""WfCommons workflows, new and old: the graph, the times, the slots, and what is refused."""

import json
import random

import pytest

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind

DIAMOND = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
TIMES = {"a": 10, "b": 20, "c": 5, "d": 7}


def new(graph, times, cores=None, machines=None):
    """1.5: the graph and the execution apart, tasks by id."""
    tasks = [
        {"name": f"n{name}", "id": name, "parents": parents, "children": []}
        for name, parents in graph.items()
    ]
    ran = [
        {"id": name, "runtimeInSeconds": run_s, "coreCount": (cores or {}).get(name, 1)}
        for name, run_s in times.items()
    ]
    execution = {"tasks": ran, "machines": machines or []}
    parts = {"specification": {"tasks": tasks}, "execution": execution}
    return {"name": "w", "schemaVersion": "1.5", "workflow": parts}


def old(graph, times):
    """1.3: all in one list, parents by name, with other ids."""
    tasks = [
        {"name": name, "id": f"ID{at}", "parents": parents, "runtime": times[name]}
        for at, (name, parents) in enumerate(graph.items())
    ]
    return {"name": "w", "schemaVersion": "1.3", "workflow": {"tasks": tasks}}


@pytest.fixture
def file(tmp_path):
    def of(document):
        path = tmp_path / "w.json"
        path.write_text(json.dumps(document))
        return path

    return of


@pytest.mark.parametrize("document", [new(DIAMOND, TIMES), old(DIAMOND, TIMES)])
def test_a_workflow_is_a_job_of_stages(file, document):
    path = file(document)
    log = read_log(path)
    (job,) = log.workload.jobs

    assert (log.format, log.skipped_count) == ("wfformat", 0)
    assert [(one.name, one.after) for one in job.phases] == [
        ("a", ()), ("b", (0,)), ("c", (0,)), ("d", (1, 2)),
    ]  # fmt: skip
    assert sluice.simulate(sluice.workload_from_logs([str(path)])).makespan_s == 37


def test_cores_are_tasks_that_start_together(file):
    machines = [{"nodeName": "m", "cpu": {"coreCount": 4}}]
    path = file(new(DIAMOND, TIMES, cores={"b": 3, "c": 2}, machines=machines))
    workload = read_log(path).workload
    (job,) = workload.jobs

    assert workload.cluster.slots(SlotKind.CONTAINER) == 4
    assert ([one.tasks for one in job.phases], job.gang) == ([1, 3, 2, 1], 3)
    # b and c do not fit together into 4 slots: 10 + 20 + 5 + 7
    assert sluice.simulate(workload, tasks="easy").makespan_s == 42


def test_slots_can_be_given(file):
    path = file(new(DIAMOND, TIMES))
    one = sluice.workload_from_logs([str(path)], options={"cores": 1})

    assert sluice.simulate(one).makespan_s == 42


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (new({"a": ["b"], "b": ["a"]}, {"a": 1, "b": 1}), "in a circle"),
        (new(DIAMOND, {}), "no task with a run time"),
        ({"workflow": {"tasks": 7, "parents": 1}}, "no list of tasks"),
        ({"workflow": 3}, "no workflow"),
    ],
)
def test_what_cannot_be_run_is_refused(file, document, why):
    with pytest.raises(InvalidInput, match=why):
        read_log(file(document), "wfformat")


@pytest.mark.parametrize("seed", range(5))
def test_counts_and_critical_paths_are_those_of_a_second_reader(file, seed):
    draw = random.Random(seed)
    names = [f"t{n}" for n in range(draw.randint(3, 40))]
    graph = {
        name: sorted({draw.choice(names[:at]) for _ in range(draw.randint(0, 3))}) if at else []
        for at, name in enumerate(names)
    }
    times = {name: draw.randint(1, 50) for name in names}
    path = file(new(graph, times))
    ends: dict[str, int] = {}
    for name in names:
        ends[name] = times[name] + max((ends[one] for one in graph[name]), default=0)

    (job,) = read_log(path).workload.jobs
    wide = sluice.workload_from_logs([str(path)], options={"cores": 1000})

    assert len(job.phases) == len(names)
    assert sum(len(one.after) for one in job.phases) == sum(map(len, graph.values()))
    assert sluice.simulate(wide).makespan_s == max(ends.values())
