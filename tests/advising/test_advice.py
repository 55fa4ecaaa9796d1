"""Advice: features, drawn days, what is tried, and what is chosen."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluice
from sluice.api.advise import advise
from sluice.api.sources import parse_workload
from sluice.bootstrap.advising.candidates import Candidate, field_for
from sluice.bootstrap.advising.history import drawn_day, features_of
from sluice.bootstrap.advising.measures import CellRun, over_common_jobs
from sluice.bootstrap.advising.race import Bound, days_for, raced
from sluice.bootstrap.presets import read_preset
from sluice.bootstrap.scheduler_rows import row_of
from sluice.model.errors import InvalidInput
from sluice.reproductions.loop.day import Day


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))


def day(**changes):
    """A short made day."""
    made = Day(**({"hours": 0.25, "nodes": 2, "load": 0.9, "seed": 1} | changes))
    return parse_workload(json.dumps(made.document()))


DAY = day()


def test_features_of_a_made_day():
    found = features_of(DAY)
    assert found.load == pytest.approx(0.9, rel=0.35)  # the last job may be a large one
    assert found.peak_load >= found.load
    assert found.tenants == 4
    assert 0 < found.deadline_share < 1
    assert 2 <= (found.tightness or 0) <= 6
    assert found.cv == 0.5
    assert found.stragglers == 0.03
    assert found.known_share == 1
    assert found.dag_share == 0
    assert features_of(day(dags=0.5)).dag_share > 0


def test_lengths_of_logs_give_cv_and_stragglers():
    text = """{version: 1, cluster: {containers: 2}, jobs: [{id: a, phases: [
        {name: s, tasks: 4, durations_s: [1, 1, 1, 9]}]}]}"""
    found = features_of(parse_workload(text))
    assert found.stragglers == 0.25
    assert found.cv == pytest.approx(3.4641 / 3, rel=1e-3)


@given(seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_a_drawn_day_is_made_of_the_history(seed):
    made = drawn_day(DAY, seed)
    again = drawn_day(DAY, seed)
    assert made.jobs == again.jobs
    assert len({job.job_id for job in made.jobs}) == len(made.jobs)
    known = {str(job.job_id): job for job in DAY.jobs}
    last = max(job.submitted_at_s for job in DAY.jobs)
    for job in made.jobs:
        origin = known[str(job.job_id).partition(".")[2] or str(job.job_id)]
        assert job.phases == origin.phases
        assert 0 <= job.submitted_at_s <= last * 1.1 + 60
        if job.deadline_at_s is not None:
            assert job.deadline_at_s - job.submitted_at_s == pytest.approx(
                origin.deadline_at_s - origin.submitted_at_s
            )


def test_seed_0_is_the_history_itself():
    assert drawn_day(DAY, 0) is DAY


def test_jobs_after_jobs_stay_together():
    text = """{version: 1, cluster: {containers: 2}, jobs: [
        {id: a, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 0},
        {id: b, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 500, after: [a]},
        {id: c, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 900}]}"""
    workload = parse_workload(text)
    for seed in range(1, 30):
        made = drawn_day(workload, seed)
        names = {job.job_id for job in made.jobs}
        assert all(before in names for job in made.jobs for before in job.after)


@pytest.mark.parametrize(
    ("change", "absent", "said"),
    [
        ({"deadline_share": 0.0, "tightness": None}, ("goals=", "admission=", "order=deadline"),
         "No job has a deadline"),
        ({"tenants": 1}, ("order=ltrf",), "one tenant"),
        ({"stragglers": 0.0}, ("copies=",), "stragglers"),
        ({"over_commitment": 1.5, "is_contended": True}, ("slots=lent",), "slow each other down"),
        ({"known_share": 0.5}, ("admission=", "release="), "Not all lengths"),
    ],
)  # fmt: skip
def test_what_the_features_rule_out(change, absent, said):
    found = field_for(replace(features_of(DAY), **change))
    parts = {part for one in found.candidates for part in one.parts}
    for name in absent:
        assert not any(part.startswith(name) for part in parts)
    assert any(said in line for line in found.left_out)


def test_every_candidate_is_a_scheduler_and_fair_is_first():
    found = field_for(features_of(DAY)).candidates
    assert found[0].parts == ()
    assert len(set(found)) == len(found)
    for one in found:
        assert row_of(one.text)[0] == one.text


def test_the_document_is_a_preset(tmp_path):
    one = Candidate(parts=("slots=lent", "goals=guarded", "order=ltrf"))
    path = tmp_path / "preset.json"
    path.write_text(json.dumps(one.document()))
    preset = read_preset(str(path))
    assert "slots=lent" in preset.tasks
    assert preset.settings == ("goals.guard=0.4",)


def run_of(responses, *, refused=(), met=()):
    """A cell's run."""
    return CellRun(
        measures={},
        responses={name: (value, value) for name, value in responses.items()},
        refused=frozenset(refused),
        met=frozenset(met),
    )


