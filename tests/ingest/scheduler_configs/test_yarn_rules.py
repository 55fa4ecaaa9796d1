"""The rules on heartbeats that YARN's files hold besides queues."""

import math

import pytest
from tests.ingest.scheduler_configs.configs import CAPACITY, FAIR, YUNIKORN

from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import Starvation, YarnRules

HEAD = "yarn.scheduler.capacity"
BEAT = f"{HEAD}.per-node-heartbeat"
LIKE_FAIR = "yarn.scheduler.fair"


def rules(text, site=None, **properties):
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    text = text.replace("</configuration>", f"{rows}</configuration>")
    return queue_tree_of(text.encode(), "config", site).yarn


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, YarnRules()),
        ({f"{HEAD}.node-locality-delay": "7"}, YarnRules(node_locality=7.0)),
        ({f"{HEAD}.rack-locality-additional-delay": "-1"}, YarnRules(rack_locality=-1.0)),
        ({f"{BEAT}.maximum-offswitch-assignments": "3"}, YarnRules(offswitch_max=3.0)),
        ({f"{BEAT}.maximum-container-assignments": "5"}, YarnRules(containers_max=5.0)),
        ({f"{BEAT}.maximum-container-assignments": "-1"}, YarnRules(containers_max=math.inf)),
        ({f"{BEAT}.multiple-assignments-enabled": "false"}, YarnRules(containers_max=1.0)),
    ],
)
def test_the_capacity_scheduler_has_them_in_its_file_or_in_yarn_site(properties, expected):
    assert rules(CAPACITY, **properties) == expected
    assert rules(CAPACITY, properties) == expected


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        (None, YarnRules()),
        ({"x": "1"}, YarnRules(containers_max=1.0)),
        ({f"{LIKE_FAIR}.assignmultiple": "true"}, YarnRules()),
        (
            {f"{LIKE_FAIR}.assignmultiple": "true", f"{LIKE_FAIR}.dynamic.max.assign": "false"},
            YarnRules(containers_max=math.inf),
        ),
        (
            {
                f"{LIKE_FAIR}.assignmultiple": "true",
                f"{LIKE_FAIR}.dynamic.max.assign": "false",
                f"{LIKE_FAIR}.max.assign": "4",
            },
            YarnRules(containers_max=4.0),
        ),
        (
            {
                f"{LIKE_FAIR}.locality.threshold.node": "0.5",
                f"{LIKE_FAIR}.locality.threshold.rack": "-1.0",
            },
            YarnRules(node_locality=0.5, rack_locality=-1.0, containers_max=1.0),
        ),
    ],
)
def test_the_fair_scheduler_has_them_in_yarn_site(site, expected):
    assert rules(FAIR, site) == expected


def test_other_schedulers_have_none():
    assert rules(YUNIKORN) is None


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        (CAPACITY, f"{HEAD}.node-locality-delay", "many"),
        (CAPACITY, f"{BEAT}.maximum-offswitch-assignments", "1.x"),
        (CAPACITY, f"{BEAT}.multiple-assignments-enabled", "yes"),
        (FAIR, f"{LIKE_FAIR}.assignmultiple", "yes"),
        (FAIR, f"{LIKE_FAIR}.locality.threshold.rack", "1.5"),
    ],
)
def test_a_bad_value_names_its_key(text, key, value):
    with pytest.raises(InvalidInput) as error:
        rules(text, {key: value})
    assert key in error.value.where


def test_rounds_of_preemption_have_the_defaults_of_yarn():
    head = "yarn.resourcemanager.monitor.capacity.preemption"
    monitor = {"yarn.resourcemanager.scheduler.monitor.enable": "true"}
    assert rules(CAPACITY, monitor) == YarnRules(
        round_s=3.0, round_share=0.1, natural_share=0.2, ignored_share=0.1
    )
    keys = {
        f"{head}.monitoring_interval": "1000",
        f"{head}.total_preemption_per_round": "0.5",
        f"{head}.natural_termination_factor": "1",
        f"{head}.max_ignored_over_capacity": "0",
    }
    assert rules(CAPACITY, monitor, **keys) == YarnRules(
        round_s=1.0, round_share=0.5, natural_share=1.0, ignored_share=0.0
    )
    assert rules(CAPACITY, **keys) == YarnRules()


ALLOCATIONS = """<allocations>
<defaultFairSharePreemptionTimeout>30</defaultFairSharePreemptionTimeout>
<queue name="etl"><fairSharePreemptionTimeout>5</fairSharePreemptionTimeout>
<minSharePreemptionTimeout>2</minSharePreemptionTimeout>
<fairSharePreemptionThreshold>0.8</fairSharePreemptionThreshold>
<allowPreemptionFrom>false</allowPreemptionFrom>
<queue name="nightly"><minSharePreemptionTimeout>9</minSharePreemptionTimeout>
<allowPreemptionFrom>true</allowPreemptionFrom></queue></queue>
<queue name="adhoc"/></allocations>"""


def test_queues_say_when_containers_are_taken_back_for_them_and_for_those_below():
    site = {f"{LIKE_FAIR}.preemption": "true"}
    tree = queue_tree_of(ALLOCATIONS.encode(), "fair-scheduler.xml", site)
    found = {queue.path: queue for queue in tree.queues}

    assert found["root.etl"].starvation == Starvation(5.0, 0.8, 2.0)
    assert found["root.etl.nightly"].starvation == Starvation(5.0, 0.8, 9.0)
    assert found["root.adhoc"].starvation == Starvation(30.0, 0.5, math.inf)
    gives = [path for path, queue in found.items() if queue.is_preemptible]
    assert gives == ["root.adhoc", "root.default"]
    assert (tree.preempts_after_s, tree.unknown_keys) == (30.0, ())


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, (15.0, 10.0, 0.8)),
        (
            {
                f"{LIKE_FAIR}.waitTimeBeforeKill": "1000",
                f"{LIKE_FAIR}.waitTimeBeforeNextStarvationCheck": "500",
                f"{LIKE_FAIR}.preemption.cluster-utilization-threshold": "0.5",
            },
            (1.0, 0.5, 0.5),
        ),
    ],
)
def test_the_warning_and_the_pause_of_the_fair_scheduler_are_in_yarn_site(keys, expected):
    found = rules(FAIR, {f"{LIKE_FAIR}.preemption": "true", **keys})
    assert (found.warning_s, found.pause_s, found.busy_share) == expected


def test_the_time_of_a_queue_is_enough_for_preemption():
    text = ALLOCATIONS.replace("defaultFairSharePreemptionTimeout", "queuePlacementPolicy")
    tree = queue_tree_of(text.encode(), "fair-scheduler.xml", {f"{LIKE_FAIR}.preemption": "true"})
    assert (tree.preempts_after_s, tree.notes) == (2.0, ())
