"""`predict`: from a history, or logs, to times, intervals and costs."""

import json
from dataclasses import replace

import pytest
from tests.cli.terminal import sluice, sluice_process
from tests.estimate.nightly_jobs import nightly_jobs, nights_of

import sluice as package
from sluice.model.history import PastPhase, PastRun
from sluice.store.profiles import Profiles

JOBS = """\
version: 1
cluster: {map_slots: 32, reduce_slots: 32}
jobs:
  - {id: first, profile: nightly-00, deadline_s: 1000}
  - {id: second, profile: nightly-01, submitted_at_s: 100, deadline_at_s: 101}
  - {id: third, profile: gone}
  - {id: fourth, maps: {tasks: 3, avg_s: 4}}
"""
FIELDS = {
    "slots", "predicted_s", "low_s", "high_s", "level", "runs", "cost_usd", "deadline_s",
    "deadline_probability", "why_not",
}  # fmt: skip
LOG = "tests/data/logs/spark/linelen_rdd-50MB-local2.jsonl.gz"


@pytest.fixture
def history(home):
    """Six jobs, ten nights each."""
    with Profiles.open() as profiles:
        for runs in nights_of(nightly_jobs(0, jobs=6)).values():
            profiles.add(runs)


def predicted(*words, stdin=b""):
    """The jobs of the one document of `predict --json`."""
    answer = sluice("predict", *words, "--json", stdin=stdin)
    assert 0 == answer.code, answer
    return json.loads(answer.out, parse_constant=pytest.fail)["jobs"]


def test_the_document_has_the_fields_of_the_contract(history):
    (job,) = predicted("nightly-02").values()

    assert set(job) >= FIELDS
    assert (16, 0.9, 10, None, None) == (
        job["slots"], job["level"], job["runs"] + len([n for n in job["notes"] if "outl" in n]),
        job["why_not"], job["cost_usd"],
    )  # fmt: skip
    assert job["low_s"] < job["predicted_s"] < job["high_s"]


def test_a_file_asks_for_several_jobs_on_its_own_cluster(history, tmp_path):
    file = tmp_path / "jobs.yaml"
    file.write_text(JOBS)
    jobs = predicted(file)

    assert ["first", "second", "third", "fourth"] == list(jobs)
    assert 32 == jobs["first"]["slots"]
    assert (1000, True) == (
        jobs["first"]["deadline_s"],
        jobs["first"]["deadline_probability"] > 0.9,
    )
    assert (1, True) == (jobs["second"]["deadline_s"], jobs["second"]["deadline_probability"] < 0.1)
    for name in ("third", "fourth"):
        assert jobs[name]["why_not"]
        assert {None} == {jobs[name][field] for field in ("predicted_s", "low_s", "high_s")}
    assert jobs == predicted("-", stdin=JOBS.encode())


def test_vms_give_slots_and_a_cost_and_a_grid(history):
    (job,) = predicted("nightly-00", "--vms", "4", "--vm-type", "medium-4").values()

    assert 16 == job["slots"]
    assert job["cost_usd"] == pytest.approx(4 * 0.19 * job["predicted_s"] / 3600, rel=0.05)
    assert {"small-2", "medium-4", "large-8", "compute-4"} == {
        cell["vm_type"] for cell in job["grid"]
    }
    same = next(c for c in job["grid"] if (c["vm_type"], c["vms"]) == ("medium-4", 4))
    assert (job["predicted_s"], job["cost_usd"]) == (same["predicted_s"], same["cost_usd"])


def test_more_slots_take_no_longer(history):
    (job,) = predicted("nightly-00").values()
    seconds = [cell["predicted_s"] for cell in job["grid"]]

    assert sorted(seconds, reverse=True) == seconds


def test_slots_that_do_not_count_are_reported_and_make_no_rows(home):
    """Runs without known slots count as a whole, so that every number of slots takes as long."""
    with Profiles.open() as profiles:
        for runs in nights_of(nightly_jobs(0, jobs=1)).values():
            for run in runs:
                phases = tuple(replace(phase, timeline=()) for phase in run.phases)
                profiles.add([replace(run, slots={}, phases=phases)])
    (usual,) = predicted("nightly-00").values()
    (wide,) = predicted("nightly-00", "--slots", "8").values()

    assert 1 == len(usual["grid"])
    assert usual["predicted_s"] == wide["predicted_s"]
    assert [] == [note for note in usual["notes"] if "any number" in note]
    assert ["any number" in note for note in wide["notes"]] == [True]


