"""A promised task takes a slot of its kind, or else one of the other kind.

No folder `dynamicmr`: its modules would then be tested by that folder alone.
"""

from types import SimpleNamespace

import pytest

from sluice.core.entries import WHOLE_SLOTS
from sluice.core.reasons import ReasonCode
from sluice.model.slot_kind import SlotKind
from sluice.policies.dynamicmr.cases import PromisedSlot
from sluice.policies.dynamicmr.node_offer import NodeOffer

pytestmark = pytest.mark.interpreted  # compiled code takes no other objects than its own
MAP, REDUCE, CONTAINER = SlotKind.MAP, SlotKind.REDUCE, SlotKind.CONTAINER


def owed_job(*kinds, running=0, promised=2, pool="p"):
    """A job with a phase of each of these kinds that may start."""
    phases = [SimpleNamespace(kind=kind, is_queued=True) for kind in kinds]
    return SimpleNamespace(
        phases=phases, running=running, promised=promised, is_owed=running < promised,
        release_seq=0, pool=pool,
    )  # fmt: skip


def case_for(*jobs):
    case = PromisedSlot()
    case.attach(SimpleNamespace(promises=dict(enumerate(jobs))))
    return case


def turn(maps, reduces):
    """A node with that many free slots."""
    node = SimpleNamespace(free={MAP: maps, REDUCE: reduces})
    return NodeOffer(node, WHOLE_SLOTS, SimpleNamespace(), 1.0, 1.0)


def test_a_slot_of_either_kind_will_do():
    case = case_for(owed_job(MAP))

    assert [True, True, True, False] == [
        case.has_slot(turn(*free)) for free in ((1, 1), (1, 0), (0, 1), (0, 0))
    ]


def test_without_a_promise_there_is_nothing_to_keep():
    assert not case_for().has_slot(turn(1, 1))
    assert not PromisedSlot().has_slot(turn(1, 1))


@pytest.mark.parametrize(
    ("kind", "free", "slot_kind"),
    [(MAP, (1, 1), MAP), (MAP, (0, 1), REDUCE), (REDUCE, (1, 1), REDUCE), (REDUCE, (1, 0), MAP)],
)
def test_a_task_takes_a_slot_of_its_own_kind_first(kind, free, slot_kind):
    job = owed_job(kind)
    start = case_for(job).start(turn(*free), None)

    assert (job.phases[0], slot_kind) == (start.phase, start.slot_kind)
    assert ReasonCode.OWN_CONTAINER is start.reason.code


def test_the_job_with_the_smallest_part_of_its_promise_is_first():
    most, least = owed_job(MAP, running=1), owed_job(MAP)
    case = case_for(owed_job(MAP, running=2), most, least)

    assert case.start(turn(1, 1), None).phase is least.phases[0]


def test_only_jobs_of_the_pool_in_turn_start():
    one, other = owed_job(MAP, pool="one"), owed_job(MAP, pool="other")

    assert case_for(one, other).start(turn(1, 1), "other").phase is other.phases[0]
    assert None is case_for(one).start(turn(1, 1), "other")


def test_a_phase_of_containers_or_without_a_task_that_may_start_is_passed_over():
    job = owed_job(CONTAINER, MAP, REDUCE)
    job.phases[1].is_queued = False

    assert case_for(job).start(turn(1, 1), None).phase is job.phases[2]
