"""Charts in a real browser: zoom, pan, follow a job, pick from the legend; narrow, wide and dark.

One page is loaded once for many checks, because a browser is slow to start. With
SLUICE_TEST_SCREENSHOTS=FOLDER, pictures of the pages are written there.
"""

import json
import os
import re
from pathlib import Path

import pytest
from tests.browser import browser
from tests.cli.terminal import sluice
from tests.skips import required

pytestmark = pytest.mark.slow

WORKLOAD = {
    "version": 1,
    "cluster": {"map_slots": 6, "reduce_slots": 3},
    "jobs": [
        {
            "id": f"job-{n}",
            "submitted_at_s": 10 * n,
            "deadline_s": 200,
            "maps": {"tasks": 10 + 3 * n, "avg_s": 12},
            "reduces": {"tasks": 3, "avg_s": 9},
        }
        for n in range(6)
    ],
}
DRAWN = "document.querySelector('#chart').dataset.drawn"
DOMAIN = "document.querySelector('#chart').view.scale('{view}_x').domain().map(one => +one)"
# Bars of the first view by job: how opaque each is.
OPACITY = """(() => {
    const bars = [...document.querySelectorAll('#chart svg .mark-rect path')]
        .filter(path => path.__data__ && path.__data__.datum && path.__data__.datum.job);
    const found = {};
    for (const path of bars) {
        const job = path.__data__.datum.job;
        found[job] = Math.min(found[job] ?? 1, Number(path.getAttribute('fill-opacity') ?? 1));
    }
    return found;
})()"""
BAR_OF = """(() => {
    const bar = [...document.querySelectorAll('#chart svg .mark-rect path')].find(path =>
        path.__data__ && path.__data__.datum && path.__data__.datum.job === 'JOB'
        && path.getBoundingClientRect().width > 6);
    const box = bar.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
ENTRY_OF = """(() => {
    const entry = [...document.querySelectorAll('#chart svg .role-legend-label text')]
        .find(text => text.textContent === 'NAME');
    const box = entry.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
OVERVIEW = """(() => {
    const place = document.querySelector('.overview');
    const box = place.querySelector('.background').getBoundingClientRect();
    return [box.x, box.y, box.width, box.height];
})()"""
BRUSH = "document.querySelector('.overview .brush_brush path').getBoundingClientRect()"
BRUSHED = "document.querySelector('.overview').view.signal('brush_x')"
# The first band of the busy slots, which has the values under the pointer.
READING = """(() => {
    const bands = [...document.querySelectorAll('#chart path[fill="transparent"]')];
    const box = bands.find(path => path.__data__.datum['value 1'] !== undefined)
        .getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
PLOT_WIDTH = "document.querySelector('#chart svg').getBoundingClientRect().width"


@pytest.fixture(scope="module")
def chromium():
    with browser() as open_browser:
        yield open_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    required("vl_convert")
    folder = tmp_path_factory.mktemp("charts")
    (folder / "night.json").write_text(json.dumps(WORKLOAD))
    answer = sluice("simulate", folder / "night.json", "--plot", folder / "run.html")
    assert 0 == answer.code, answer.err
    return folder / "run.html"


def keep(chromium, name):
    if folder := os.environ.get("SLUICE_TEST_SCREENSHOTS"):
        Path(folder, f"{name}.png").write_bytes(chromium.screenshot(whole=True))


def domain(chromium, view):
    return chromium.value(DOMAIN.format(view=view))


def opened(chromium, page, width=1000):
    chromium.open(page)
    chromium.prefer("light")
    chromium.resize(width)
    chromium.wait_for(f"Number({DRAWN}) > 0")


def test_a_reader_zooms_pans_follows_and_picks(chromium, page):
    opened(chromium, page)
    keep(chromium, "run-1000")
    whole = domain(chromium, "view_1")
    at = chromium.value(BAR_OF.replace("JOB", "job-3"))

    # The views have one axis of time, and zoom together.
    chromium.wheel(*at, -400)
    chromium.wait_for(f"{DOMAIN.format(view='view_1')}[1] < {whole[1]}")
    near = domain(chromium, "view_1")
    assert near == domain(chromium, "view_2") == domain(chromium, "view_4")
    assert near[1] - near[0] < 0.8 * (whole[1] - whole[0])
    chromium.drag((at[0], at[1]), (at[0] + 60, at[1]))
    chromium.wait_for(f"{DOMAIN.format(view='view_1')}[0] < {near[0]}")
    panned = domain(chromium, "view_1")
    assert panned[1] - panned[0] == pytest.approx(near[1] - near[0])

    # The pointer on a bar fades the other jobs in every view.
    chromium.point_at(*chromium.value(BAR_OF.replace("JOB", "job-3")))
    chromium.wait_for(f"{OPACITY}['job-1'] < 0.5")
    opacity = chromium.value(OPACITY)
    assert 1 == opacity["job-3"]
    assert all(one < 0.5 for job, one in opacity.items() if job != "job-3"), opacity
    chromium.wait_for("document.querySelector('.vg-tooltip.visible') !== null")
    assert "job-3" in chromium.value("document.querySelector('.vg-tooltip').textContent")
    keep(chromium, "run-followed")

    # A click on the legend picks.
    chromium.click(*chromium.value(ENTRY_OF.replace("NAME", "job-2")))
    chromium.point_at(2, 2)
    chromium.wait_for(f"{OPACITY}['job-4'] < 0.5 && {OPACITY}['job-2'] === 1")
    keep(chromium, "run-picked")
    assert [] == [text for text in chromium.console if "uses Vega" not in text]


def test_the_overview_sets_the_window_of_time_and_follows_it(chromium, page):
    opened(chromium, page)
    whole = domain(chromium, "view_1")
    left, top, width, height = chromium.value(OVERVIEW)
    middle = top + height / 2

    # The brush chooses the middle half.
    chromium.drag((left + width / 4, middle), (left + 3 * width / 4, middle))
    chromium.wait_for(f"{DOMAIN.format(view='view_1')}[0] > 0")
    chosen = domain(chromium, "view_1")
    quarter = (whole[1] - whole[0]) / 4
    assert chosen == pytest.approx([quarter, 3 * quarter], rel=0.03)
    assert chosen == domain(chromium, "view_4")

    # Dragged to the right, it shows a later time of the same length.
    chromium.wait_for(f"{BRUSH}.width > {0.45 * width}")
    chromium.drag((left + width / 2, middle), (left + 0.6 * width, middle))
    chromium.wait_for(f"{DOMAIN.format(view='view_1')}[0] > {chosen[0]}")
    later = domain(chromium, "view_1")
    assert later[1] - later[0] == pytest.approx(chosen[1] - chosen[0])

    # The wheel over the chart moves the edges of the brush, and a double-click removes it.
    edges = chromium.value(BRUSHED)
    at = chromium.value(BAR_OF.replace("JOB", "job-5"))
    chromium.wheel(*at, -400)
    chromium.wait_for(f"{BRUSHED}[1] - {BRUSHED}[0] < {edges[1] - edges[0]}")
    chromium.click(*at, times=2)
    chromium.wait_for(f"{BRUSHED}[1] === {BRUSHED}[0]")
    assert whole == domain(chromium, "view_1")
    assert [] == [text for text in chromium.console if "uses Vega" not in text]


def test_an_area_shows_its_counts_under_the_pointer(chromium, page):
    opened(chromium, page)
    chromium.point_at(*chromium.value(READING))
    chromium.wait_for("document.querySelector('.vg-tooltip.visible') !== null")
    rows = chromium.value(
        "[...document.querySelectorAll('.vg-tooltip tr')].map(row => row.textContent.trim())"
    )

    at, *counts = rows
    assert at.startswith("time0:00 – "), at
    assert ["map slots6", "reduce slots0"] == counts


def test_a_chart_fits_a_phone_and_a_wide_screen(chromium, page):
    opened(chromium, page, 390)
    chromium.wait_for(f"{PLOT_WIDTH} < 390")
    keep(chromium, "run-390")

    assert chromium.value(OVERFLOW) <= 0
    assert chromium.value(PLOT_WIDTH) > 330
    texts = chromium.value(
        "[...document.querySelectorAll('#chart svg text')]"
        ".map(one => one.getBoundingClientRect().right)"
    )
    assert max(texts) <= 390

    chromium.resize(1920)
    chromium.wait_for(f"{PLOT_WIDTH} > 1700")
    keep(chromium, "run-1920")
    assert chromium.value(OVERFLOW) <= 0


def test_a_chart_is_dark_where_the_user_prefers_it(chromium, page):
    opened(chromium, page)
    background = "getComputedStyle(document.body).backgroundColor"
    paper = "getComputedStyle(document.querySelector('#chart svg')).backgroundColor"
    light = chromium.value(background), chromium.value(paper)
    chromium.prefer("dark")
    chromium.wait_for(f"{paper} !== '{light[1]}'")
    keep(chromium, "run-dark")

    assert ("rgb(255, 255, 255)", "rgb(255, 255, 255)") == light
    assert ("rgb(13, 17, 23)", "rgb(13, 17, 23)") == (
        chromium.value(background), chromium.value(paper)
    )  # fmt: skip


def test_a_page_says_where_its_chart_comes_from(chromium, page):
    opened(chromium, page)
    footer = chromium.value("document.querySelector('footer').textContent")

    assert "sluice simulate night.json --plot run.html" in footer
    assert "night.json sha256:" in footer
    assert "seed 0" in footer
    assert "result sha256:" in footer
    assert str(page.parent) not in footer


def test_times_are_written_as_a_clock_shows_them(chromium, page):
    opened(chromium, page)
    labels = chromium.value(
        "[...document.querySelectorAll('#chart svg .role-axis-label text')]"
        ".map(one => one.textContent)"
    )

    assert {"0:30", "1:00"} <= set(labels)


def test_waits_that_are_all_zero_have_an_axis_of_seconds(chromium, tmp_path):
    jobs = [{"id": name, "maps": {"tasks": 2, "avg_s": 10}} for name in ("a", "b")]
    workload = {"version": 1, "cluster": {"map_slots": 4, "reduce_slots": 1}, "jobs": jobs}
    path = tmp_path / "idle.json"
    path.write_text(json.dumps(workload))
    answer = sluice("compare", path, "--plot", tmp_path / "compare.html")
    assert 0 == answer.code, answer.err
    opened(chromium, tmp_path / "compare.html")
    labels = chromium.value(
        "[...document.querySelectorAll('#chart svg .role-axis-label text')]"
        ".map(one => one.textContent)"
    )

    assert 5 == labels.count("0:00"), "waits, the same waits, and three bars"
    assert not [label for label in labels if label.startswith("0:00.")]


def test_an_axis_of_a_few_seconds_has_ticks_of_parts_of_seconds(chromium, tmp_path):
    """Vega drew the last tick of each second only: 0.8, 1.8 and 2.2 s of an axis of 2.3 s."""
    jobs = [{"id": "a", "maps": {"tasks": 4, "avg_s": 2.3}}]
    workload = {"version": 1, "cluster": {"map_slots": 4, "reduce_slots": 1}, "jobs": jobs}
    path = tmp_path / "short.json"
    path.write_text(json.dumps(workload))
    answer = sluice("simulate", path, "--plot", tmp_path / "short.html")
    assert 0 == answer.code, answer.err
    opened(chromium, tmp_path / "short.html")
    labels = chromium.value(
        "[...document.querySelector('#chart svg .role-axis-label').querySelectorAll('text')]"
        ".map(one => one.textContent)"
    )

    assert ["0:00", "0:00.500", "0:01", "0:01.500", "0:02"] == labels


def test_long_names_differ_also_in_a_narrow_window(chromium, tmp_path):
    """Their ends were cut, so all of them were called `nightly-a…ion-00…`."""
    jobs = [
        {"id": f"nightly-aggregation-00{number}", "maps": {"tasks": 2, "avg_s": 60}}
        for number in (17, 18, 19)
    ]
    workload = {"version": 1, "cluster": {"map_slots": 4, "reduce_slots": 1}, "jobs": jobs}
    path = tmp_path / "names.json"
    path.write_text(json.dumps(workload))
    answer = sluice("simulate", path, "--plot", tmp_path / "names.html")
    assert 0 == answer.code, answer.err
    opened(chromium, tmp_path / "names.html", 390)
    chromium.wait_for(f"{PLOT_WIDTH} <= 390")
    assert chromium.value(OVERFLOW) <= 0
    for kind in ("axis", "legend"):
        shown = chromium.value(
            f"[...document.querySelectorAll('#chart svg .role-{kind}-label text')]"
            ".map(one => one.textContent).filter(text => text.includes('…'))"
        )

        assert 3 == len(set(shown)) == len(shown), (kind, shown)
        assert {"17", "18", "19"} == {text[-2:] for text in shown}


def test_a_report_scrolls_by_the_wheel_and_zooms_with_ctrl(chromium, tmp_path):
    required("vl_convert")
    hostile = "</script><img src=x onerror=document.title='RUN'>"
    workload = json.dumps(WORKLOAD).replace("job-", hostile)
    (tmp_path / "night.json").write_text(workload)
    said = sluice("simulate", tmp_path / "night.json", "--json")
    (tmp_path / "result.json").write_text(said.out)
    answer = sluice("report", tmp_path / "result.json", "-o", tmp_path / "report.html")
    assert 0 == answer.code, answer.err
    opened(chromium, tmp_path / "report.html", 390)
    chromium.wait_for(f"{PLOT_WIDTH} < 390")
    keep(chromium, "report-390")

    assert "sluice simulate night.json" == chromium.value("document.title")
    assert chromium.value(OVERFLOW) <= 0
    assert 0 == chromium.value("document.querySelectorAll('img').length")
    assert hostile in chromium.value("document.querySelector('table:not(.figures)').textContent")

    chromium.resize(1000)
    chromium.wait_for(f"{PLOT_WIDTH} > 800")
    whole = domain(chromium, "view_1")
    at = chromium.value(
        "(() => { const box = document.querySelector('#chart svg').getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + 150]; })()"
    )
    chromium.wheel(*at, 300)
    chromium.wait_for("window.scrollY > 0")
    assert whole == domain(chromium, "view_1")
    chromium.value("window.scrollTo(0, 0)")
    chromium.wheel(*at, -300, ctrl=True)
    chromium.wait_for(f"{DOMAIN.format(view='view_1')}[1] < {whole[1]}")
    assert [] == [text for text in chromium.console if "uses Vega" not in text]


HALVES, ORIGINAL = (f"queues/{name}.xml" for name in ("halves", "capacity-scheduler"))
ANSWERS = {
    "explain": ["nightly/application_1762131600_0001.gz"],
    "fairness": ["--file", "tenants.yaml", "--tasks", "ltrf"],
    "order": ["workflow.yaml"],
    "share": ["members.yaml"],
    "simulate": ["resources.yaml", "--tasks", "ras"],
    "size": ["two_pools.yaml", "--deadline-s", "5m"],
    "pools": ["vm-pools.yaml"],
    "capacity": ["deadlines.yaml"],
    "plan": ["budget.yaml"],
    "compare": ["two_pools.yaml", "--schedulers", "fifo,fair"],
    "whatif": ["--file", "two_pools.yaml", "--config", HALVES, "--against", ORIGINAL],
}
# Pairs of a label and a bar that it crosses; numbers within bars and texts of axes are no labels.
CROSSED = """(() => {
    const boxes = (kind) => [...document.querySelectorAll(`#chart svg ${kind}`)]
        .map(one => [one, one.getBoundingClientRect()]).filter(([_, box]) => box.width > 2);
    const bars = boxes('.mark-rect path')
        .filter(([bar]) => bar.getAttribute('fill') !== 'transparent');
    return boxes('.mark-text text').flatMap(([label, text]) => bars
        .filter(([_, bar]) => Math.min(bar.right, text.right) - Math.max(bar.left, text.left) > 1
            && Math.min(bar.bottom, text.bottom) - Math.max(bar.top, text.top) > 3)
        .map(() => label.textContent));
})()"""
# Texts of which an edge of their plot cuts a part off.
CUT = """[...document.querySelectorAll('#chart svg .mark-text text')]
    .filter(text => text.closest('[clip-path]'))
    .filter(text => {
        const plot = text.closest('.mark-group').querySelector('path.background');
        const [shown, box] = [plot, text].map(one => one.getBoundingClientRect());
        return box.left < shown.left - 1 || box.right > shown.right + 1;
    }).map(text => text.textContent)"""
# Neighbours on an axis of numbers with less than 3 pixels between them.
TOUCHING = """[...document.querySelectorAll('#chart svg .role-axis-label')].flatMap(labels => {
    const boxes = [...labels.querySelectorAll('text')]
        .filter(text => text.textContent && text.getAttribute('opacity') !== '0')
        .map(text => [text.textContent, text.getBoundingClientRect()])
        .sort((one, other) => one[1].left - other[1].left);
    return boxes.slice(1).map(([text, box], place) => [boxes[place], text, box])
        .filter(([[_, left], text, box]) => Math.abs(left.top - box.top) < 2
            && box.left - left.right < 3)
        .map(([[before], text]) => `${before} ${text}`);
})"""


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", sorted(ANSWERS))
def test_charts_of_other_kinds_fit_in_both_modes(kind, chromium, tmp_path, request, monkeypatch):
    """No text is cut or crosses a bar, and nothing is wider than the window, however wide it is."""
    monkeypatch.chdir(request.config.rootpath / "examples")
    plot = f"{'utility,slots=' if kind == 'simulate' else ''}{tmp_path / kind}.html"
    answer = sluice(kind, *ANSWERS[kind], "--plot", plot)
    assert 0 == answer.code, answer.err
    for width, scheme in ((390, "dark"), (1920, "light")):
        opened(chromium, tmp_path / f"{kind}.html", width)
        chromium.prefer(scheme)
        chromium.wait_for(f"{PLOT_WIDTH} <= {width} && {PLOT_WIDTH} > {width - 160}")
        keep(chromium, f"{kind}-{width}-{scheme}")
        edges = chromium.value(
            "[...document.querySelectorAll('#chart svg text')]"
            ".map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
        )

        assert chromium.value(OVERFLOW) <= 0
        assert 0 <= min(left for left, _ in edges)
        assert max(right for _, right in edges) <= width
        assert "pools" == kind or [] == chromium.value(CROSSED)
        assert [] == chromium.value(CUT)
        assert [] == chromium.value(TOUCHING)
        assert chromium.value("document.querySelectorAll('table td').length") > 0
        assert [] == [text for text in chromium.console if "uses Vega" not in text]


STAGES = (
    "[...document.querySelectorAll('#chart svg .role-axis-label text')]"
    ".map(one => one.textContent).filter(text => text.startsWith('stage '))"
)


@pytest.mark.parametrize(
    ("verb", "label"), [("explain", r"stage \d+: [a-z]+( at)?…"), ("simulate", r"stage \d+")]
)
def test_stages_of_spark_are_named_and_labelled_in_full(
    verb, label, chromium, tmp_path, request, monkeypatch
):
    """A name lost its middle, and Vega cut the rest: `stage 19:…known…`."""
    required("zstandard")
    monkeypatch.chdir(request.config.rootpath / "tests/data/logs/spark")
    log = ["--from-log"] if verb == "simulate" else []
    answer = sluice(verb, *log, "nds_q72_dataproc_2_2.zstd", "--plot", tmp_path / "page.html")
    assert 0 == answer.code, answer.err
    for width in (390, 1280):
        opened(chromium, tmp_path / "page.html", width)
        chromium.wait_for(f"{PLOT_WIDTH} <= {width} && {PLOT_WIDTH} > {width - 160}")
        keep(chromium, f"stages-{verb}-{width}")
        names = chromium.value(STAGES)

        assert 20 < len(names) == len({*names})
        assert [] == [name for name in names if not re.fullmatch(label, name)]
        assert [] == chromium.value(CUT)
