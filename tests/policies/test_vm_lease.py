"""The VMs of one job: what starts on them, and their row of a report."""

from unittest.mock import Mock

import pytest

from sluice.core.reasons import ReasonCode
from sluice.core.transitions import JobState
from sluice.model.slot_kind import SlotKind
from sluice.model.vm_pools import VmGrant
from sluice.policies.machines.vm_lease import VmLease

pytestmark = pytest.mark.interpreted
MAP, CONTAINER = SlotKind.MAP, SlotKind.CONTAINER


def lease(*, ended_s=None, deadline_at_s=None, state=JobState.DONE, request=None, phases=()):
    """Two nodes with 6 units from 10 s on, which boot for 3.06 s."""
    job = Mock(deadline_at_s=deadline_at_s, vm_request=request)
    entry = Mock(job=job, finished_at_s=ended_s, state=state, phases=phases)
    grant = Mock(spec=VmGrant, vm_type="t", vms=2, known_until_s=50.0)
    return VmLease(entry, grant, [0, 1], 10.0, 3.06, 6.0)


@pytest.mark.parametrize(
    ("ended_s", "facts", "late", "met"),
    [
        (30.0, {"deadline_at_s": 30.0}, None, True),
        (30.0 + 2e-8, {"deadline_at_s": 30.0}, None, True),  # rounding: a billionth of 30 s
        (30.0 + 4e-8, {"deadline_at_s": 30.0}, None, False),
        (0.5 + 8e-10, {"deadline_at_s": 0.5}, None, True),  # or of a second
        (99.0, {}, None, True),
        (20.0, {"state": JobState.FAILED}, None, False),
        (20.0, {}, Mock(least_deadline_at_s=40.0), True),
        (20.0, {"request": "t"}, Mock(least_deadline_at_s=40.0), False),
        (20.0, {"request": "t"}, None, True),
    ],
)
def test_a_row_says_whether_the_deadline_was_met(ended_s, facts, late, met):
    row = lease(ended_s=ended_s, **facts).row(30.0, (8.0, 5.0), late)

    assert row["met"] is met
    assert row["least_deadline_at_s"] == (late and 40.0)
    assert (row["started_at_s"], row["finished_at_s"], row["planned_until_s"]) == (
        8.0,
        ended_s,
        50.0,
    )
    assert row["unit_s"] == 5.0 + 20.0 * 6.0


def test_tasks_wait_for_the_boot_and_then_for_a_free_slot():
    own = lease()

    assert own.why_waiting(13.05).code is ReasonCode.VMS_BOOT
    assert dict(own.why_waiting(13.05).numbers) == {"at_s": 13.1}
    assert own.why_waiting(13.06).code is ReasonCode.OWN_VMS_BUSY


def phase(kind, waiting, *, alike, has_inputs=True):
    """Tasks that wait; those that start do not wait any more."""
    made = Mock(kind=kind, has_inputs=has_inputs, is_queued=waiting > 0)
    made.job.alike, made.pending.count = alike, waiting
    return made


def started(node, phases):
    found = []
    for one in lease(phases=phases).assignments(node):
        found.append((one.phase, one.tasks))
        node.free[one.slot_kind] -= one.tasks
        one.phase.pending.count -= one.tasks
        one.phase.is_queued = one.phase.pending.count > 0
    return found


def test_tasks_fill_the_free_slots_of_a_node_in_the_order_of_phases():
    alike, single = phase(MAP, 2, alike=True), phase(MAP, 3, alike=False)
    reading = phase(CONTAINER, 3, alike=True, has_inputs=False)
    last = phase(CONTAINER, 9, alike=True)
    node = Mock(free={MAP: 4, CONTAINER: 5})

    assert started(node, [reading, alike, single, last]) == [
        (alike, 2), (single, 1), (single, 1), (last, 5),
    ]  # fmt: skip


def test_a_slow_task_is_copied_to_another_node_of_the_job_with_a_free_slot():
    nodes = [Mock(free={MAP: 1}), Mock(free={MAP: 0}), Mock(free={MAP: 9})]
    state = Mock(node_at=nodes)
    attempt = Mock(node=nodes[0])
    attempt.phase.kind = MAP
    assert lease().why_no_copy(attempt, state).code is ReasonCode.NO_SLOT_FOR_COPY

    attempt.node = nodes[1]
    assert lease().why_no_copy(attempt, state) is None
