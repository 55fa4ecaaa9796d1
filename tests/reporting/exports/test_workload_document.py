"""A workload that is written and read again does not change."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import job_lists

import sluice
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind
from sluice.reporting.exports.workload_document import workload_document

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted([
    *(ROOT / "tests/ingest/good_workloads").glob("*"),
    *(ROOT / "examples").glob("*.yaml"),
])  # fmt: skip


def through_a_file(workload, path):
    sluice.write_workload(path, workload)
    return replace(sluice.load_workload(str(path)), source=workload.source)


def placeless(run, fields):
    """Return the run without the paths."""
    stages = tuple(replace(one, input=(), python=None) for one in run.stages)
    return replace(run, **fields, stages=stages)


@pytest.mark.parametrize("ending", ["yaml", "json"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_file_comes_back_as_it_was(file, ending, tmp_path):
    """Written elsewhere, only the relative paths of commands change."""
    workload = sluice.load_workload(str(file))
    again = through_a_file(workload, tmp_path / f"again.{ending}")
    if all(job.run is None for job in workload.jobs):
        assert again == replace(workload, folder=str(tmp_path))
    for before, after in zip(workload.jobs, again.jobs, strict=True):
        assert replace(before, run=None) == replace(after, run=None)
        if before.run is not None:
            output = Path(after.run.folder, after.run.output).resolve()
            assert output == Path(before.run.folder, before.run.output).resolve()
            fields = {"folder": "", "input": (), "output": "", "python": None}
            assert placeless(before.run, fields) == placeless(after.run, fields)


@given(job_lists())
def test_any_jobs_come_back_as_they_were(jobs):
    node = Node(node_id="node-1", map_slots=2, reduce_slots=1)
    workload = sluice.Workload(cluster=Cluster(nodes=(node,), is_totals=True), jobs=tuple(jobs))
    text = json.dumps(workload_document(workload))

    assert sluice.parse_workload(text).jobs == workload.jobs


names = st.sampled_from(["node", "fast", "host"])


@given(
    st.lists(st.tuples(names, st.integers(0, 3), st.sampled_from("ab"), st.integers(1, 2))),
    st.booleans(),
)
def test_a_cluster_keeps_its_nodes_in_order(parts, has_racks):
    """Names may change, for a file numbers its nodes; rooms and racks may not."""
    nodes = {
        f"{name}-{number}" if number else name: Node(
            node_id=f"{name}-{number}" if number else name, rack=rack, map_slots=slots
        )
        for name, number, rack, slots in parts or [("node", 1, "a", 1)]
    }
    cluster = Cluster(nodes=tuple(nodes.values()), has_racks=has_racks)
    again = sluice.parse_workload(
        json.dumps(workload_document(sluice.Workload(cluster=cluster, jobs=())))
    ).cluster

    assert [node.map_slots for node in again.nodes] == [node.map_slots for node in cluster.nodes]
    if has_racks:
        assert [node.rack for node in again.nodes] == [node.rack for node in cluster.nodes]


def test_a_job_without_tasks_is_refused():
    bare = Job(job_id="1", pool="1", phases=())
    with pytest.raises(InvalidInput, match="job '1': its tasks are not known"):
        workload_document(sluice.Workload(cluster=None, jobs=(bare,)))


def stages(*names):
    return tuple(
        Phase(
            name=name,
            kind=SlotKind.CONTAINER,
            tasks=2,
            lengths=ConstantLengths(1.0, 1.5),
            after=() if index < 2 else tuple(range(index)),
        )
        for index, name in enumerate(names)
    )


def test_a_job_of_stages_comes_back_as_it_was():
    job = Job(job_id="app", pool="app", phases=stages("a", "b", "c", "d"), driver_s=4.0)
    text = json.dumps(workload_document(sluice.Workload(cluster=None, jobs=(job,))))

    assert sluice.parse_workload(text).jobs == (job,)


def test_the_shuffle_of_a_stage_becomes_part_of_its_length():
    (first,) = stages("a")
    fetching = replace(first, fetch=ConstantLengths(2.0, 3.0))
    job = Job(job_id="app", pool="app", phases=(fetching,))

    (document,) = workload_document(sluice.Workload(cluster=None, jobs=(job,)))["jobs"]

    assert document["phases"] == [{"name": "a", "tasks": 2, "avg_s": 3.0, "max_s": 4.5}]


def test_stages_of_one_name_are_refused():
    job = Job(job_id="app", pool="app", phases=stages("a", "b", "a"))

    with pytest.raises(InvalidInput, match="two of its phases have one name"):
        workload_document(sluice.Workload(cluster=None, jobs=(job,)))
