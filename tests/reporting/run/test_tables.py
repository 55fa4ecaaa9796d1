"""The tables of a run fit 80 columns, and show what matters."""

from dataclasses import replace

from hypothesis import given
from tests.reporting.run.run_results import paper_result, printed, result_of, stormy_result
from tests.runs import map_reduce, totals
from tests.strategies import clusters, job_lists

from sluice.reporting.run.idleness import idleness
from sluice.reporting.run.slots_gantt import slots_of
from sluice.reporting.run.tables import (
    idle_table,
    job_table,
    measured_table,
    run_sentence,
    summary_panel,
)


def late_result():
    """Long ids, long times, deadlines: the widest table."""
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
    """If names leave too little room, each row takes two lines, and no name is cut."""
    text = printed(job_table(late_result()))

    assert max(map(len, text.splitlines())) <= 80
    assert 3 == text.count("nightly-wordcount-2024-05-1")
    assert "…" not in text
    assert "done, late" in text


def test_a_long_pool_leaves_room_for_the_figures():
    job = replace(map_reduce("load", 30, 5000.0, pool="warehouse-" * 9), deadline_at_s=90_000.0)
    rows = printed(job_table(result_of(totals(1, 1), [job]))).splitlines()
    (row,) = (row for row in rows if "warehouse-wa…" in row)

    assert max(map(len, rows)) <= 80
    assert row.split()[-2:] == ["done,", "late"]
    assert row.count("…") == 1


def test_a_wide_terminal_shows_whole_ids():
    assert "nightly-wordcount-2024-05-10" in printed(job_table(late_result()), 120)


def test_the_papers_jobs_read_as_they_ran():
    rows = [line.split() for line in printed(job_table(paper_result())).splitlines()]

    assert ["J2", "p", "0s", "4s", "4s", "8s", "done"] in rows


def test_the_sentence_names_what_is_late():
    deadlines = {"a": 20.0, "b": 20.0, "c": None}
    jobs = [
        replace(map_reduce(name, 1, 15.0), deadline_at_s=at_s) for name, at_s in deadlines.items()
    ]

    late = run_sentence(result_of(totals(1, 1), jobs))
    assert late == "All 3 jobs are done after 45 s; 1 of 2 deadlines met, late: b."
    met = run_sentence(result_of(totals(2, 1), jobs[:2]))
    assert met == "All 2 jobs are done after 15 s; every deadline is met."
    assert run_sentence(result_of(totals(1, 1), jobs[2:])) == "c is done after 15 s."


def test_the_sentence_names_what_is_not_done():
    result = paper_result()
    states = ("done", "failed", "refused", "failed")
    jobs = [replace(job, state=one) for job, one in zip(result.jobs, states, strict=True)]

    assert run_sentence(replace(result, jobs=tuple(jobs))) == (
        "1 of 4 jobs is done after 44 s; failed: J2 and J4; refused: J3."
    )


def test_rows_that_are_left_out_are_counted():
    text = printed(job_table(paper_result(), jobs_max=1))

    assert "and 3 more" in text
    assert "J2" not in text


def test_an_id_is_never_markup():
    text = printed(job_table(result_of(totals(1, 0), [map_reduce("[red]x[/]", 1)])))

    assert "[red]x[/]" in text


def test_the_summary_shows_what_went_wrong():
    text = printed(summary_panel(stormy_result()))

    assert "lost" in text
    assert "failed" in text


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


def test_the_longest_gap_is_shown_with_its_slot():
    """The paper's example: the third and fourth reduce slots have nothing to do at the ends."""
    maps, reduces = idle_rows(paper_result())

    assert (8 * 44 - 204, 4 * 44 - 112) == (maps.idle_s, reduces.idle_s)
    assert (20.0, 24.0) == (maps.longest_s, maps.longest_from_s)
    assert "42 %" in printed(idle_table([maps, reduces]))


def test_a_measured_table_shows_the_error():
    assert "+0 %" in printed(measured_table(paper_result().measured()))
