"""Charts with hostile names, opened in a real browser: no name is run, and every chart is drawn."""

import json
import os
from pathlib import Path

import pytest
from defusedxml.ElementTree import parse  # type: ignore[import-untyped]  # it has no types
from tests.browser import browser
from tests.cli.terminal import sluice
from tests.estimate.made_runs import MachineModel, draws, settings
from tests.skips import required

from sluice.reporting.charts.chart import Chart
from sluice.reporting.compare.chart import schedulers_chart
from sluice.reporting.compare.result import ComparedScheduler, MeasureSpread, SchedulerComparison
from sluice.store.profiles import Profiles

pytestmark = pytest.mark.slow

RUN = "document.title='RUN'"
SHORT = "<b>&amp;</b>"  # shown in full in every label
NAMES = (
    SHORT,
    f"</script><script>{RUN}</script>",
    f"<!--<script>{RUN}",
    f'<img src=x onerror="{RUN}">',
    f"<svg onload={RUN}>",
    f'"];{RUN};["',
    f"'+({RUN})+'",
    f"\\'];{RUN}//",
    f"javascript:{RUN}",
    "datum.label",
    "datum['job']",
    "a.b[0]\\",
    "constructor",
    "__proto__",
    "日本 ü☃",
)
# A workload file cannot have these names, but an imported log can.
UNPRINTABLE = ("two\nlines", "\u2028\u2029", "\x1b[31mred")
PHASES = {"maps": {"tasks": 8, "avg_s": 10}, "reduces": {"tasks": 2, "avg_s": 5}}
MARKS = "document.querySelectorAll('#chart svg .mark-rect path, #chart svg .mark-symbol path')"
CENTRE = f"""(() => {{
    const box = [...{MARKS}].map(one => one.getBoundingClientRect()).find(box => box.width > 3);
    return [box.x + box.width / 2, box.y + box.height / 2];
}})()"""


def text(workload):
    """The workload as a file. It is JSON, so a name needs no quoting of ours."""
    return json.dumps({"version": 1, **workload})


def jobs(**more):
    return text(
        {
            "cluster": {"map_slots": 8, "reduce_slots": 4},
            "jobs": [{"id": name, **PHASES, **more} for name in NAMES],
        }
    )


def planned():
    return text(
        {
            "cluster": {"map_slots_per_vm": 2, "reduce_slots_per_vm": 2},
            "prices": {"vm_hour_usd": 1.0},
            "jobs": [{"id": name, **PHASES} for name in NAMES[:4]],
        }
    )


def classes():
    return text(
        {
            "prices": {"on_demand_vm_usd": 20, "reserved_vm_usd": 8, "reserved_vms": 13},
            "classes": [
                {"id": name, "penalty_usd": 30, "jobs_min": 1, "jobs_max": 9, "vms_per_job": 2}
                for name in NAMES
            ],
        }
    )


def history():
    here, rng = settings(slots=(1, 2), sizes_mb=(40,)), draws(1)
    with Profiles.open() as profiles:
        for name in (*NAMES, *UNPRINTABLE):
            profiles.add(MachineModel(noise=0.1).runs(here, rng, profile=name))


@pytest.fixture(scope="module")
def chromium():
    with browser() as open_browser:
        yield open_browser


def assert_harmless(chromium, page, label=SHORT):
    """The chart is drawn, the label is text in it, and nothing ran, failed or was loaded."""
    chromium.open(page)
    chromium.wait_for(f"{MARKS}.length > 0")
    chromium.point_at(*chromium.value(CENTRE))
    if folder := os.environ.get("SLUICE_TEST_SCREENSHOTS"):
        Path(folder, f"{page.stem}.png").write_bytes(chromium.screenshot())

    assert "RUN" != chromium.value("document.title")
    assert 3 == chromium.value("document.scripts.length")
    assert 0 == chromium.value("document.querySelectorAll('img, #chart b').length")
    assert label in chromium.value("document.querySelector('#chart svg').textContent")
    assert [page.resolve().as_uri()] == chromium.requests
    assert [] == [said for said in chromium.console if "The compiled spec uses Vega" not in said]


