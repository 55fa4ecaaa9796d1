"""The slots that a release may count on, and the tenants that are below their share of them."""

from unittest.mock import Mock

import pytest

from sluice.model.slot_kind import SlotKind
from sluice.policies.rooms.slot_counts import (
    early_tasks,
    has_any_slot,
    idle_slots,
    owed_jobs,
    owed_release,
    slots_busy,
    widths,
)

pytestmark = pytest.mark.interpreted
MAP, REDUCE, CONTAINER = SlotKind.MAP, SlotKind.REDUCE, SlotKind.CONTAINER


def cluster(maps, reduces, containers, *, takes_any=False, jobs=()):
    slots = {MAP: maps, REDUCE: reduces, CONTAINER: containers}
    return Mock(slots=slots, has_any_slot=takes_any, active={id(one): one for one in jobs})


@pytest.mark.parametrize(
    ("state", "is_any", "found"),
    [
        (cluster(3, 2, 5), False, (3, 2)),
        (cluster(3, 0, 3), False, (3, 1)),
        (cluster(0, 2, 2), False, (1, 2)),
        (cluster(3, 2, 5, takes_any=True), True, (5, 5)),
        (cluster(0, 0, 4), True, (4, 4)),
        (cluster(0, 0, 0), True, (1, 1)),
    ],
)
def test_maps_and_reduces_share_slots_where_any_slot_takes_any_task(state, is_any, found):
    assert (has_any_slot(state), widths(state)) == (is_any, found)
    assert dict(slots_busy(state, MAP).numbers) == {"slots": state.slots[MAP], "kind": "map"}


@pytest.mark.parametrize(
    ("slots", "maps", "reduces", "containers", "idle"),
    [(9, 0.0, 0.0, 0, 9), (9, 3.0, 1.5, 1, 4), (9, 4.0, 3.0, 4, 0), (0, 0.0, 0.0, 3, 7)],
)
def test_a_slot_is_idle_unless_a_task_of_any_kind_uses_it(slots, maps, reduces, containers, idle):
    """A map uses two units of a slot, and a reduce one. A node without slots has as many as fit."""
    used = {MAP: maps, REDUCE: reduces, CONTAINER: containers}
    node = Mock(units={MAP: 2.0, REDUCE: 1.0}, free={CONTAINER: 7})
    node.slots.side_effect = lambda kind: {CONTAINER: slots}[kind]
    node.used.side_effect = used.__getitem__

    assert idle_slots(node) == idle


def test_tasks_are_early_while_those_that_they_read_from_are_not_done():
    jobs = [
        Mock(phases=[Mock(running=3, has_inputs=True), Mock(running=2, has_inputs=False)]),
        Mock(phases=[Mock(running=0, has_inputs=False), Mock(running=4, has_inputs=False)]),
    ]

    assert early_tasks(cluster(0, 0, 9, jobs=jobs)) == 6


def test_the_job_with_the_least_part_of_its_promise_is_first():
    jobs = {
        name: Mock(job_id=name, is_owed=is_owed, running=running, promised=4, release_seq=seq)
        for name, is_owed, running, seq in (
            ("most", True, 3, 0), ("later", True, 1, 2), ("first", True, 1, 1),
            ("kept", False, 4, 3), ("waits", True, 0, -1), ("zeroth", True, 2, 0),
        )
    }  # fmt: skip

    found = [one.job_id for one in owed_jobs(Mock(promises=jobs))]
    assert found == ["first", "later", "zeroth", "most"]


def tenant(weight, *, is_declared=True):
    return Mock(pool=Mock(weight=weight), is_declared=is_declared)


def waiting(pool, first, behind=5):
    """A job whose first phase has that many tasks."""
    phases = [Mock(tasks=first, after=()), Mock(tasks=behind, after=(0,))]
    return Mock(pool=pool, job=Mock(phases=phases))


def active(pool, running, *queued):
    """A job with running tasks, and of each phase (tasks that wait, whether it is open)."""
    phases = [Mock(pending=Mock(count=count), is_open=is_open) for count, is_open in queued]
    return Mock(pool=pool, running=running, phases=phases)


def test_a_tenant_is_owed_releases_up_to_its_share_of_the_slots():
    """Of 8 slots, poor has 2 and rich 6. What runs and what waits in open phases counts."""
    poor, rich = tenant(1.0), tenant(3.0)
    jobs = [
        waiting(rich, 2),
        waiting(poor, 1),
        waiting(poor, 1),
        waiting(poor, 1),
        waiting(rich, 1),
    ]
    state = cluster(0, 0, 8, jobs=[active(rich, 3, (1, True), (9, False))])

    assert owed_release(jobs, state) == jobs[:3]


def test_where_one_tenant_asks_there_is_nothing_to_share():
    poor, rich, other = tenant(1.0), tenant(3.0), tenant(1.0, is_declared=False)
    jobs = [waiting(poor, 1), waiting(other, 1)]
    assert owed_release(jobs, cluster(0, 0, 8)) == []
    assert owed_release(jobs, cluster(0, 0, 8, jobs=[active(other, 1)])) == []

    assert owed_release(jobs, cluster(0, 0, 8, jobs=[active(rich, 1)])) == jobs[:1]
    assert owed_release(jobs, cluster(0, 0, 8, jobs=[active(rich, 1), active(poor, 2)])) == []
