"""The verbs about predictions: `calibrate` and `profile-run`."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.terminal import sluice
from tests.estimate.made_runs import MachineModel, draws, settings

import sluice as package
from sluice.api import calibrate as api
from sluice.cli import progress
from sluice.store.profiles import Profiles

REAL = """
version: 1
jobs:
  - {id: words, reduces: {tasks: 1},
     run: {input: [in/*], output: out, mapper: cat, reducer: uniq -c, split_bytes: 16}}
"""


def document(*words):
    """The one JSON document that `sluice WORDS --json` prints."""
    answer = sluice(*words, "--json")
    assert 1 == answer.out.count("\n"), answer
    return answer.code, json.loads(answer.out, parse_constant=pytest.fail)


@pytest.fixture
def history(home):
    """Four jobs at six settings each."""
    here, rng = settings(slots=(1, 2, 4), sizes_mb=(40, 80)), draws(1)
    with Profiles.open() as profiles:
        for name, map_s in [("long", 4.0), ("middle", 2.0), ("short", 0.5), ("tiny", 0.2)]:
            profiles.add(MachineModel(noise=0.1, map_s=map_s).runs(here, rng, profile=name))


@pytest.fixture
def real(tmp_path, monkeypatch):
    """A workload whose one job really runs, and whose output stands there already."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "text").write_text("one\ntwo\ntwo\nthree\n" * 4)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("not to be touched")
    (tmp_path / "jobs.yaml").write_text(REAL)
    return "jobs.yaml"


# --- calibrate ------------------------------------------------------------------------------------


def test_calibrate_shows_error_coverage_and_bias_of_each_profile_and_of_all(history):
    code, heard = document("calibrate")

    assert (0, "run", 0.9) == (code, heard["leave_out"], heard["level"])
    assert ["long", "middle", "short", "tiny"] == list(heard["profiles"])
    for figures in (heard["overall"], *heard["profiles"].values()):
        assert 0 < figures["error_median"] < 0.3
        assert -0.3 < figures["bias"] < 0.3
        assert 0.5 <= figures["coverage"] <= 1
    assert 24 == heard["overall"]["compared"] == heard["overall"]["intervals"]
    assert 6 == len(heard["profiles"]["long"]["runs"])


def test_calibrate_reads_the_newest_runs_of_each_profile_and_says_so(history):
    code, heard = document("calibrate", "--newest", "4")

    assert 0 == code
    assert [(6, 4)] * 4 == [
        (figures["runs_total"], len(figures["runs"])) for figures in heard["profiles"].values()
    ]
    shown = sluice("calibrate", "--newest", "4").out
    assert "read: the newest 4 runs of each profile, of 24 stored runs in all" in shown
    assert "read: the newest" not in sluice("calibrate").out


def test_a_large_store_is_calibrated_from_the_same_number_of_runs_of_each_profile(
    history, monkeypatch
):
    monkeypatch.setattr(api, "RUNS_COMPARED", 12)
    monkeypatch.setattr(api, "RUNS_OF_PROFILE_MIN", 2)
    monkeypatch.setattr(api, "RUNS_OF_PROFILE_MAX", 5)

    _, heard = document("calibrate")
    assert [3] * 4 == [len(figures["runs"]) for figures in heard["profiles"].values()]
    _, heard = document("calibrate", "tiny")
    assert [5] == [len(figures["runs"]) for figures in heard["profiles"].values()]

    monkeypatch.setattr(api, "RUNS_COMPARED", 4)
    _, heard = document("calibrate")
    assert [2] * 4 == [len(figures["runs"]) for figures in heard["profiles"].values()]


def test_of_many_profiles_those_with_most_runs_are_compared_and_the_answer_says_so(
    history, monkeypatch
):
    with Profiles.open() as opened:
        opened.forget("tiny", [opened.runs("tiny")[0].run_id])
    monkeypatch.setattr(api, "PROFILES_COMPARED_MAX", 3)

    _, heard = document("calibrate")
    assert ["long", "middle", "short"] == list(heard["profiles"])
    shown = sluice("calibrate").out
    assert "compared: the 3 profiles with most runs, of 4;" in shown
    assert "compared: the" not in sluice("calibrate", "tiny").out


def test_one_profile_is_compared_without_reading_all_others(history, monkeypatch):
    monkeypatch.setattr(api, "PROFILES_LENDING", 1)
    read = []
    newest_of_each = Profiles.newest_of_each

    def noted(self, limit, names=None):
        found = newest_of_each(self, limit, names)
        read.append({one.run.profile for one in found})
        return found

    monkeypatch.setattr(Profiles, "newest_of_each", noted)
    _, heard = document("calibrate", "tiny")

    assert ["tiny"] == list(heard["profiles"])
    assert [{"long"}, {"tiny"}] == read


def test_calibrate_shows_which_models_were_chosen_and_what_else_was_tried(history):
    _, heard = document("calibrate", "long")
    chosen = heard["profiles"]["long"]["model"]["phases"]["map"]["average"]

    assert ["long"] == list(heard["profiles"])
    assert chosen["chosen"] in chosen["alternatives"]
    assert chosen["error"] == chosen["alternatives"][chosen["chosen"]]


def test_calibrate_prints_a_row_for_each_profile_within_80_columns(history):
    answer = sluice("calibrate")
    rows = [line.split()[0] for line in answer.out.splitlines() if line.split()]

    assert 0 == answer.code
    assert {"long", "middle", "short", "all"} <= set(rows)
    assert max(map(len, answer.out.splitlines())) <= 80


def test_calibrate_of_one_profile_prints_a_row_for_each_run(history):
    answer = sluice("calibrate", "short")

    assert 0 == answer.code
    assert 6 == sum(line.startswith(" short-") for line in answer.out.splitlines())
    assert "6 runs at 6 settings" in answer.out


@pytest.mark.parametrize("leave_out", ["run", "setting", "nothing"])
def test_calibrate_says_what_its_predictions_did_not_see(history, leave_out):
    _, heard = document("calibrate", "long", "--leave-out", leave_out)

    assert leave_out == heard["leave_out"]


def test_calibrate_draws_what_it_found(history, tmp_path):
    chart = tmp_path / "chart.json"
    answer = sluice("calibrate", "--plot", str(chart))
    drawn = json.loads(chart.read_text())

    assert (0, "Predicted against actual") == (answer.code, drawn["title"]["text"])
    assert 24 == len(drawn["layer"][-1]["data"]["values"])


def test_calibrate_of_an_empty_store_says_what_to_do(home):
    answer = sluice("calibrate")

    assert (0, "") == (answer.code, answer.out)
    assert "The profile store is empty" in answer.err
    assert {} == document("calibrate")[1]["profiles"]


def test_few_runs_have_a_prediction_and_no_interval_and_are_shown_why(home):
    with Profiles.open() as profiles:
        profiles.add(MachineModel().runs(settings(slots=(1, 2), sizes_mb=(40,)), draws(1)))
    _, heard = document("calibrate")
    (run, _) = heard["profiles"]["made"]["runs"]

    assert run["predicted_s"] > 0
    assert run["low_s"] is run["high_s"] is run["inside"] is None
    assert "needs 19" in run["not_enough"]
    assert "not enough data" in sluice("calibrate").out


def test_profiles_of_one_run_are_named_in_one_line(home):
    with Profiles.open() as profiles:
        for name in ("a", "b", "c", "d", "e"):
            profiles.add(MachineModel().runs([(2, 40)], draws(1), profile=name))
    answer = sluice("calibrate")

    assert 0 == answer.code
    assert "a, b, c and 2 more: not enough data: one run only; a prediction needs two" in answer.out


def test_a_long_calibration_prints_lines_of_progress(history, monkeypatch):
    """Without a terminal, one line in each period."""
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.001)
    answer = sluice("calibrate")

    assert re.search(r"calibrating: \d+ %.* of 4 profiles done, now \w+\n", answer.err)
    monkeypatch.setattr(progress, "LINE_EVERY_S", 60.0)
    assert "" == sluice("calibrate").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lnog"], "there is no profile 'lnog'. Did you mean long?"),
        (["--leave-out", "settings"], "Did you mean setting?"),
        (["--level", "1"], "level is 1.0"),
        (["--level", "nan"], "--level: nan is not a number"),
        (["--store", "missing.db"], "there is no such store"),
        (["--plot", "chart.gif"], "chart.gif"),
    ],
)
def test_calibrate_refuses_what_cannot_be(history, words, said):
    answer = sluice("calibrate", *words)

    assert (2, "") == (answer.code, answer.out)
    assert said in " ".join(answer.err.split())


def test_the_verb_is_a_function_as_well(history):
    report = package.calibrate("long", leave_out="setting")

    assert 6 == report.accuracy.compared
    assert 6 == len(report.to_frame())
    assert "Predicted" in report.plot().spec["title"]["text"]


# --- profile-run ----------------------------------------------------------------------------------


def test_profile_run_measures_each_slot_count_and_touches_no_output(real, home):
    code, heard = document("profile-run", real, "--slots", "1,2")
    job = heard["jobs"]["words"]

    assert 0 == code
    assert [1, 2] == [run["slots"] for run in job["runs"]]
    best = min(job["runs"], key=lambda run: run["elapsed_s"])
    assert (best["slots"], best["id"]) == (job["best_slots"], job["best_run"])
    assert {"map", "reduce"} == job["demand"].keys()
    assert {"cpu", "io", "memory", "network"} == job["demand"]["map"].keys()
    assert ["out/mine"] == [str(path) for path in Path("out").iterdir()]
    assert {"home", "in", "jobs.yaml", "out"} == {path.name for path in Path().iterdir()}
    assert not (home / "runs").exists()


def test_profile_run_keeps_what_it_measured_in_the_profile_store(real):
    """So that the next `sluice run` is foretold."""
    assert 0 == sluice("profile-run", real, "--slots", "1,2").code
    with Profiles.open() as profiles:
        runs = profiles.runs("words")

    assert [1, 2] == sorted(run.slots["map"] for run in runs)
    assert 1 == sum("demand.map.cpu" in run.configuration for run in runs)
    assert 2 == document("calibrate", "words")[1]["overall"]["predicted"]


def test_a_job_that_fails_is_shown_and_the_others_are_measured(real):
    text = Path(real).read_text()
    text += "  - {id: bad, run: {input: [in/*], output: out, mapper: 'false'}}\n"
    Path(real).write_text(text)
    code, heard = document("profile-run", real, "--slots", "2,1")

    assert 1 == code
    assert heard["jobs"]["words"]["best_slots"] in {1, 2}
    assert "mapper exited with 1" in heard["jobs"]["bad"]["failure"]
    assert (1, None) == (len(heard["jobs"]["bad"]["runs"]), heard["jobs"]["bad"]["demand"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--slots", "0"], "--slots: '0' is not a whole number"),
        (["--slots", "1,,2"], "--slots"),
        (["--repeats", "0"], "--repeats"),
        (["--io-bytes-per-s", "-1"], "--io-bytes-per-s"),
    ],
)
def test_profile_run_refuses_what_cannot_be(real, words, said):
    answer = sluice("profile-run", real, *words)

    assert (2, "") == (answer.code, answer.out)
    assert said in answer.err


def test_only_real_jobs_can_be_measured(small):
    answer = sluice("profile-run", small)

    assert (2, "") == (answer.code, answer.out)
    assert "run is missing" in answer.err