@pytest.mark.parametrize(
    ("words", "workload"),
    [
        (["simulate"], jobs),
        (["order", "--method", "input"], jobs),
        (["plan"], planned),
        (["capacity"], classes),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_a_hostile_name_is_not_run(words, workload, chromium, tmp_path):
    required("vl_convert")
    file, page = tmp_path / "hostile.json", tmp_path / f"{words[0]}.html"
    file.write_text(workload())
    answer = sluice(*words, file, "--plot", page)

    assert 0 == answer.code, answer.err
    # A plan's chart shows job names in tooltips only.
    assert_harmless(chromium, page, label="knee" if words == ["plan"] else SHORT)


def test_a_hostile_profile_is_not_run(chromium, tmp_path):
    required("vl_convert")
    history()
    page = tmp_path / "calibrate.html"
    answer = sluice("calibrate", "--plot", page)

    assert 0 == answer.code, answer.err
    assert_harmless(chromium, page, label="Predicted against actual")


def test_a_hostile_scheduler_is_not_run(chromium, tmp_path):
    required("vl_convert")
    rows = tuple(
        ComparedScheduler(
            scheduler=name,
            runs=2,
            spreads=dict.fromkeys(
                ("makespan_s", "mean_response_s", "cost_usd"), MeasureSpread.of([1.0, 2.0])
            )
            | {"deadlines_met": None},
        )
        for name in (*NAMES, *UNPRINTABLE)
    )
    page = tmp_path / "compare.html"
    schedulers_chart(SchedulerComparison(rows=rows, deadlines=0)).save(page)

    assert_harmless(chromium, page)


def test_a_comparison_and_a_reproduction_are_drawn(chromium, tmp_path):
    required("vl_convert")
    file, folder = tmp_path / "w.json", tmp_path / "figures"
    file.write_text(jobs())
    compared = sluice("compare", file, "--seeds", "1", "--plot", tmp_path / "compare.html")
    words = [
        "reproduce",
        "ordering",
        "--experiment",
        "order-matters",
        "--seeds",
        "1",
        "--out",
        folder,
    ]
    reproduced = sluice(*words)

    assert (0, 0) == (compared.code, reproduced.code), (compared.err, reproduced.err)
    assert_harmless(chromium, tmp_path / "compare.html", label="fifo")
    for page in folder.glob("*.html"):
        assert_harmless(chromium, page, label="")


def test_a_hostile_title_and_tooltip_are_text(chromium, tmp_path):
    required("vl_convert")
    name = NAMES[1]
    page = tmp_path / "title.html"
    Chart(
        {
            "title": name,
            "data": {"values": [{"x": 1, "name": name}]},
            "mark": "bar",
            "encoding": {
                "x": {"field": "x", "type": "quantitative"},
                "y": {"field": "name", "type": "nominal", "axis": {"labelLimit": 0}},
                "tooltip": {"field": "name", "type": "nominal"},
            },
        }
    ).save(page)

    assert_harmless(chromium, page, label=name)
    assert name == chromium.value("document.title")
    chromium.wait_for("document.querySelector('.vg-tooltip.visible') !== null")
    assert name in chromium.value("document.querySelector('.vg-tooltip').textContent")


def test_a_page_that_tries_to_run_more_is_stopped(chromium, tmp_path):
    """The policy holds by itself, for a hole that this list of names does not find."""
    required("vl_convert")
    page = tmp_path / "injected.html"
    drawn = {"x": {"field": "x", "type": "quantitative"}}
    Chart({"mark": "bar", "data": {"values": [{"x": 1}]}, "encoding": drawn}).save(page)
    injected = f"<script>{RUN}</script><img src=x onerror={RUN}>"
    # Not with `replace`: the library holds the end of a page too, as text.
    head, end, tail = page.read_text("utf-8").rpartition("</body>")
    page.write_text(f"{head}{injected}{end}{tail}", "utf-8")
    chromium.open(page)
    chromium.wait_for(f"{MARKS}.length > 0")

    assert "RUN" != chromium.value("document.title")
    assert any("Content Security Policy" in said for said in chromium.console)


def test_a_picture_with_hostile_names_is_well_formed(tmp_path):
    required("vl_convert")
    file, picture = tmp_path / "hostile.json", tmp_path / "hostile.svg"
    file.write_text(jobs())
    answer = sluice("simulate", file, "--plot", picture)

    assert 0 == answer.code, answer.err
    drawn = parse(picture)
    names = {one.tag.rpartition("}")[2] for one in drawn.iter()}
    assert not names & {"script", "img", "foreignObject", "b"}
    assert SHORT in "".join(drawn.getroot().itertext())
