"""Queues that YARN's fair scheduler makes although its file does not have them."""

import pytest

import sluice
from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.model.errors import InvalidInput

WITHOUT_DEFAULT = '<allocations><queue name="etl"><weight>3</weight></queue></allocations>'
USERS_ONLY = (
    '<allocations><user name="alice"><maxRunningApps>2</maxRunningApps></user>'
    "<userMaxAppsDefault>5</userMaxAppsDefault></allocations>"
)
JOBS = sluice.parse_workload(
    "{version: 1, cluster: {containers: 10}, jobs: ["
    "{id: a, pool: default, maps: {tasks: 20, avg_s: 30}},"
    "{id: b, pool: alice, maps: {tasks: 20, avg_s: 30}}]}"
)


def tree(text, **site):
    return queue_tree_of(text.encode(), "fair-scheduler.xml", site)


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        (WITHOUT_DEFAULT, ("root.etl", "root.default")),
        (USERS_ONLY, ("root.default",)),
        ("<allocations/>", ("root.default",)),
        (WITHOUT_DEFAULT.replace("etl", "default"), ("root.default",)),
    ],
)
def test_there_is_always_a_default_queue(text, leaves):
    assert tree(text).leaves == leaves


@pytest.mark.parametrize("text", [WITHOUT_DEFAULT, USERS_ONLY])
def test_jobs_run_in_queues_of_their_own_names(text):
    found = set(sluice.whatif(JOBS, tree(text), seeds=1).queues)

    assert {"root.default", "root.alice"} <= found


def test_without_undeclared_pools_they_run_in_the_default_queue():
    site = {"yarn.scheduler.fair.allow-undeclared-pools": "false"}
    found = sluice.whatif(JOBS, tree(USERS_ONLY, **site), seeds=1).queues

    assert list(found) == ["root.default"]


def test_a_capacity_scheduler_makes_no_queues():
    text = (
        "<configuration><property><name>yarn.scheduler.capacity.root.queues</name>"
        "<value>etl</value></property><property>"
        "<name>yarn.scheduler.capacity.root.etl.capacity</name><value>100</value></property>"
        "</configuration>"
    )
    with pytest.raises(InvalidInput, match="no leaf queue 'default'"):
        sluice.whatif(JOBS, tree(text), seeds=1)
