"""The numbers of a chart as tables of the same page."""

import sluice
from sluice.reporting.charts.numbers import ROWS_MAX, numbers_of
from sluice.reporting.charts.theme import titled_tooltip
from sluice.reporting.compare.chart import schedulers_chart


def view(rows, **more):
    tooltip = titled_tooltip({"name": "job", "text": "took"})
    return {"data": {"values": rows}, "encoding": {"tooltip": tooltip}, "mark": "bar", **more}


def test_columns_are_those_of_the_tooltip():
    table = numbers_of(view([{"name": "a", "text": "5 s", "colour": "#123"}], title="Jobs"))

    assert "<caption>Jobs</caption><tr><th>job</th><th>took</th></tr>" in table
    assert "<tr><td>a</td><td>5 s</td></tr>" in table
    assert "#123" not in table


def test_layers_and_stacked_views_have_tables_of_their_own():
    rows = [{"name": "b"}]
    layered = {"title": {"text": "L"}, "layer": [{"mark": "rule"}, view(rows)]}
    table = numbers_of({"vconcat": [view([{"name": "a"}], title="V"), layered]})

    assert ["V", "L"] == [part.split("<")[0] for part in table.split("<caption>")[1:]]
    assert table.index("<td>a</td>") < table.index("<td>b</td>")


def test_hostile_names_are_texts_and_many_rows_are_counted():
    table = numbers_of(view([{"name": "<b>&"}] * (ROWS_MAX + 3)))

    assert "<td>&lt;b&gt;&amp;</td>" in table
    assert ROWS_MAX == table.count("<td>&lt;b")
    assert "and 3 more" in table


def test_a_chart_without_texts_has_none():
    assert "" == numbers_of({"mark": "bar", "data": {"values": [{"a": 1}]}})


def test_the_page_of_a_comparison_has_its_numbers(tmp_path):
    found = sluice.compare("examples/two_pools.yaml", ["fifo", "fair"], seeds=1)
    schedulers_chart(found).save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()

    assert "<summary>The same numbers as tables</summary>" in page
    assert "<caption>Makespan</caption>" in page
    assert "3:30" in page
