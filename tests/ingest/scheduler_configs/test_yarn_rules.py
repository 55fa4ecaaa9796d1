"""The rules on heartbeats that YARN's files hold besides queues."""

import math

import pytest
from tests.ingest.scheduler_configs.configs import CAPACITY, FAIR, YUNIKORN

from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import YarnRules

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
