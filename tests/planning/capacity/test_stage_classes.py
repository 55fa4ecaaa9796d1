"""Classes of jobs of stages: one pool of containers over the stages in turn."""

import json
import math
import random

import pytest
from tests.cli.terminal import sluice

import sluice as api
from sluice.estimate.bounds import Bound
from sluice.estimate.vm_need import stages_law
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

FILE = """
version: 1
cluster: {containers_per_vm: 4}
prices: {on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 50}
classes:
  - id: q1
    penalty_usd: 60
    jobs_max: 10
    deadline_s: 600
    driver_s: 20
    phases:
      - {name: scan, tasks: 100, avg_s: 40, max_s: 50}
      - {name: agg, tasks: 40, avg_s: 24, max_s: 30}
  - {id: q2, penalty_usd: 30, jobs_max: 4, vms_per_job: 0.3}
"""


def answered(text, *words):
    answer = sluice("capacity", "-", *words, "--json", stdin=text.encode())
    assert answer.err == ""
    return answer.code, json.loads(answer.out)


def test_the_containers_follow_from_work_and_slack():
    """UP: all but one task of each stage are shared, and the longest of each remains."""
    _, said = answered(FILE)
    one = said["classes"]["q1"]
    containers = (99 * 40 + 39 * 24) / (600 - 20 - 50 - 30)

    assert one["containers"] == pytest.approx(10 * containers)
    assert one["vms_per_job"] == pytest.approx(containers / 4)
    assert one["time_s"] == pytest.approx(600)
    assert (one["map_containers"], one["reduce_containers"]) == (None, None)
    _, low = answered(FILE, "--bound", "low")
    assert low["classes"]["q1"]["containers"] == pytest.approx(10 * 4960 / 580)


def test_the_containers_per_vm_of_the_class_win():
    _, said = answered(FILE.replace("driver_s: 20", "driver_s: 20\n    containers_per_vm: 8"))

    assert said["classes"]["q1"]["vms_per_job"] == pytest.approx(4896 / 500 / 8)


def test_whole_jobs_hold_whole_containers_in_time():
    _, said = answered(FILE, "--integer")
    one = said["classes"]["q1"]

    assert one["containers"] == 98
    assert one["time_s"] == pytest.approx(4896 * 10 / 98 + 100)
    assert said["rounded_vms"] == pytest.approx(98 / 4 + 1.2)


def test_a_deadline_below_the_longest_tasks_is_a_no():
    code, said = answered(FILE.replace("deadline_s: 600", "deadline_s: 90"))

    assert (code, said["status"]) == (1, "infeasible_deadline")
    assert said["classes"] == {"q1": {"least_deadline_s": 100.0}}


@pytest.mark.parametrize("seed", range(12))
def test_the_laws_hold_for_a_simulated_job(seed):
    """LOW and UP enclose any greedy schedule of stages in turn; UP is met on few containers too."""
    draw = random.Random(seed)
    phases = tuple(
        Phase(
            name=f"stage {number}",
            kind=SlotKind.CONTAINER,
            tasks=(tasks := draw.randint(1, 30)),
            lengths=ListedLengths(tuple(draw.uniform(1, 20) for _ in range(tasks))),
            after=(number - 1,) if number else (),
        )
        for number in range(draw.randint(1, 4))
    )
    containers, driver_s = draw.randint(1, 12), draw.choice([0.0, 7.0])
    node = Node(node_id=NodeId("node-1"), containers=containers)
    job = Job(job_id=JobId("a"), pool=PoolId("a"), phases=phases, driver_s=driver_s)
    measured_s = api.simulate(
        Workload(cluster=Cluster(nodes=(node,), is_totals=True), jobs=(job,))
    ).makespan_s

    assert measured_s is not None
    low, up = (
        law.xi_map_s / containers + law.xi_fixed_s
        for law in (stages_law(phases, driver_s, bound) for bound in (Bound.LOW, Bound.UP))
    )
    assert low <= measured_s * (1 + 1e-9)
    assert measured_s <= up * (1 + 1e-9)


@pytest.mark.parametrize(
    ("old", "new", "fragments"),
    [
        ("cluster: {containers_per_vm: 4}\n", "", ["q1", "containers_per_vm", "missing"]),
        ("    deadline_s: 600\n", "", ["q1", "deadline_s", "missing"]),
        ("avg_s: 40, max_s: 50", "units: 1", ["q1", "phases", "lengths"]),
        ("vms_per_job: 0.3", "vms_per_job: 0.3, phases: [{name: a, tasks: 1, avg_s: 1}]", ["q2"]),
        ("driver_s: 20", "maps: {tasks: 1, avg_s: 1}", ["q1", "maps", "together with phases"]),
        ("vms_per_job: 0.3", "vms_per_job: 0.3, driver_s: 3", ["q2", "driver_s", "phases"]),
    ],
)
def test_what_does_not_go_together_is_refused(old, new, fragments):
    assert old in FILE
    answer = sluice("capacity", "-", stdin=FILE.replace(old, new).encode())

    assert (answer.code, answer.out) == (2, "")
    assert all(fragment in answer.err for fragment in fragments), answer.err


def test_classes_of_phases_are_written_back(tmp_path):
    file, out = tmp_path / "classes.yaml", tmp_path / "again.yaml"
    file.write_text(FILE)
    assert sluice("validate", file, "--out", out).code == 0

    assert math.isclose(
        api.capacity(str(out)).document()["objective_usd"],
        api.capacity(str(file)).document()["objective_usd"],
    )
    assert "phases:" in out.read_text()
