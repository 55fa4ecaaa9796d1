"""Resources beyond the usual four, by name: GPUs, licences, whatever tasks share."""

import json
from collections import Counter

import pytest

from sluice.api.run import run
from sluice.api.simulate import simulate
from sluice.api.sources import parse_workload
from sluice.model.errors import InvalidInput
from sluice.reporting.exports.workload_document import workload_document
from sluice.reporting.run import trace

GPUS = 2
FILE = """
version: 1
cluster:
  node_groups:
    - {id: plain, nodes: 2, cpu: 100}
    - {id: accel, nodes: 1, cpu: 100, resources: {gpu: 2}}
jobs:
  - id: train
    maps: {tasks: 6, avg_s: 40}
    demand: {map: {cpu: 10, resources: {gpu: 1}}}
  - {id: etl, maps: {tasks: 20, avg_s: 30}, demand: {map: {cpu: 20}}}
"""


def overlapping(attempts):
    """The most attempts at one instant."""
    starts = [attempt["started_at_s"] for attempt in attempts]
    return max(
        sum(one["started_at_s"] <= at_s < one["finished_at_s"] for one in attempts)
        for at_s in starts
    )


def lines_of(result):
    return trace.records(result.attempts, is_totals=False)


def attempts_of(job, result):
    return [line for line in lines_of(result) if line["job"] == job]


@pytest.mark.parametrize("loop", ["repaired", "printed"])
def test_tasks_run_only_where_the_resource_is_and_as_many_as_it_allows(loop):
    result = simulate(parse_workload(FILE), tasks="ras", settings=[f"placement={loop}"])
    trained = attempts_of("train", result)

    assert {"accel-1"} == {attempt["node"] for attempt in trained}
    assert overlapping(trained) == GPUS
    assert {"plain-1", "plain-2"} <= {one["node"] for one in attempts_of("etl", result)}


def test_more_than_any_node_has_is_refused():
    with pytest.raises(InvalidInput, match=r"demand\.map is more than any node has"):
        simulate(parse_workload(FILE.replace("gpu: 1", "gpu: 3")), tasks="ras")


def test_what_no_node_has_is_refused():
    with pytest.raises(InvalidInput, match=r"demand\.map is more than any node has"):
        simulate(parse_workload(FILE.replace("gpu: 1", "fpga: 1")), tasks="ras")


def test_a_written_file_has_them_again():
    written = workload_document(parse_workload(FILE))

    assert written["cluster"]["node_groups"][1]["resources"] == {"gpu": 2.0}
    assert written["jobs"][0]["demand"]["map"]["resources"] == {"gpu": 1.0}
    assert "resources" not in written["jobs"][1]["demand"]["map"]


QUEUES = """
version: 1
cluster: {nodes: 2, node: {containers: 8, cpu: 1000, resources: {gpu: 2}}}
queues: [{id: a}, {id: b}]
jobs:
  - {id: x, pool: a, maps: {tasks: 40, avg_s: 10}, demand: {map: {cpu: 10, resources: {gpu: 1}}}}
  - {id: y, pool: b, maps: {tasks: 40, avg_s: 10}, demand: {map: {cpu: 10}}}
"""


def test_dominant_shares_count_them():
    """A task of x takes a quarter of the GPUs; without that, both take as little, and as often."""
    settings = ["ltyarn.shared=dominant"]
    with_gpus = started_at_once(simulate(parse_workload(QUEUES), tasks="ltyarn", settings=settings))
    plain = parse_workload(QUEUES.replace(", resources: {gpu: 1}", ""))
    without = started_at_once(simulate(plain, tasks="ltyarn", settings=settings))

    assert {"x": 1, "y": 15} == with_gpus
    assert {"x": 8, "y": 8} == without


def started_at_once(result):
    """Attempts of each job that start at 0 s."""
    starts = Counter(line["job"] for line in lines_of(result) if line["started_at_s"] == 0)
    return dict(starts)


@pytest.mark.slow
def test_a_real_run_keeps_to_them(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"{number}").write_text("a\n")
    command = {"input": ["in"], "output": "out", "mapper": "sh -c 'sleep 0.2; cat'"}
    demand = {"map": {"cpu": 10, "resources": {"gpu": 1}}}
    job = {"id": "a", "maps": {"tasks": 4}, "demand": demand, "run": command}
    groups = [{"id": "plain", "cpu": 100}, {"id": "accel", "cpu": 100, "resources": {"gpu": 1}}]
    file = {"version": 1, "cluster": {"node_groups": groups}, "jobs": [job]}
    (tmp_path / "w.json").write_text(json.dumps(file))
    result = run(tmp_path / "w.json", tasks="ras", settings=["node_limits=off", "period_s=1"])
    ran = attempts_of("a", result)

    assert {"done"} == set(result.states)
    assert {"accel-1"} == {attempt["node"] for attempt in ran}
    assert overlapping(ran) == 1
