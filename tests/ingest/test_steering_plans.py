"""Steering plans: what is written wrong is named with its line, what is right comes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ingest.steering_plans import parse_steering_plan, plan_document, wrong_sum
from sluice.model.errors import InvalidInput
from sluice.model.steering import ApplicationWish, NodeWish, SteeringPlan
from sluice.reporting.exports.workload_text import workload_text

WHOLE = """\
version: 1
queues:
  root.a: {capacity: 60, ordering-policy: fair, state: null, reservable: true}
nodes:
  worker-7: {memory_mb: 2048, labels: [fast]}
applications:
  application_1700000000000_0042: {priority: 8, queue: b, lifetime_s: 60}
kill_attempts: [attempt_1700000000000_0041_m_000003_0]
reservations:
  - {queue: b, deadline_s: 120, starts_in_s: 20, containers: 3, runs_s: 30, memory_mb: 512}
delete_reservations: [reservation_1700000000000_0001]
"""


def test_a_plan_has_the_values_that_hadoop_takes():
    plan = parse_steering_plan(WHOLE, 1000.0, source="plan.yaml")

    assert plan.queues == {
        "root.a": {
            "capacity": "60", "ordering-policy": "fair", "state": None, "reservable": "true",
        }
    }  # fmt: skip
    assert plan.nodes == {"worker-7": NodeWish(memory_mb=2048, labels=("fast",))}
    (wish,) = plan.applications.values()
    assert (wish.priority, wish.queue, wish.lifetime_s, wish.kill) == (8, "b", 60, False)
    (reservation,) = plan.reservations
    assert (reservation.starts_at_s, reservation.deadline_at_s) == (1020.0, 1120.0)
    assert (reservation.at_least, reservation.vcores) == (1, 1)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("root.a:", "a:", "queues"),
        ("version: 1", "version: 2", "version"),
        ("capacity: 60", "capacity: [60]", "capacity"),
        ("priority: 8", "priority: high", "priority"),
        ("priority: 8", "prioritty: 8", "Did you mean priority"),
        ("labels: [fast]", "labels: [a, b]", "labels"),
        ("labels: [fast]", "labels: ['a b']", "labels"),
        ("memory_mb: 2048", "memory_mb: -1", "memory_mb"),
        ("application_1700000000000_0042", "job_1700000000000_0042", "applications"),
        ("deadline_s: 120", "deadline_s: 20", "deadline_s is before the start"),
        ("containers: 3", "containers: 3, at_least: 4", "at_least is more than all"),
        ("attempt_1700000000000_0041_m_000003_0", "task_1", "kill_attempts"),
        (WHOLE, "[]", "not a mapping"),
        (WHOLE, "version: 1\nqueues: 3", "queues"),
    ],
)
def test_what_is_wrong_is_named(before, after, words):
    assert before in WHOLE
    with pytest.raises(InvalidInput, match=words) as refused:
        parse_steering_plan(WHOLE.replace(before, after), 0.0, source="plan.yaml")
    assert str(refused.value).startswith("plan.yaml")


NAMES = st.text("abcdefghij-_", min_size=1, max_size=8)
VALUES = st.none() | st.text("abc 0123456789.w", min_size=1, max_size=9).map(str.strip)
PLANS = st.builds(
    SteeringPlan,
    queues=st.dictionaries(
        NAMES.map("root.{}".format), st.dictionaries(NAMES.map("k{}".format), VALUES, min_size=1)
    ),
    nodes=st.dictionaries(
        NAMES,
        st.builds(
            NodeWish,
            memory_mb=st.none() | st.integers(0, 9999),
            vcores=st.none() | st.integers(0, 99),
            labels=st.none() | st.just(()) | NAMES.map("l{}".format).map(lambda one: (one,)),
        ),
    ),
    applications=st.dictionaries(
        st.integers(1, 99).map("application_1_{}".format),
        st.builds(
            ApplicationWish, priority=st.none() | st.integers(-1, 9), queue=st.none() | NAMES
        ),
    ),
    skips_gone=st.booleans(),
    delete_reservations=st.lists(st.integers(1, 9).map("reservation_1_{}".format)).map(tuple),
)


@given(PLANS)
def test_a_plan_that_is_written_is_read_as_it_was(plan):
    text = workload_text(plan_document(plan), name="undo.yaml")
    assert parse_steering_plan(text, 0.0, source="undo.yaml") == plan


def test_capacities_of_siblings_add_up():
    assert wrong_sum({"a": "33.333", "b": "33.333", "c": "33.334"}) == ""
    assert wrong_sum({"a": "[memory=1024]", "b": "[memory=2048]"}) == ""
    assert wrong_sum({}) == ""
    assert wrong_sum({"a": "90", "b": "30"}) == "a 90 + b 30 = 120, not 100"
