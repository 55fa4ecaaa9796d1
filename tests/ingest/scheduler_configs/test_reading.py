"""Four formats as one tree: what is read, what is listed as unknown, and what is refused."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.ingest.scheduler_configs.configs import CAPACITY, FAIR, KUEUE, YUNIKORN

from sluice.ingest.scheduler_configs.reading import container_size, queue_tree_of
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import AmountKind, ConfiguredQueue, LeafOrder, QueueAmount, QueueTree
from sluice.reporting.exports.queue_tree import queue_tree_diff, queue_tree_xml

LOCAL_ONLY = "{kind: LocalQueue, metadata: {name: team-a}, spec: {clusterQueue: cq}}"


def tree(text, **site):
    return queue_tree_of(text.encode(), "config", site)


def percent(value):
    return QueueAmount(AmountKind.PERCENT, value)


def containers(value):
    return QueueAmount(AmountKind.CONTAINERS, value)


def test_a_capacity_scheduler_is_a_tree():
    found = tree(CAPACITY)
    by_path = {queue.path: queue for queue in found.queues}

    assert ("root.adhoc", "root.etl.nightly", "root.etl.hourly") == found.leaves
    assert percent(75.0) == by_path["root.etl"].capacity
    assert percent(80.0) == by_path["root.etl"].maximum
    adhoc = by_path["root.adhoc"]
    assert (LeafOrder.FAIR, 2.5, 25.0, 7) == (
        adhoc.order, adhoc.user_limit_factor, adhoc.user_limit_percent, adhoc.jobs_max
    )  # fmt: skip
    assert (
        "yarn.scheduler.capacity.resource-calculator",
        "yarn.scheduler.capacity.root.adhoc.acl_submit_applications",
    ) == found.unknown_keys


def test_guarantees_and_maximums_in_containers():
    """Of 100: etl 75 of at most 80, of which nightly 60 %; below etl the most is etl's."""
    assert {
        "root": (100.0, 100.0),
        "root.etl": (75.0, 80.0),
        "root.etl.nightly": (45.0, 80.0),
        "root.etl.hourly": (30.0, 80.0),
        "root.adhoc": (25.0, 100.0),
    } == tree(CAPACITY).containers(100)


def test_weights_and_absolute_capacities():
    text = CAPACITY.replace(">75<", ">3w<").replace(
        ">25</value></property>\n  <property><name>yarn.scheduler.capacity.root.adhoc.ord",
        ">1w</value></property>\n  <property><name>yarn.scheduler.capacity.root.adhoc.ord",
    )
    text = text.replace(">80<", ">[memory=40960,vcores=50]<")
    found = tree(text).containers(100)

    assert (40.0, 40.0) == found["root.etl"]
    assert (25.0, 100.0) == found["root.adhoc"]


def test_the_size_of_a_container_and_preemption_come_from_yarn_site():
    site = {
        "yarn.scheduler.minimum-allocation-mb": "2048",
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
    }
    found = tree(CAPACITY.replace(">80<", ">[memory=40960,vcores=50]<"), **site)

    assert containers(20.0) == found.queues[0].maximum
    assert 18.0 == found.preempts_after_s
    assert tree(CAPACITY).preempts_after_s is None
    assert 2048.0 == container_size(site).mb


def test_a_fair_scheduler_is_a_tree():
    found = tree(FAIR)
    etl, adhoc, _ = found.queues

    assert QueueAmount(AmountKind.WEIGHT, 3.0) == etl.capacity
    assert (4.0, containers(8.0), 5, LeafOrder.FIFO) == (
        etl.least, etl.maximum, etl.jobs_max, etl.order
    )  # fmt: skip
    assert (percent(50.0), LeafOrder.FAIR) == (adhoc.maximum, adhoc.order)
    assert ("queuePlacementPolicy", "root.adhoc.aclSubmitApps") == found.unknown_keys


def test_yunikorn_is_a_tree():
    found = tree(YUNIKORN)
    etl, adhoc = found.queues

    assert (containers(8.0), containers(12.0)) == (etl.capacity, etl.maximum)
    assert (3, LeafOrder.FAIR) == (adhoc.jobs_max, adhoc.order)
    assert ("partitions.placementrules", "root.submitacl") == found.unknown_keys


def test_kueue_is_a_tree():
    found = tree(KUEUE)
    by_path = {queue.path: queue for queue in found.queues}

    assert ("root.all.adhoc-cq", "root.all.etl-cq.etl") == tuple(sorted(found.leaves))
    assert (containers(6.0), containers(8.0)) == (
        by_path["root.all.etl-cq"].capacity, by_path["root.all.etl-cq"].maximum
    )  # fmt: skip
    assert (containers(2.0), None) == (
        by_path["root.all.adhoc-cq"].capacity, by_path["root.all.adhoc-cq"].maximum
    )  # fmt: skip
    assert ("adhoc-cq.spec.stopPolicy",) == found.unknown_keys
    assert found.preempts_after_s is not None


