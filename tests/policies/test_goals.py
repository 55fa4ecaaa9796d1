"""Jobs with goals: how long their tasks take where no profile says it."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from sluice.core.transitions import AttemptState
from sluice.model.lengths import ConstantLengths
from sluice.policies.orders.goals import _MeanLengths


def phase(lengths=None, fetch=None):
    return Mock(phase=SimpleNamespace(lengths=lengths, fetch=fetch), tasks=4)


def ended(of, started_at_s, finished_at_s, state=AttemptState.DONE):
    return SimpleNamespace(
        phase=of, started_at_s=started_at_s, finished_at_s=finished_at_s, state=state
    )


@pytest.mark.interpreted
def test_without_a_profile_the_mean_of_the_tasks_that_are_done_counts():
    lengths, known, unknown = _MeanLengths(), phase(ConstantLengths(9.0, 9.0)), phase()
    assert (lengths.mean_s(known), lengths.mean_s(unknown)) == (9.0, 0.0)

    for of in (known, unknown):
        lengths.ended(ended(of, 10.0, 13.0))
        lengths.ended(ended(of, 20.0, 25.0))
        lengths.ended(ended(of, 0.0, 90.0, AttemptState.FAILED))

    assert (lengths.mean_s(known), lengths.mean_s(unknown)) == (9.0, 4.0)


@pytest.mark.interpreted
def test_a_profile_counts_with_the_time_to_fetch():
    of = phase(ConstantLengths(9.0, 9.0), ConstantLengths(2.0, 2.0))
    assert _MeanLengths().mean_s(of) == 11.0