def test_a_cell_is_no_better_for_refusing():
    """The mean response is over the jobs that all completed."""
    takes = run_of({"a-1": 10.0, "b-1": 90.0}, met=("b-1",))
    refuses = run_of({"a-1": 12.0}, refused=("b-1",))
    first, second = over_common_jobs([takes, refuses])
    assert (first["response_s"], second["response_s"]) == (10.0, 12.0)
    assert (first["refused_feasible"], second["refused_feasible"]) == (0.0, 1.0)


def test_the_race_finds_the_best_of_a_few():
    candidates = [
        Candidate(parts=()),
        Candidate(parts=("order=fifo",)),
        Candidate(parts=("slots=lent",)),
    ]
    race = raced(DAY, candidates, "bill_usd", days=4)
    assert race.fair.candidate.parts == ()
    means = {one.candidate.parts: one.mean("bill_usd") for one in race.finalists}
    best = min(means, key=means.get)
    chosen = () if race.chosen is None else race.chosen.candidate.parts
    assert chosen in {(), best}
    expected, high = race.regret()
    assert 0 <= expected <= high


def test_bounds_keep_a_choice_out():
    candidates = [Candidate(parts=()), Candidate(parts=("slots=lent",))]
    bound = Bound(measure="makespan_s", value=1.0, is_least=False)
    assert raced(DAY, candidates, "bill_usd", [bound], days=4).chosen is None


def test_advice_is_the_same_twice_and_is_kept():
    first = advise(DAY, seconds=1, stores=True)
    again = advise(DAY, seconds=1)
    assert json.dumps(first.document()) == json.dumps(again.document())
    document = json.loads(json.dumps(first.document()))
    assert set(document["preset"]) == {
        "admission", "release", "order", "goals", "slots", "copies", "data", "machines", "settings",
    }  # fmt: skip
    assert document["abstained"] == (document["difference"] == {})
    assert {one["days"] for one in document["tried"]} <= set(range(1, 13))
    preset = read_preset("auto")
    run = sluice.simulate(DAY, tasks=preset.tasks, release=preset.release)
    assert run.jobs


def test_it_abstains_where_nothing_can_be_gained():
    text = """{version: 1, cluster: {map_slots: 50, reduce_slots: 50}, jobs: [
        {id: a, maps: {tasks: 1, avg_s: 5}},
        {id: b, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 600}]}"""
    found = advise(parse_workload(text), seconds=1)
    assert found.abstained
    assert found.scheduler == "order=fair"
    assert found.objective == "response_s"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": "beauty"}, "unknown objective"),
        ({"keep": ["fairness > 1"]}, "no bound"),
        ({"keep": ["beauty>=1"]}, "no bound"),
        ({"seconds": 0.0}, "seconds is 0"),
        ({"seconds": float("inf")}, "seconds is inf"),
    ],
)
def test_what_it_refuses(given, message):
    with pytest.raises(InvalidInput, match=message):
        advise(DAY, **given)


def test_deadlines_without_any_are_no_objective():
    with pytest.raises(InvalidInput, match="no job has a deadline"):
        advise(
            parse_workload("{version: 1, cluster: {containers: 1}, jobs: [{id: a, maps: "
                           "{tasks: 1, avg_s: 1}}]}"),
            objective="deadlines",
        )  # fmt: skip


def test_auto_without_advice_says_how_to_get_it():
    with pytest.raises(InvalidInput, match="no advice is kept yet"):
        read_preset("auto")


def test_days_grow_with_the_seconds_and_not_without_end():
    assert days_for(5000, 40, 1) == 4
    assert days_for(5000, 40, 150) > 4
    assert days_for(1, 2, 86400) == 12