def test_a_wider_level_gives_a_wider_interval(history):
    narrow, wide = (
        next(iter(predicted("nightly-00", "--level", level).values())) for level in (0.5, 0.95)
    )

    assert wide["low_s"] < narrow["low_s"] < narrow["high_s"] < wide["high_s"]


def test_the_table_fits_80_columns_and_shows_the_figures_of_the_document(history):
    answer = sluice("predict", "nightly-00")
    (job,) = predicted("nightly-00").values()

    assert max(map(len, answer.out.splitlines())) <= 80
    assert "Based on " in answer.out
    assert f"{job['predicted_s']:.0f}"[:2] in answer.out or "m" in answer.out


def test_of_very_many_profiles_those_with_most_runs_are_predicted(history, monkeypatch):
    """With 100,000 profiles, `predict` did not end within minutes."""
    monkeypatch.setattr("sluice.api.predict.PROFILES_PREDICTED_MAX", 1)
    with Profiles.open() as opened:
        counts = opened.run_counts()
    fullest = min(counts, key=lambda name: (-counts[name], name))

    answer = sluice("predict", "--json")
    heard = json.loads(answer.out)
    assert [fullest] == list(heard["jobs"])
    (note,) = [note for note in heard["notes"] if "left out" in note]
    assert str(len(counts) - 1) in note
    assert "left out" in sluice("predict").out
    assert "left out" not in sluice("predict", fullest).out


def test_without_a_name_every_profile_is_predicted(history):
    assert [f"nightly-0{number}" for number in range(6)] == list(predicted())


def test_logs_answer_without_a_store_from_another_folder(tmp_path):
    (job,) = package.predict(from_log=[LOG]).jobs
    done = sluice_process("predict", "--from-log", "here.jsonl.gz", cwd=_linked(tmp_path))

    assert "linelen_rdd" == job.job_id
    assert 0 == done.code, done
    assert "linelen_rdd" in done.out


def _linked(folder):
    from pathlib import Path

    (folder / "here.jsonl.gz").symlink_to(Path(LOG).resolve())
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nightly-99"], "did you mean nightly-"),
        (["gone.yaml"], "there is no file and no profile"),
        (["nightly-00", "--level", "1"], "level is 1.0"),
        (["nightly-00", "--slots", "0"], "--slots"),
        (["nightly-00", "--slots", "4", "--vms", "2"], "give one"),
        (["nightly-00", "--vms", "2"], "--vm-type is missing"),
        (["nightly-00", "--vm-type", "medium-4"], "--vms is missing"),
        (["nightly-00", "--vms", "2", "--vm-type", "medum-4"], "did you mean medium-4"),
        (["nightly-00", "--rent", "stolen"], "--rent"),
        (["nightly-00", "--from-log", LOG], "give one of them"),
    ],
)
def test_bad_input_is_refused_with_a_way_to_fix_it(history, words, said):
    answer = sluice("predict", *words)

    assert (2, "") == (answer.code, answer.out)
    assert said.lower() in answer.err.lower()


def test_an_empty_store_says_what_to_do(home):
    answer = sluice("predict")

    assert (0, "") == (answer.code, answer.out)
    assert "import a log" in answer.err


def test_the_chart_has_a_point_for_each_job(history, tmp_path):
    chart = tmp_path / "chart.json"
    sluice("predict", "--plot", chart)

    assert 6 == len(json.loads(chart.read_text())["data"]["values"])


@pytest.mark.parametrize("before", ["map", 2, -1])
def test_a_store_of_another_program_with_phases_by_name_is_one_clear_error(home, before):
    """Positions are what `after` holds; a name ended in an internal error."""
    phases = (
        PastPhase(name="map", kind="map", tasks=3, avg_s=1.0, max_s=2.0),
        PastPhase(name="reduce", kind="reduce", tasks=3, avg_s=1.0, max_s=2.0, after=(before,)),
    )
    with Profiles.open() as profiles:
        profiles.add([PastRun(run_id="r1", profile="nightly-00", source="other", phases=phases)])

    answer = sluice("predict", "nightly-00")

    assert (answer.code, answer.out) == (3, "")
    assert f"run 'r1' of other: {before!r} in `after` of its phase 'reduce' is not" in answer.err
