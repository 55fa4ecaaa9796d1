"""Without a terminal, long commands print a line on stderr now and then."""

import re

import pytest
from tests.cli.terminal import SMALL, sluice

from sluice.cli import live, progress
from sluice.cli.progress import Steps, steps
from sluice.engines.progress import Progress


@pytest.fixture
def _often(monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.001)


@pytest.fixture
def _at_once(monkeypatch):
    """The first line comes at the start: a quick step on a busy machine has one too."""
    print_lines = progress._print_lines

    def at_once(shown, what, ended):
        progress.talk(shown.line())
        print_lines(shown, what, ended)

    monkeypatch.setattr(progress, "_print_lines", at_once)


@pytest.mark.usefixtures("_often")
def test_lines_name_the_share_the_time_left_and_the_step(capsys):
    with steps("importing") as shown:
        shown.on_progress("big.json")
        shown.on_fraction(0.25)
        printed = ""
        while "25 %" not in printed:
            printed += capsys.readouterr().err
    assert printed.splitlines()[-1].startswith("importing: 25 %, about ")
    assert printed.splitlines()[-1].endswith(" left, big.json")


@pytest.mark.usefixtures("_often")
def test_compare_prints_its_progress_without_a_terminal(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    answer = sluice("compare", path, "--seeds", "30", "--json")

    assert "simulating 2 schedulers, 30 seeds each: " in answer.err
    assert answer.code == 0


def test_short_commands_print_no_progress(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)

    assert "simulating" not in sluice("compare", path, "--seeds", "2", "--json").err


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["simulate"], "simulating: "),
        (["why", "words", "--file"], "explaining: "),
        (["story", "words", "--file"], "explaining: "),
        (["order", "--method", "search", "--evaluations", "500"], "searching for an order: "),
        (["simulate", "--plot", "a.json"], "drawing a chart: "),
    ],
)
def test_every_command_that_can_take_long_shows_that_it_goes_on(words, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = [
        f"  - {{id: j{n}, maps: {{tasks: {n}, avg_s: 3}}, reduces: {{tasks: 1, avg_s: {n}}}}}\n"
        for n in range(1, 31)
    ]
    (tmp_path / "long.yaml").write_text(SMALL.replace("tasks: 8", "tasks: 800") + "".join(more))

    answer = sluice(*words, "long.yaml")

    assert line in answer.err
    assert " so far" in answer.err
    assert 0 == answer.code


@pytest.mark.parametrize(
    ("fraction", "took_s", "left"),
    [
        (0.02, 15, None),  # most of it was the start: 12 m 15 s would frighten without need
        (0.02, 60, "49 m 00 s"),
        (0.05, 5, "1 m 35 s"),
    ],
)
def test_no_time_left_is_guessed_from_little(fraction, took_s, left, monkeypatch):
    clock = iter([0.0, took_s])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    shown = Steps("racing")
    shown.on_fraction(fraction)

    found = re.fullmatch(r"[\d.]+ %(?:, about (.*) left)?", shown.state())

    assert found is not None
    assert left == found[1]


def test_the_time_left_goes_by_the_time_since_the_work_began(monkeypatch):
    """A share of 0 says that all is loaded and read."""
    clock = iter([0.0, 30.0, 40.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    shown = Steps("racing")
    shown.on_fraction(0.0)
    shown.on_fraction(0.5)

    assert "50 %, about 10 s left" == shown.state()


def test_a_share_of_nothing_or_all_has_no_time_left():
    shown = Steps("importing")
    assert re.fullmatch("importing: .* so far", shown.line())
    shown.on_fraction(0.0)
    assert shown.line() == "importing: 0 %"
    shown.on_fraction(7.0)
    assert shown.line() == "importing: 100 %"


def test_a_live_run_prints_a_line_every_fifteen_seconds(capsys):
    lines = live._Lines()
    for at_s in range(100, 141):
        lines.on_progress(
            Progress(
                at_s=float(at_s), jobs_total=4, jobs_ended=2, jobs=(), fraction=0.42, left_s=70.0
            )
        )

    printed = capsys.readouterr().err.splitlines()
    assert ["running: 42 %, about 1 m 10 s left, 2 of 4 jobs ended, 0 tasks running"] * 2 == printed
