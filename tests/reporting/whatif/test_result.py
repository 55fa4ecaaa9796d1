"""Who wins and who loses under other queues: by waits and by slowdowns."""

import pytest

from sluice.estimate.paired_difference import PairedDifference
from sluice.reporting.whatif.result import QueueEffect, WhatIf

LESS = PairedDifference(mean=-2.0, low=-3.0, high=-1.0)
MORE = PairedDifference(mean=2.0, low=1.0, high=3.0)
UNCLEAR = PairedDifference(mean=2.0, low=-1.0, high=5.0)


def verdict(wait, slowdown):
    differences = {"wait_s_p95": wait, "slowdown_p95": slowdown}
    return QueueEffect(old=None, new=None, differences=differences).verdict


@pytest.mark.parametrize(
    ("wait", "slowdown", "said"),
    [
        (LESS, UNCLEAR, "wins"),
        (UNCLEAR, MORE, "loses"),  # it waits as before, and then runs on fewer containers
        (LESS, MORE, "mixed"),
        (UNCLEAR, UNCLEAR, ""),
        (None, None, ""),
        (None, LESS, "wins"),
    ],
)
def test_a_queue_wins_or_loses_where_an_interval_excludes_0(wait, slowdown, said):
    assert verdict(wait, slowdown) == said


def test_a_mixed_queue_neither_wins_nor_loses():
    mixed = QueueEffect(old=None, new=None, differences={"wait_s_p95": LESS, "slowdown_p95": MORE})
    found = WhatIf(queues={"root.a": mixed}, containers=4, seeds=2, is_resampled=False)

    assert found.winners == found.losers == []