@pytest.mark.parametrize("text", [CAPACITY, YUNIKORN, KUEUE, FAIR], ids=["c", "y", "k", "f"])
def test_an_exported_tree_reads_back_as_the_same_tree(text):
    text = text.replace("<minResources>4096 mb, 4 vcores</minResources>", "")
    before = tree(text)
    after = tree(queue_tree_xml(before))

    assert before == after
    assert "" == queue_tree_diff(before, after, (1024.0, 1.0))


amounts = st.one_of(
    st.builds(percent, st.floats(0, 100)),
    st.builds(QueueAmount, st.just(AmountKind.WEIGHT), st.floats(0, 1e6)),
    st.builds(containers, st.integers(0, 10**6).map(float)),
)


@st.composite
def trees(draw):
    """Trees of up to six queues, each below root or an earlier one."""
    paths = ["root"]
    queues = []
    for number in range(draw(st.integers(1, 6))):
        path = f"{draw(st.sampled_from(paths))}.q{number}"
        paths.append(path)
        queues.append(
            ConfiguredQueue(
                path=path,
                capacity=draw(amounts),
                maximum=draw(st.none() | st.builds(percent, st.floats(0, 99))),
                order=draw(st.sampled_from(LeafOrder)),
                user_limit_percent=draw(st.floats(0, 100)),
                user_limit_factor=draw(st.none() | st.floats(0, 50)),
                jobs_max=draw(st.none() | st.integers(1, 1000)),
                is_preemptible=draw(st.booleans()),
            )
        )
    after_s = draw(st.none() | st.integers(0, 100).map(float))
    return QueueTree(queues=tuple(queues), preempts_after_s=after_s)


@given(trees())
def test_any_tree_reads_back_in_some_order(before):
    """The file lists queues level by level."""
    after = tree(queue_tree_xml(before))

    def by_path(queues):
        return sorted(queues, key=lambda queue: queue.path)

    assert by_path(before.queues) == by_path(after.queues)
    assert before.preempts_after_s == after.preempts_after_s


@given(trees(), st.integers(0, 10_000))
def test_guarantees_never_exceed_the_parents(found, total):
    amounts_of = found.containers(total)
    for path, (guarantee, limit) in amounts_of.items():
        below = [amounts_of[queue.path][0] for queue in found.children(path)]
        assert sum(below) <= amounts_of[path][0] * (1 + 1e-9) + 1e-9 or not below
        assert guarantee <= limit * (1 + 1e-9)


BOMB = """<?xml version="1.0"?>
<!DOCTYPE c [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>
<configuration><property><name>&b;</name><value>1</value></property></configuration>"""


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
def test_the_list_of_kubectl_is_its_items(write):
    """As of `kubectl get clusterqueues,localqueues,workloads -A -o yaml`, or json."""
    items = [*yaml.safe_load_all(KUEUE), {"kind": "Workload", "metadata": {"name": "w"}}]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    found, expected = tree(write(listed)), tree(KUEUE)

    assert found == expected
    assert found.unknown_keys == expected.unknown_keys
    assert found.documents == expected.documents
    with pytest.raises(InvalidInput, match="not a mapping"):
        tree(write({**listed, "items": [7]}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, ["entities"]),
        ("<configuration>", ["not valid XML", "line 1"]),
        ("<a>" * 70, ["deeper than 64"]),
        ("<configuration/>", ["yarn.scheduler.capacity."]),
        ("<html/>", ["<html>", "capacity-scheduler.xml"]),
        (CAPACITY.replace(">75<", ">many<"), ["'many'", "root.etl.capacity"]),
        (CAPACITY.replace(">75<", ">nan<"), ["'nan'", "root.etl.capacity"]),
        (CAPACITY.replace(">75<", ">130<"), ["130", "from 0 to 100"]),
        (CAPACITY.replace("root.etl.capacity", "root.etl.kapacity"), ["'root.etl'", "no capacity"]),
        (CAPACITY.replace("etl, adhoc", "etl, etl"), ["defined twice"]),
        (FAIR.replace("4096 mb, 4 vcores", "much"), ["'much'", "minResources"]),
        (FAIR.replace('name="etl"', 'name="a.b"'), ["'a.b'"]),
        (FAIR.replace("3.0", "-3"), ["'-3'", "weight"]),
        (YUNIKORN.replace("8Gi", "8Bananas"), ["8Bananas", "root.etl"]),
        ("partitions: []", ["no partition"]),
        ("partitions: [{queues: 7}]", ["not a list"]),
        ("a: [", ["not valid YAML"]),
        ("[1, 2]", ["not a mapping"]),
        ("jobs: []", ["known scheduler"]),
        (LOCAL_ONLY, ["no ClusterQueue", "only LocalQueue", "kubectl get clusterqueues"]),
        (f"kind: List\nitems: [{LOCAL_ONLY}]", ["no ClusterQueue"]),
        ("kind: Cohort\nmetadata: {name: a}", ["no ClusterQueue", "only Cohort"]),
        (KUEUE.replace("clusterQueue: etl-cq", "clusterQueue: none"), ["'none'", "LocalQueue etl"]),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_sentence(text, words):
    with pytest.raises(InvalidInput) as caught:
        tree(text)

    said = str(caught.value)
    assert "\n" not in said
    assert all(word in said for word in words), said
