"""Tables for people: they fit 80 columns and say what there is to say."""

from dataclasses import replace
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.reporting.run_results import paper_jobs, paper_result, result_of, stormy_result
from tests.runs import map_reduce, totals
from tests.strategies import clusters, job_lists

from sluice.model.workload import Workload
from sluice.reporting.charts.slots_gantt import slots_of
from sluice.reporting.comparison import compared
from sluice.reporting.formatting import duration, shortened, size
from sluice.reporting.idleness import idleness
from sluice.reporting.tables import (
    comparison_table,
    idle_table,
    job_table,
    measured_table,
    summary_panel,
)


def printed(renderable, width=80):
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def late_result():
    """Long ids, long times, deadlines: the widest table there is."""
    jobs = [
        replace(
            map_reduce(
                f"nightly-wordcount-2024-05-1{n}", 30, 5000.0, at_s=n * 40_000.0, pool="analytics"
            ),
            deadline_at_s=90_000.0,
        )
        for n in range(3)
    ]
    return result_of(totals(1, 1), jobs)


def test_a_job_table_fits_eighty_columns_uncut():
    """Where names leave too little room, each row takes two lines, and no name is cut."""
    text = printed(job_table(late_result()))

    assert max(map(len, text.splitlines())) <= 80
    assert 3 == text.count("nightly-wordcount-2024-05-1")
    assert "…" not in text
    assert "done, late" in text


def test_a_wide_terminal_shows_whole_ids():
    assert "nightly-wordcount-2024-05-10" in printed(job_table(late_result()), 120)


def test_the_papers_jobs_read_as_they_ran():
    rows = [line.split() for line in printed(job_table(paper_result())).splitlines()]

    assert ["J2", "p", "0s", "4s", "4s", "8s", "done"] in rows


def test_rows_that_are_left_out_are_counted():
    text = printed(job_table(paper_result(), jobs_max=1))

    assert "and 3 more" in text
    assert "J2" not in text


def test_an_id_is_never_markup():
    text = printed(job_table(result_of(totals(1, 0), [map_reduce("[red]x[/]", 1)])))

    assert "[red]x[/]" in text


def test_the_summary_tells_what_went_wrong():
    text = printed(summary_panel(stormy_result()))

    assert "lost" in text
    assert "failed" in text


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


def idle_rows(result):
    return idleness(result.attempts, slots_of(result), result.started_at_s, result.finished_at_s)


@given(clusters(), job_lists(is_staggered=True))
def test_idle_and_busy_time_make_up_the_run(cluster, jobs):
    """Each slot is either idle or held; nothing is counted twice."""
    result = result_of(cluster, jobs)
    rows = idle_rows(result)
    room_s = sum(row.slots for row in rows) * result.makespan_s
    idle_s = sum(row.idle_s for row in rows)

    assert abs(room_s - idle_s - sum(result.work.busy_s.values())) < 1e-6
    assert all(0 <= row.longest_s <= result.makespan_s + 1e-9 for row in rows)
    assert all(row.longest_s <= row.idle_s + 1e-9 for row in rows)


def test_the_longest_gap_is_told_with_its_slot():
    """The paper's example: the third and fourth reduce slots have nothing to do at the ends."""
    maps, reduces = idle_rows(paper_result())

    assert (8 * 44 - 204, 4 * 44 - 112) == (maps.idle_s, reduces.idle_s)
    assert (20.0, 24.0) == (maps.longest_s, maps.longest_from_s)
    assert "42 %" in printed(idle_table([maps, reduces]))


def test_a_measured_table_tells_the_error():
    assert "+0 %" in printed(measured_table(paper_result().measured()))


@given(st.floats(0, 1e8) | st.floats(0, 100) | st.floats(0.9, 1.1))
def test_durations_never_overflow_their_unit(seconds):
    """No "60 s", no "59 m 60 s": rounding moves on to the next unit."""
    text = duration(seconds)

    assert not text.startswith(("60 s", "60.0", "1000 ms", "60 m", "24 h"))
    assert " 60 " not in text
    assert len(text) <= 11


@given(st.integers(0, 2**59))
def test_sizes_never_overflow_their_unit(count):
    assert not size(count).startswith("1024")


@given(st.text(max_size=50), st.integers(3, 30))
def test_a_shortened_text_has_the_width_and_both_ends(text, width):
    short = shortened(text, width)

    assert len(short) == min(len(text), width)
    assert short == text or (short[0] == text[0] and short[-1] == text[-1])
