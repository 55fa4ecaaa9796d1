"""When the phases are looked at in which an attempt may be slow."""

from tests.runs import scheduler_of

from sluice.policies.copies.candidates import CopyCandidates
from sluice.policies.copies.limits import CopyLimits
from sluice.policies.settings import SpeculationSettings


def candidates_of(state, **settings):
    limits = CopyLimits(SpeculationSettings(speculation="late", **settings), state)
    return CopyCandidates(limits, state)


def test_all_phases_are_checked_every_three_seconds_and_never_at_the_present_instant():
    candidates = candidates_of(scheduler_of().state)

    assert [3.0, 3.0, 6.0, 6.0] == [candidates.next_check_s(at_s) for at_s in (0.0, 2.9, 3.0, 5.0)]
    assert candidates.settle(4.0)
    assert [6.0, 6.0, 9.0] == [candidates.next_check_s(at_s) for at_s in (4.0, 5.9, 6.0)]
    assert not candidates.settle(5.9)
    assert candidates.settle(6.0)
