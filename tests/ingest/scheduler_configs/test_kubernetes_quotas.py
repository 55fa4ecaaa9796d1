"""Quotas of Kueue's queues: none, of other resources, and of a Cohort itself."""

import sluice
from sluice.ingest.scheduler_configs.reading import queue_tree_of

GPU_ONLY = """apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: gpu-team}
spec:
  resourceGroups:
  - coveredResources: ["nvidia.com/gpu"]
    flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
"""
EMPTY = """apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
spec:
  resourceGroups:
  - coveredResources: ["cpu"]
    flavors: [{name: d, resources: [{name: cpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: not-used-yet}
spec: {namespaceSelector: {}}
"""
_GROUP = (
    'resourceGroups: [{coveredResources: ["cpu"],'
    " flavors: [{name: d, resources: [{name: cpu, nominalQuota: %d}]}]}]"
)
COHORT = "\n---\n".join(
    [
        f"kind: Cohort\nmetadata: {{name: team-ab}}\nspec: {{{_GROUP % 4}}}",
        f"kind: ClusterQueue\nmetadata: {{name: team-a}}\nspec: {{cohort: team-ab, {_GROUP % 2}}}",
        f"kind: ClusterQueue\nmetadata: {{name: team-b}}\nspec: {{cohort: team-ab, {_GROUP % 2}}}",
    ]
)


def tree(text):
    return queue_tree_of(text.encode(), "queues.yaml")


def waits_s(text, jobs, containers=8):
    workload = sluice.parse_workload(
        f"{{version: 1, cluster: {{containers: {containers}}}, jobs: [{jobs}]}}"
    )
    queues = sluice.whatif(workload, tree(text), seeds=1).queues
    spreads = {path: queue.new["wait_s_p95"] for path, queue in queues.items()}
    return {path: spread and spread.mean for path, spread in spreads.items()}


def test_any_resource_is_a_resource():
    assert tree(GPU_ONLY).containers(100)["root.gpu-team"] == (8.0, 8.0)
    assert tree(GPU_ONLY.replace("Quota: 8", "Quota: 4k")).queues[0].capacity.value == 4000


def test_a_queue_without_quota_admits_nothing_and_it_is_said():
    found = tree(EMPTY)

    assert found.containers(100)["root.not-used-yet"] == (0.0, 0.0)
    assert found.containers(100)["root.team"] == (8.0, 8.0)
    assert found.notes == ("ClusterQueue not-used-yet has no quota: it admits nothing",)


def test_no_task_runs_in_a_queue_without_quota():
    jobs = (
        "{id: a, pool: not-used-yet, maps: {tasks: 2, avg_s: 5}},"
        "{id: b, pool: team, maps: {tasks: 2, avg_s: 5}}"
    )

    assert waits_s(EMPTY, jobs, containers=9) == {"root.not-used-yet": None, "root.team": 0}


def test_the_quota_of_a_cohort_is_added_to_that_of_its_queues():
    jobs = (
        "{id: a, pool: team-a, maps: {tasks: 4, avg_s: 600}},"
        "{id: b, pool: team-b, submitted_at_s: 10, maps: {tasks: 4, avg_s: 600}}"
    )

    assert tree(COHORT).containers(8)["root.team-ab"] == (8.0, 8.0)
    assert waits_s(COHORT, jobs)["root.team-ab.team-b"] == 0


def test_a_guarantee_below_one_container_is_noted_and_not_a_share():
    """500000 is bytes in Kubernetes, and half a megabyte."""
    text = (
        "partitions: [{name: default, queues: [{name: root, queues: [{name: default,"
        " resources: {guaranteed: {memory: 500000, vcore: 50000}}}]}]}]"
    )
    jobs = "{id: a, pool: default, maps: {tasks: 20, avg_s: 30}}"
    workload = sluice.parse_workload(f"{{version: 1, cluster: {{containers: 9}}, jobs: [{jobs}]}}")

    (note,) = tree(text).notes
    (queue,) = sluice.whatif(workload, tree(text), seeds=1).queues.values()

    assert "queue root.default: its guarantee is 0.00047 containers" in note
    assert queue.new["utilisation"] is None


