"""Queues of YuniKorn and Kueue are written as they were read, with other amounts."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.ingest.scheduler_configs.configs import KUEUE, YUNIKORN

from sluice.bootstrap.queues.search import moves
from sluice.ingest.scheduler_configs.amounts import ContainerSize
from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.reporting.exports.kubernetes_queues import (
    kubernetes_queues_diff,
    kubernetes_queues_yaml,
)

SIZE = ContainerSize()
TWO_COHORTS = """
kind: ClusterQueue
metadata: {name: a}
spec: &spec
  cohort: left
  resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]}]
---
kind: ClusterQueue
metadata: {name: b}
spec:
  cohort: left
  resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 30}]}]}]
---
kind: ClusterQueue
metadata: {name: c}
spec:
  cohort: right
  resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 20}]}]}]
---
kind: Cohort
metadata: {name: right}
spec:
  resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 5}]}]}]
""".replace(" &spec", "")


def tree_of(text):
    return queue_tree_of(text.encode(), "queues.yaml")


@pytest.mark.parametrize("text", [KUEUE, YUNIKORN, TWO_COHORTS])
def test_what_is_not_changed_is_written_as_it_was(text):
    tree = tree_of(text)
    again = tree_of(kubernetes_queues_yaml(tree, SIZE, comment="a copy"))

    assert again.documents == tree.documents
    assert again.queues == tree.queues
    assert not kubernetes_queues_diff(tree, again, SIZE)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([KUEUE, YUNIKORN, TWO_COHORTS]), st.data())
def test_after_any_moves_the_file_gives_each_queue_what_the_tree_does(text, data):
    tree = before = tree_of(text)
    total = 100
    for _ in range(data.draw(st.integers(1, 4))):
        target = data.draw(st.sampled_from([queue.path for queue in tree.queues]))
        found = list(moves(tree, target, total))
        tree = data.draw(st.sampled_from(found)) if found else tree

    written = kubernetes_queues_yaml(tree, SIZE)
    again = tree_of(written)

    is_said = "Not expressed" not in written
    event(f"all is said: {is_said}")
    assert [queue.path for queue in again.queues] == [queue.path for queue in tree.queues]
    if tree.queues == before.queues:
        assert again.documents == before.documents
    if is_said:
        wanted, found = tree.containers(total), again.containers(total)
        assert found == {
            path: pytest.approx(amounts, rel=0.02, abs=0.03) for path, amounts in wanted.items()
        }


def test_a_diff_names_the_amounts_in_the_words_of_the_file():
    tree = tree_of(KUEUE)
    more = next(one for one in moves(tree, "root.all.adhoc-cq", 8) if one.queues != tree.queues)

    lines = kubernetes_queues_diff(tree, more, SIZE).splitlines()

    assert "-ClusterQueue adhoc-cq cpu nominalQuota = 2000m" in lines
    assert "+ClusterQueue adhoc-cq cpu nominalQuota = 3" in lines
    assert "+ClusterQueue etl-cq cpu nominalQuota = 5" in lines


def test_what_kueue_has_no_word_for_is_named():
    tree = tree_of(KUEUE.replace("name: etl,", "name: one,") + LOCAL)
    moved = next(one for one in moves(tree, "root.all.etl-cq.one", 8) if one.queues != tree.queues)

    assert "Not expressed: the capacity" in kubernetes_queues_yaml(moved, SIZE)


LOCAL = """---
kind: LocalQueue
metadata: {name: two, namespace: data}
spec: {clusterQueue: etl-cq}
"""
