"""A queue tree as capacity-scheduler.xml: what it says besides queues stays as it was."""

import pytest
from tests.ingest.scheduler_configs.configs import CAPACITY, FAIR

from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.reporting.exports.queue_tree import queue_tree_diff, queue_tree_xml

HEAD = "yarn.scheduler.capacity"
BEAT = f"{HEAD}.per-node-heartbeat"


def tree_of(text, properties, site=None):
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    return queue_tree_of(
        text.replace("</configuration>", f"{rows}</configuration>").encode(), "it", site
    )


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {f"{HEAD}.node-locality-delay": "7", f"{HEAD}.rack-locality-additional-delay": "-1"},
        {f"{HEAD}.node-locality-delay": "-1"},
        {f"{BEAT}.maximum-container-assignments": "-1"},
        {
            f"{BEAT}.maximum-container-assignments": "5",
            f"{BEAT}.maximum-offswitch-assignments": "3",
        },
        {f"{BEAT}.multiple-assignments-enabled": "false"},
    ],
)
def test_waits_and_containers_of_a_heartbeat_read_back_as_they_were(properties):
    """The exported file takes the place of the old one: what it lacks is YARN's default."""
    tree = tree_of(CAPACITY, properties)
    text = queue_tree_xml(tree)
    assert queue_tree_of(text.encode(), "exported").yarn == tree.yarn
    assert (f"{HEAD}.node-locality-delay" in text) == (f"{HEAD}.node-locality-delay" in properties)


def test_a_difference_in_them_is_in_the_diff():
    old, new = (tree_of(CAPACITY, {f"{HEAD}.node-locality-delay": str(one)}) for one in (40, 3))
    lines = queue_tree_diff(old, new, (1024.0, 1.0)).splitlines()
    assert "-node-locality-delay = 40" in lines
    assert "+node-locality-delay = 3" in lines


def test_waits_of_the_fair_scheduler_are_named_as_lost():
    """They are shares of the nodes, and CapacityScheduler counts heartbeats."""
    site = {"yarn.scheduler.fair.locality.threshold.node": "0.5"}
    text = queue_tree_xml(queue_tree_of(FAIR.encode(), "fair-scheduler.xml", site))
    assert "waits for nodes and racks, and containers of a heartbeat, of FairScheduler." in text
    assert "node-locality-delay" not in text