def cluster_queue(name, quota, more=""):
    spec = f"{{cohort: c,{more} {_GROUP % quota}}}"
    return f"kind: ClusterQueue\nmetadata: {{name: {name}}}\nspec: {spec}"


STRICT = " queueingStrategy: StrictFIFO,"
RECLAIMS = " preemption: {reclaimWithinCohort: Any},"


def starts_s(queues, jobs, containers):
    """When each job starts and ends, and how many attempts were killed."""
    workload = sluice.parse_workload(
        f"{{version: 1, cluster: {{containers: {containers}}}, jobs: [{jobs}]}}"
    )
    run = sluice.simulate(workload, config=tree("\n---\n".join(queues)))
    document = run.document()
    times = {
        name: (job["started_at_s"], job["finished_at_s"]) for name, job in document["jobs"].items()
    }
    return times, document["attempts"]["killed"]


TWO_AND_ONE = (
    "{id: g1, pool: guaranteed, maps: {tasks: 1, avg_s: 100}},"
    "{id: g2, pool: guaranteed, submitted_at_s: 1, maps: {tasks: 2, avg_s: 100}},"
    "{id: be1, pool: besteffort, submitted_at_s: 2, maps: {tasks: 1, avg_s: 100}}"
)


def test_nothing_borrows_what_the_first_job_of_a_strict_queue_waits_for():
    queues = [cluster_queue("guaranteed", 2, STRICT), cluster_queue("besteffort", 0)]
    times, _ = starts_s(queues, TWO_AND_ONE, 2)
    assert times == {"g1": (0, 100), "g2": (100, 200), "be1": (200, 300)}


def test_another_queue_borrows_what_is_free_where_the_first_is_not_strict():
    queues = [cluster_queue("guaranteed", 2), cluster_queue("besteffort", 0)]
    times, _ = starts_s(queues, TWO_AND_ONE, 2)
    assert times == {"g1": (0, 100), "be1": (2, 102), "g2": (102, 202)}


def test_a_later_job_passes_in_a_queue_that_is_not_strict():
    jobs = (
        "{id: a, pool: q, maps: {tasks: 2, avg_s: 10}},"
        "{id: b, pool: q, submitted_at_s: 1, gang: true, maps: {tasks: 3, avg_s: 10}},"
        "{id: c, pool: q, submitted_at_s: 2, maps: {tasks: 1, avg_s: 10}}"
    )
    times, _ = starts_s([cluster_queue("q", 3)], jobs, 3)
    assert times == {"a": (0, 10), "c": (2, 12), "b": (12, 22)}
    times, _ = starts_s([cluster_queue("q", 3, STRICT)], jobs, 3)
    assert times == {"a": (0, 10), "b": (10, 20), "c": (20, 30)}


def test_a_queue_that_takes_its_quota_back_evicts_whole_jobs():
    jobs = (
        "{id: long, pool: poor, gang: true, maps: {tasks: 4, avg_s: 1000}},"
        "{id: own, pool: rich, submitted_at_s: 10, maps: {tasks: 2, avg_s: 10}}"
    )
    queues = [cluster_queue("rich", 4, RECLAIMS), cluster_queue("poor", 0)]
    times, killed = starts_s(queues, jobs, 4)
    assert (times["own"], killed) == ((11, 21), 4)
    assert times["long"][1] == 1021


def test_a_job_larger_than_its_queue_is_admitted_with_all_that_the_queue_may_have():
    times, _ = starts_s([cluster_queue("q", 3)], "{id: a, pool: q, maps: {tasks: 7, avg_s: 10}}", 9)
    assert times == {"a": (0, 30)}
