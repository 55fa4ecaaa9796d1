"""Who wins and who loses under other queues: by waits and by slowdowns."""

import pytest

from sluice.estimate.paired_difference import PairedDifference
from sluice.reporting.compare.result import MeasureSpread
from sluice.reporting.whatif.result import QueueEffect, WhatIf
from sluice.reporting.whatif.tables import effects_sentence, queues_table

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


def spread(mean):
    return MeasureSpread.of([mean])


def test_the_answer_is_one_sentence_with_the_figures_of_the_table():
    queues = {
        "root.etl": QueueEffect(
            old={"slowdown_p95": spread(12.5)},
            new={"slowdown_p95": spread(14.5)},
            differences={"wait_s_p95": UNCLEAR, "slowdown_p95": MORE},
        ),
        "root.science": QueueEffect(old=None, new=None, differences={"wait_s_p95": LESS}),
        "root.rest": QueueEffect(old=None, new=None, differences={"wait_s_p95": UNCLEAR}),
    }
    found = WhatIf(queues=queues, containers=4, seeds=2, is_resampled=False)

    said = "root.science waits 2 s less at p95, root.etl's jobs take 16 % longer at p95."
    assert effects_sentence(found) == said


def test_without_another_configuration_the_longest_wait_is_the_answer():
    queues = {
        name: QueueEffect(old=None, new={"wait_s_p95": spread(wait_s)})
        for name, wait_s in (("root.a", 3.0), ("root.b", 90.0))
    }
    found = WhatIf(queues=queues, containers=4, seeds=2, is_resampled=False)

    assert effects_sentence(found) == "root.b waits longest: 1 m 30 s at p95."


def test_jobs_are_counted_in_whole_numbers():
    new = {"jobs": MeasureSpread.of([832.0, 832.0, 833.0])}
    queues = {"root.a": QueueEffect(old=None, new=new)}
    found = WhatIf(queues=queues, containers=4, seeds=3, is_resampled=True)

    cells = [str(cell) for column in queues_table(found).columns for cell in column.cells]
    assert "832" in cells
