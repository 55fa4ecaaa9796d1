"""Charts: they show what happened, thinning is noted, and every chart renders."""

import json
from dataclasses import replace

import pytest
from tests.reporting.run.run_results import paper_jobs, paper_result, result_of, stormy_result
from tests.runs import map_reduce, totals
from tests.skips import required

from sluice.core.transitions import AttemptState
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind
from sluice.reporting.charts import chart as chart_module
from sluice.reporting.charts.chart import MIME_TYPE, VEGALITE_VERSION, Chart
from sluice.reporting.charts.step_counts import INSTANTS_MAX
from sluice.reporting.extras import MissingExtra
from sluice.reporting.run import slot_bars as bars_module
from sluice.reporting.run.chart_kinds import BUILT_IN
from sluice.reporting.run.job_choice import JOBS_MAX
from sluice.reporting.run.slot_bars import LANES_MAX, slot_bars
from sluice.reporting.run.slots_gantt import slots_of


def drawn(result):
    return slot_bars(result.attempts, slots_of(result), result.makespan_s)


def busy_s(drawing):
    return sum(bar.ends_at_s - bar.starts_at_s for bar in drawing.bars)


def test_every_task_is_a_bar_in_its_slot():
    drawing = drawn(paper_result())

    assert (12, 56, ()) == (len(drawing.lanes), len(drawing.bars), drawing.notes)
    assert 204 + 112 == busy_s(drawing)


def test_joining_neighbours_loses_no_busy_time(monkeypatch):
    """Thinned bars cover the same slots for as long, and the chart says that they are joined."""
    monkeypatch.setattr(bars_module, "BARS_MAX", 40)
    drawing = drawn(paper_result())

    assert len(drawing.bars) <= 40
    assert 204 + 112 == pytest.approx(busy_s(drawing))
    assert 56 == sum(bar.attempts for bar in drawing.bars)
    assert "56 attempts drawn as" in drawing.notes[0]


def test_neighbours_are_joined_within_their_slot_only(monkeypatch):
    """One job on four slots is four bars, however many tasks it has."""
    monkeypatch.setattr(bars_module, "BARS_MAX", 10)
    drawing = drawn(result_of(totals(4, 0), [map_reduce("a", 40, 1.0)]))

    assert [(lane, 0.0, 10.0, 10) for lane in range(4)] == [
        (bar.lane, bar.starts_at_s, bar.ends_at_s, bar.attempts) for bar in drawing.bars
    ]


def test_cells_are_the_last_resort_and_never_too_many(monkeypatch):
    monkeypatch.setattr(bars_module, "BARS_MAX", 24)
    result = stormy_result()
    drawing = drawn(result)

    assert len(drawing.bars) <= 24 + len(drawing.lanes)
    assert "shows the job that used it longest" in drawing.notes[0]
    assert {AttemptState.DONE} == {bar.outcome for bar in drawing.bars}


def test_of_too_many_slots_some_are_picked_evenly():
    result = result_of(totals(1000, 10), [map_reduce("a", 1000, 5.0)])
    drawing = drawn(result)

    assert LANES_MAX == len(drawing.lanes) == len(drawing.bars)
    assert {SlotKind.MAP} == {kind for _, kind, _ in drawing.lanes}
    assert (0, 989) == (drawing.lanes[0][2], drawing.lanes[-1][2])
    assert "96 of 1,000 slots are shown" in drawing.notes[0]


def test_bars_in_one_lane_do_not_overlap():
    drawing = drawn(stormy_result(3))
    for left, right in zip(drawing.bars, drawing.bars[1:], strict=False):
        assert left.lane < right.lane or left.ends_at_s <= right.starts_at_s


def test_a_short_task_is_drawn_three_pixels_wide_at_every_zoom():
    """Its data stay true; the width on the screen has a least value."""
    jobs = [map_reduce("long", 1, 10_000.0), map_reduce("short", 1, 0.5)]
    spec = result_of(totals(2, 0), jobs).plot("slots").spec
    short = next(row for row in spec["data"]["values"] if row["job"] == "short")

    assert 500.0 == short["end"] - short["start"]
    assert "0:00 – 0:00.5 (0:00.5)" == short["time"]
    assert {
        "value": {
            "expr": "max(scale('view_1_x', datum['end']), scale('view_1_x', datum['start']) + 3)"
        }
    } == spec["layer"][0]["encoding"]["x2"]


