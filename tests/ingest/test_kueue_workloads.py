"""Workloads of Kueue: pods and times, JSON and YAML, and what has not finished."""

import json
import random
from datetime import UTC, datetime

import pytest
import yaml
from tests.cli.terminal import sluice as command

import sluice
from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind

T0 = 1_767_600_000


def at(seconds):
    return datetime.fromtimestamp(T0 + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def workload(name, created, admitted, finished, *counts, queue="q", reason="Succeeded"):
    times = (("QuotaReserved", admitted), ("Admitted", admitted), ("Finished", finished))
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": at(instant), "reason": reason}
        for kind, instant in times
        if instant is not None
    ]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"name": name, "namespace": "ns", "creationTimestamp": at(created)},
        "spec": {"queueName": queue,
                 "podSets": [{"name": f"p{n}", "count": count} for n, count in enumerate(counts)]},
        "status": {"conditions": conditions},
    }  # fmt: skip


ITEMS = [
    workload("a", 0, 10, 110, 6),
    workload("b", 20, 110, 160, 1, 7),
    workload("c", 30, 40, 50, 2, queue="other", reason="Failed"),
    workload("d", 40, 60, None, 3),
    workload("e", 50, None, None, 4),
]


@pytest.fixture
def file(tmp_path):
    def of(items, name="w.json"):
        path = tmp_path / name
        document = {"apiVersion": "v1", "kind": "List", "items": items}
        text = json.dumps(document) if name.endswith(".json") else yaml.safe_dump(document)
        path.write_text(text)
        return path

    return of


@pytest.mark.parametrize("name", ["w.json", "w.yaml"])
def test_a_finished_workload_is_a_rigid_job(file, name):
    log = read_log(file(ITEMS, name))
    jobs = {str(job.job_id): job for job in log.workload.jobs}

    assert log.format == "kueue"
    assert {key: (job.tasks, job.gang, job.submitted_at_s) for key, job in jobs.items()} == {
        "ns/a": (6, 6, 0), "ns/b": (8, 8, 20), "ns/c": (2, 2, 30),
    }  # fmt: skip
    assert [job.phases[0].lengths.avg_s(1) for job in jobs.values()] == [100, 50, 10]
    assert [str(job.pool) for job in jobs.values()] == ["q", "q", "other"]
    assert [one.why.partition(": ")[2] for one in log.skipped] == [
        "ns/d has not finished",
        "ns/e has not finished",
    ]
    assert log.workload.cluster.slots(SlotKind.CONTAINER) == 8
    assert [run.succeeded for run in log.runs] == [True, True, False]


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_a_second_reader(file, seed):
    draw = random.Random(seed)
    items = []
    for number in range(draw.randint(1, 30)):
        created = draw.randint(0, 1000)
        admitted = created + draw.randint(0, 50)
        ended = admitted + draw.randint(1, 500) if draw.random() < 0.7 else None
        items.append(workload(f"w{number}", created, admitted, ended, draw.randint(1, 9)))
    items.append(workload("last", 0, 1, 2, 1))
    path = file(items)
    known = [
        one
        for one in json.loads(path.read_text())["items"]
        if any(each["type"] == "Finished" for each in one["status"]["conditions"])
    ]

    jobs = read_log(path).workload.jobs

    assert len(jobs) == len(known)
    assert sum(job.tasks for job in jobs) == sum(
        pods["count"] for one in known for pods in one["spec"]["podSets"]
    )


def test_a_list_of_what_waits_is_refused_with_the_reason(file):
    with pytest.raises(InvalidInput, match=r"no Workload that finished .*ns/e has not finished"):
        read_log(file(ITEMS[4:]))


def test_from_a_list_to_a_sentence(file):
    answer = command(
        "compare", "--from-log", file(ITEMS), "--schedulers", "fcfs,easy", "--seeds", "1"
    )
    assert answer.code == 0
    assert command("import", file(ITEMS), "--json").code == 0
    why = command("why", "ns/b", "--from-log", file(ITEMS), "--tasks", "easy", "--at-s", "60")
    assert "start together" in why.out


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_manifests_in_one_file_are_its_objects(tmp_path, ends):
    """One document an object, and a list as a document; comments may follow the marks."""
    queues = [
        {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": name}}
        for kind, name in (("ClusterQueue", "all"), ("LocalQueue", "q"))
    ]
    documents = [*queues, ITEMS[0], {"kind": "List", "items": ITEMS[1:4]}, ITEMS[4]]
    parts = [yaml.safe_dump(one) for one in documents]
    text = "---\n# made by hand\n" + "--- # next\n".join(parts) + "---\n"
    path = tmp_path / "all.yaml"
    path.write_bytes(text.replace("\n", ends).encode())
    log = read_log(path)

    assert log.workload is not None
    assert [job.job_id for job in log.workload.jobs] == ["ns/a", "ns/b", "ns/c"]
    assert any("it is a ClusterQueue" in one.why for one in log.skipped)
    waiting = [job for job in sluice.eta(path).jobs if not job.is_running]
    assert [job.job_id for job in waiting] == ["ns/e"]


def test_a_mistake_in_a_later_document_is_named_with_its_line(tmp_path):
    path = tmp_path / "all.yaml"
    path.write_text(f"{yaml.safe_dump(ITEMS[0])}---\nkind: Workload\n- x\n")
    line = len(yaml.safe_dump(ITEMS[0]).splitlines()) + 3

    with pytest.raises(InvalidInput, match=rf"line {line}, column 1.*not valid YAML"):
        read_log(path)


def test_manifests_wait_in_the_order_of_the_file_behind_what_a_cluster_has(tmp_path):
    manifests = [
        {
            **workload(name, 0, None, None, pods),
            "metadata": {"name": name, "namespace": "ns"},
            "status": None,
        }
        for name, pods in (("z", 2), ("y", 1))
    ]
    path = tmp_path / "all.yaml"
    path.write_text("---\n".join(yaml.safe_dump(one) for one in [*manifests, ITEMS[4]]))

    assert [job.job_id for job in sluice.eta(path, slots=4).jobs] == ["ns/e", "ns/z", "ns/y"]
    path.write_text("---\n".join(map(yaml.safe_dump, manifests)))
    assert [job.job_id for job in sluice.eta(path, slots=4).jobs] == ["ns/z", "ns/y"]
