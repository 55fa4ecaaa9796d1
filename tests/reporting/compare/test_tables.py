"""The table of `compare`: the best are marked, and several seeds show their spread."""

from tests.reporting.run.run_results import (
    paper_jobs,
    paper_result,
    printed,
    result_of,
    stormy_result,
)
from tests.runs import totals

from sluice.model.workload import Workload
from sluice.reporting.compare.result import compared
from sluice.reporting.compare.tables import comparison_table


def test_the_best_scheduler_is_marked_and_equals_are_not():
    jobs = paper_jobs()
    slow = result_of(totals(4, 4), jobs)
    comparison = compared(
        {"fifo": [paper_result()], "slow": [slow]}, Workload(cluster=None, jobs=tuple(jobs))
    )
    same = compared({"a": [slow], "b": [slow]}, Workload(cluster=None, jobs=tuple(jobs)))
    lines = printed(comparison_table(comparison)).splitlines()

    assert ["44 s *" in line for line in lines if line.startswith(" fifo")] == [True]
    assert not any("*" in line for line in lines if line.startswith(" slow"))
    assert "s *" not in printed(comparison_table(same))
    assert "deadlines" not in printed(comparison_table(same))


def test_several_seeds_show_their_spread():
    workload = Workload(cluster=None, jobs=tuple(paper_jobs()))
    text = printed(
        comparison_table(compared({"fifo": [stormy_result(1), stormy_result(2)]}, workload))
    )

    assert "±" in text
    assert max(map(len, text.splitlines())) <= 80
