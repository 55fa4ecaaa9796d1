"""The table of `compare`: the best are marked, and several seeds show their spread."""

from dataclasses import replace

from tests.reporting.run.run_results import (
    paper_jobs,
    paper_result,
    printed,
    result_of,
    stormy_result,
)
from tests.runs import map_reduce, totals

from sluice.model.workload import Workload
from sluice.reporting.compare.result import MeasureSpread, compared, compared_summaries
from sluice.reporting.compare.run_summary import RunSummary
from sluice.reporting.compare.tables import comparison_sentence, comparison_table, comparison_tables


def three(task_s):
    """The summaries of three runs of one job with a map that long, on one slot."""
    jobs = [[map_reduce("j", 1, length_s)] for length_s in task_s]
    of = Workload(cluster=None, jobs=())
    return [RunSummary.of(result_of(totals(1, 1), one), of) for one in jobs]


def comparison_of(**schedulers):
    summaries = {name: three(task_s) for name, task_s in schedulers.items()}
    return compared_summaries(summaries, Workload(cluster=None, jobs=()))


def test_a_star_marks_only_a_difference_whose_interval_excludes_0():
    """Differences -10, -11, -9 are clear. -10, 10, -3 have a mean of -1 and may be luck."""
    comparison = comparison_of(
        first=[30.0, 40.0, 50.0], clear=[20.0, 29.0, 41.0], luck=[20.0, 50.0, 47.0]
    )
    lines = printed(comparison_table(comparison)).splitlines()
    by_name = {line.split()[0]: line for line in lines if line.strip()}

    assert "*" in by_name["clear"]
    assert not any("*" in by_name[name] for name in ("first", "luck"))
    assert lines[-1].strip().endswith("differs from first")
    assert () == comparison.notes


def test_the_sentence_names_the_best_whose_difference_is_clear():
    first = [30.0, 40.0, 50.0]
    clear = comparison_of(first=first, clear=[20.0, 29.0, 41.0], luck=[1.0, 60.0, 20.0])
    luck = comparison_of(first=first, luck=[20.0, 50.0, 47.0])

    assert comparison_sentence(clear) == (
        "Least total response under clear (30 s; first: 40 s);"
        " shortest makespan under clear (30 s; first: 40 s)."
    )
    assert comparison_sentence(luck) == "No scheduler is clearly better than first."
    assert (
        comparison_sentence(comparison_of(only=first)) == "Under only the jobs are done after 40 s."
    )


def test_the_sentence_names_all_that_are_best():
    first = [30.0, 40.0, 50.0]
    found = comparison_sentence(comparison_of(first=first, also=first, slow=[50.0, 61.0, 70.0]))

    assert found.startswith("Least total response under first and also (40 s); ")


def test_figures_that_read_the_same_have_no_star():
    """A clear difference of a thousandth of a second in 30 s."""
    comparison = comparison_of(first=[30.0, 40.0, 50.0], near=[29.999, 39.9989, 49.9991])

    assert "makespan_s" in comparison.rows[1].clear_differences
    lines = printed(comparison_table(comparison)).splitlines()
    (near,) = (line for line in lines if line.strip().startswith("near"))
    assert "*" not in near


def test_one_seed_has_no_star_and_says_so():
    jobs = paper_jobs()
    slow = result_of(totals(4, 4), jobs)
    of = Workload(cluster=None, jobs=tuple(jobs))
    comparison = compared({"fifo": [paper_result()], "slow": [slow]}, of)
    same = compared({"a": [slow], "b": [slow]}, of)

    assert "*" not in "".join(printed(table) for table in comparison_tables(comparison))
    assert ["1 seed: differences have no interval; use --seeds 10 to get one"] == [
        *comparison.notes
    ]
    assert "no difference" in same.notes[1]
    assert "deadlines" not in printed(comparison_table(same))


def test_equal_schedulers_are_explained_by_an_idle_cluster():
    """A map of 30 s on one of two slots: half of the slots' time is idle."""
    comparison = comparison_of(a=[30.0, 40.0], b=[30.0, 40.0])

    assert ("no difference: the cluster is idle 50 % of the time",) == comparison.notes


def test_differences_that_are_not_clear_are_no_equality():
    comparison = comparison_of(a=[30.0, 40.0], b=[31.0, 38.0])

    assert comparison.notes == (
        "no difference is clear after 2 seeds; use --seeds 8 to see one of half the size",
    )


def test_the_row_of_the_advice_says_what_it_changes():
    found = comparison_of(fair=[50.0, 60.0, 70.0], auto=[30.0, 41.0, 49.0])
    (sentence,) = found.notes
    assert sentence.startswith("auto against fair: makespan 20 s shorter")
    assert "not clear" not in sentence

    unclear = comparison_of(fair=[50.0, 60.0, 70.0], auto=[90.0, 30.0, 70.0])
    assert all("auto against" not in note for note in unclear.notes)
    assert len(comparison_of(fair=[50.0, 60.0], other=[30.0, 40.0]).notes) == 0


def test_a_busy_cluster_is_no_reason_for_equal_schedulers():
    spreads = {"idle_share": MeasureSpread.of([0.13, 0.13])}
    equal = comparison_of(a=[30.0, 40.0], b=[30.0, 40.0])
    busy = replace(equal, rows=tuple(replace(row, spreads=spreads) for row in equal.rows))

    assert ("no difference",) == busy.notes


def test_several_seeds_show_their_spread():
    workload = Workload(cluster=None, jobs=tuple(paper_jobs()))
    text = printed(
        comparison_table(compared({"fifo": [stormy_result(1), stormy_result(2)]}, workload))
    )

    assert "±" in text
    assert max(map(len, text.splitlines())) <= 80
