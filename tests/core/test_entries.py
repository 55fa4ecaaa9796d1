"""Facts of a phase that its entry works out."""

import pytest

from sluice.core import entries


@pytest.mark.parametrize(
    ("share", "tasks", "enough"),
    [(1.0, 100_000_000, 100_000_000), (0.07, 100, 7), (0.5, 3, 2), (0.0, 3, 0)],
)
def test_no_more_tasks_must_be_done_than_the_share_of_a_phase(share, tasks, enough):
    """The tolerance is lost in a hundred million, which must not ask for one task more."""
    assert entries._rounded_up(share * tasks) == enough
