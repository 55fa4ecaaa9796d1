"""Other forms of Hadoop's configurations: the keys of Hadoop 1 and the JSON of the web service."""

import pytest

from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import AmountKind, QueueAmount

MR1 = "mapred.capacity-scheduler."


def tree(text):
    return queue_tree_of(text.encode(), "config")


def properties(**values):
    inner = "".join(
        f"<property><name>{MR1}{key}</name><value>{value}</value></property>"
        for key, value in values.items()
    )
    return f"<configuration>{inner}</configuration>"


def percent(value):
    return QueueAmount(AmountKind.PERCENT, value)


def test_the_default_queue_of_hadoop_1_is_read():
    (queue,) = tree(properties(**{"queue.default.capacity": "100"})).queues

    assert ("root.default", percent(100.0)) == (queue.path, queue.capacity)


def test_queues_of_hadoop_1_have_their_limits_and_share_what_is_left():
    """With 40 % for etl, two queues without a capacity have 30 % each."""
    found = tree(
        properties(
            **{
                "queue.etl.capacity": "40",
                "queue.etl.maximum-capacity": "60",
                "queue.ads.capacity": "-1",
                "queue.ads.minimum-user-limit-percent": "25",
                "queue.web.supports-priority": "true",
                "default-user-limit-factor": "2",
            }
        )
    )
    etl, ads, web = found.queues

    assert (percent(40.0), percent(60.0), 2.0) == (
        etl.capacity, etl.maximum, etl.user_limit_factor
    )  # fmt: skip
    assert (percent(30.0), percent(30.0), 25.0) == (
        ads.capacity, web.capacity, ads.user_limit_percent
    )  # fmt: skip
    assert found.unknown_keys == (f"{MR1}queue.web.supports-priority",)


def test_a_bad_value_of_hadoop_1_names_its_own_key():
    with pytest.raises(InvalidInput, match=r"mapred\.capacity-scheduler\.queue\.etl\.capacity"):
        tree(properties(**{"queue.etl.capacity": "many"}))


SCHEDULER_CONF = """{"property":[
  {"name":"yarn.scheduler.capacity.root.queues","value":"default"},
  {"name":"yarn.scheduler.capacity.root.default.capacity","value":"100"}]}"""


def test_the_answer_of_the_resource_manager_is_a_configuration():
    (queue,) = tree(SCHEDULER_CONF).queues

    assert ("root.default", percent(100.0)) == (queue.path, queue.capacity)


@pytest.mark.parametrize(
    "text",
    ['{"property": 3}', '{"property": [3]}', '{"property": [{"value": "1"}]}', '{"property": []}'],
)
def test_another_json_is_refused(text):
    with pytest.raises(InvalidInput):
        tree(text)


def _fair(queues):
    return f"<allocations>{queues}</allocations>"


def _capacity(*properties):
    head = "yarn.scheduler.capacity"
    lines = "".join(
        f"<property><name>{head}.{name}</name><value>{value}</value></property>"
        for name, value in (("root.queues", "a,b"), ("root.a.capacity", 50),
                            ("root.b.capacity", 50), *properties)
    )  # fmt: skip
    return f"<configuration>{lines}</configuration>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_capacity(), [0.1, 0.1]),
        (_capacity(("maximum-am-resource-percent", 0.3)), [0.3, 0.3]),
        (_capacity(("root.b.maximum-am-resource-percent", 0.5)), [0.1, 0.5]),
        (_capacity(("maximum-am-resource-percent", 1)), [None, None]),
        (
            _fair("<queue name='a'/><queue name='b'><maxAMShare>-1.0</maxAMShare></queue>"),
            [0.5, None],
        ),
        (
            _fair(
                "<queueMaxAMShareDefault>0.2</queueMaxAMShareDefault><queue name='a'/>"
                "<queue name='b'><maxAMShare>0.7</maxAMShare></queue>"
            ),
            [0.2, 0.7],
        ),
    ],
)
def test_the_share_of_application_masters_is_that_of_yarn(text, expected):
    found_tree = tree(text)

    found = {queue.name: queue.masters_share for queue in found_tree.queues}
    assert [found["a"], found["b"]] == expected
    assert not found_tree.unknown_keys