def test_few_jobs_have_a_legend_and_many_do_not():
    few = paper_result().plot("slots").spec
    many = result_of(totals(4, 0), [map_reduce(f"j{n}", 1) for n in range(30)]).plot("slots").spec

    assert ["J1", "J2", "J3", "J4"] == few["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert many["layer"][0]["encoding"]["color"]["legend"] is None
    assert "colours repeat" in many["title"]["subtitle"][0]


def test_of_too_many_jobs_some_are_shown_with_a_note():
    spec = result_of(totals(4, 0), [map_reduce(f"j{n}", 1) for n in range(200)]).plot("jobs").spec

    assert JOBS_MAX == len(spec["layer"][0]["encoding"]["y"]["scale"]["domain"])
    assert f"{JOBS_MAX} of 200 jobs are shown" in spec["title"]["subtitle"][0]


def test_a_missed_deadline_is_marked_red():
    *first, last = paper_jobs()
    spec = result_of(totals(8, 4), [*first, replace(last, deadline_at_s=20.0)]).plot("jobs").spec
    (mark,) = spec["layer"][-1]["layer"][0]["data"]["values"]

    assert ("missed", "J4", 20_000.0) == (mark["met"], mark["job"], mark["at"])


def test_busy_slots_add_up_at_each_instant():
    rows = paper_result().plot("utilisation").spec["layer"][0]["data"]["values"]
    at_zero = {row["what"]: row["count"] for row in rows if row["start"] == 0.0}

    assert {"map slots": 8, "reduce slots": 0} == at_zero
    assert 12 == max(sum(r["count"] for r in rows if r["start"] == s["start"]) for s in rows)


def test_means_keep_the_area_under_the_curve():
    """A thinned curve shows the same busy slot-seconds, and says that it is one of means."""
    result = result_of(
        totals(3, 2), [map_reduce(f"j{n}", 9, 1.7, 2, 2.3) for n in range(99)], jitter=0.3
    )
    spec = result.plot("utilisation").spec
    rows = [row for row in spec["layer"][0]["data"]["values"] if row["what"] == "map slots"]
    width_s = result.makespan_s / (len(rows) - 1)

    assert len(rows) < INSTANTS_MAX
    assert "drawn as means" in spec["title"]["subtitle"][0]
    assert rows[1]["start"] == pytest.approx(1000 * width_s)
    assert sum(row["count"] for row in rows[:-1]) * width_s == pytest.approx(
        result.work.busy_s[SlotKind.MAP]
    )


def test_the_pointer_on_an_area_reads_the_counts_of_that_time():
    """A band for each step, with the counts that are drawn there."""
    *_, bands = paper_result().plot("utilisation").spec["layer"]
    first, *_ = bands["data"]["values"]

    assert ("8", "0") == (first["value 0"], first["value 1"])
    assert ["time", "map slots", "reduce slots"] == [
        one["title"] for one in bands["encoding"]["tooltip"]
    ]


@pytest.mark.parametrize("kind", ["gantt", "slots", "waiting"])
def test_the_overview_counts_the_jobs_in_the_system(kind):
    result = paper_result()
    overview = result.plot(kind).spec["usermeta"]["overview"]
    rows = overview["view"]["data"]["values"]
    first = [job for job in result.jobs if job.submitted_at_s == 0.0]

    assert "zoom_1" == overview["zoom"]
    assert {"start": 0.0, "count": len(first)} == rows[0]
    assert 1000 * result.makespan_s == rows[-1]["start"]


def test_an_odd_id_does_not_break_a_chart():
    """Names go into Vega's expressions, where a quote or a backslash would end a string."""
    required("vl_convert")
    jobs = [map_reduce('a"]\\[0] + "', 2), map_reduce("<b>&amp;</b>", 2), map_reduce("ü☃'", 2)]
    result = result_of(totals(2, 1), jobs)

    assert result.plot("gantt").png().startswith(b"\x89PNG")


ANY_RUN = [kind for kind in BUILT_IN if kind != "utility"]  # drawn in the tests of ras


@pytest.mark.parametrize("kind", ANY_RUN)
def test_every_chart_compiles_without_a_warning(kind, capfd):
    """Vega-Lite drops a channel that it does not know, and only murmurs."""
    vl_convert = required("vl_convert")
    spec = dict(stormy_result().plot(kind).spec)
    vl_convert.vegalite_to_vega(spec, vl_version=VEGALITE_VERSION, show_warnings=True)
    heard = capfd.readouterr()

    assert "" == heard.out + heard.err


@pytest.mark.parametrize("kind", ANY_RUN)
def test_every_chart_can_be_saved_in_every_form(kind, tmp_path):
    required("vl_convert")
    chart = stormy_result().plot(kind)
    for ending, start in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".json", b"{")):
        path = tmp_path / f"chart{ending}"
        chart.save(path)
        assert path.read_bytes().startswith(start)


def test_a_run_without_jobs_still_draws():
    required("vl_convert")
    assert result_of(totals(1, 1), []).plot().png().startswith(b"\x89PNG")


def test_a_page_needs_no_network(tmp_path):
    """Opened from a disk, years later, on a train."""
    required("vl_convert")
    path = tmp_path / "chart.html"
    paper_result().plot().save(path)
    page = path.read_text("utf-8")

    assert "cdn.jsdelivr" not in page.split("</head>", maxsplit=1)[0]
    assert "<script src=" not in page
    assert 'import "http' not in page


def test_a_notebook_gets_the_specification_and_a_picture():
    required("vl_convert")
    bundle = paper_result().plot("jobs")._repr_mimebundle_()

    assert "vega-lite/v5" in bundle[MIME_TYPE]["$schema"]
    assert "data:image/png;base64," in bundle["text/html"]


def test_without_vl_convert_the_extra_is_named(monkeypatch, tmp_path):
    """JSON needs no renderer; a notebook still shows the specification."""

    def missing(module, *, extra, what):
        raise MissingExtra(f'pip install "sluice[{extra}]"')

    monkeypatch.setattr(chart_module, "required", missing)
    chart = paper_result().plot()
    chart.save(tmp_path / "chart.json")

    assert json.loads((tmp_path / "chart.json").read_text()) == chart.spec
    assert "sluice[plot]" in chart._repr_mimebundle_()["text/html"]
    with pytest.raises(MissingExtra, match="plot"):
        chart.save(tmp_path / "chart.png")


@pytest.mark.parametrize("name", ["chart.gif", "chart", "no/such/folder.json"])
def test_a_name_that_cannot_be_written_is_refused(name, tmp_path):
    with pytest.raises(InvalidInput, match=r"chart|folder"):
        Chart({}).save(tmp_path / name)
