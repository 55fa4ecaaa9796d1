"""Tables and charts of an order: large ones are thinned, with a note."""

import random

from rich.console import Console

import sluice
from sluice.planning.ordering.workloads import facebook
from sluice.reporting.order.chart import JOBS_MAX
from sluice.reporting.order.tables import frontier_table, order_panel, order_table


def printed(view, width=80):
    console = Console(width=width, record=True, markup=False, highlight=False, file=None)
    with console.capture() as capture:
        console.print(view)
    return capture.get()


def many(jobs, name="job-{}"):
    """A workload of that many Facebook-like jobs."""
    made = facebook(jobs, random.Random(1))
    text = ", ".join(
        f"{{id: '{name.format(number)}',"
        f" maps: {{tasks: {job.maps[0][0]}, avg_s: {job.maps[0][1]}}},"
        f" reduces: {{tasks: {job.reduces[0][0]}, avg_s: {job.reduces[0][1]}}}}}"
        for number, job in enumerate(made.jobs)
    )
    cluster = "cluster: {map_slots: 57, reduce_slots: 19}"
    return sluice.parse_workload(f"{{version: 1, {cluster}, jobs: [{text}]}}")


def test_a_table_of_many_jobs_fits_and_counts_hidden_rows():
    result = sluice.order(many(70, "[red]a-very-long-name-of-a-job-{}"), method="tct")
    text = printed(order_table(result))

    assert all(len(line) <= 80 for line in text.splitlines())
    assert "and 20 more; --json has all" in text
    assert "[red]" in text


def test_every_phase_of_a_job_is_visible_even_if_it_is_short():
    workload = sluice.parse_workload(
        "{version: 1, cluster: {map_slots: 1, reduce_slots: 1}, jobs: ["
        "{id: long, maps: {tasks: 1, avg_s: 1000}, reduces: {tasks: 1, avg_s: 1}},"
        "{id: tiny, maps: {tasks: 1, avg_s: 0.001}, reduces: {tasks: 1, avg_s: 0.001}},"
        "{id: maps-only, maps: {tasks: 1, avg_s: 1}}]}"
    )
    lines = printed(order_table(sluice.order(workload, method="input"))).splitlines()
    rows = {line.split()[1]: line for line in lines if line.strip()[:1].isdigit()}

    assert "█" in rows["long"]
    assert "█" in rows["tiny"]
    assert "▒" in rows["maps-only"]
    assert "█" not in rows["maps-only"]


def test_a_long_frontier_is_thinned_and_its_ends_are_kept():
    result = sluice.order(many(40), method="sweep", objective="both")
    text = printed(frontier_table(result, points_max=4))

    assert len(result.answer.frontier) > 4
    assert "more; --json has all" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_panel_shows_that_a_measure_is_worse():
    result = sluice.order(many(5), method="reverse")
    text = printed(order_panel(result))

    assert "worse than the file's order" in text or "as in the order of the file" in text
    assert "not proved optimal" in text


def test_a_chart_of_many_jobs_is_thinned_and_says_so():
    spec = sluice.order(many(90), method="tct").plot().spec
    before, after = spec["vconcat"]

    assert before["title"]["text"] == "Order of the file"
    assert after["title"]["text"] == "By tct"
    assert f"{JOBS_MAX} of 90 jobs are shown, picked evenly." in after["title"]["subtitle"]
