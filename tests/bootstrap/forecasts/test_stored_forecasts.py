"""Forecasts read of the profile store only the profiles that they need."""

from dataclasses import replace

import pytest
from tests.store.histories import past_run, phase_of

from sluice.bootstrap.forecasts.job_forecasts import stored_forecasts
from sluice.estimate.forecast import RUNS_JUDGED
from sluice.estimate.job_forecasts import JobForecasts
from sluice.model.history import PastTask
from sluice.store.profiles import Profiles

OTHERS = ("grep", "join", "sort")


def runs_of(profile, runs, slots=lambda _: 2, *, is_logged=True):
    """Runs with slots in their logs, or else shown by the tasks that ran at the same time."""
    return [
        replace(
            past_run(f"{profile}-{number}", maps_of(number, slots(number))),
            profile=profile,
            submitted_at_s=float(number),
            elapsed_s=12.0 + number % 3,
            slots={"map": slots(number), "reduce": 1} if is_logged else {},
        )
        for number in range(runs)
    ]


def maps_of(number, slots):
    length_s = 2.0 + number % 3 / 10
    starts_s = [place // slots * length_s for place in range(8)]
    tasks = tuple(PastTask(started_at_s=at_s, finished_at_s=at_s + length_s) for at_s in starts_s)
    return replace(phase_of(*[length_s] * 8), timeline=tasks)


@pytest.fixture
def read(monkeypatch):
    """The names of the profiles whose runs are read, in order."""
    names = []
    newest = Profiles.newest

    def counted(self, name, limit):
        names.append(name)
        return newest(self, name, limit)

    monkeypatch.setattr(Profiles, "newest", counted)
    return names


def stored(path, *histories):
    with Profiles.open(str(path)) as profiles:
        for runs in histories:
            profiles.add(runs)
        everything = {name: profiles.newest(name, RUNS_JUDGED)[::-1] for name in profiles.names()}
        return everything, stored_forecasts(["words"], profiles)


def test_a_profile_with_enough_runs_is_predicted_from_them_alone(tmp_path, read):
    others = [runs_of(name, 30) for name in OTHERS]
    everything, forecasts = stored(tmp_path / "runs.db", runs_of("words", 40), *others)
    del read[:-1]  # what the test itself has read

    found = forecasts.of("words")

    assert ["words"] == read
    assert JobForecasts(everything).of("words") == found


def test_other_profiles_are_read_for_one_with_few_runs(tmp_path, read):
    others = [runs_of(name, 30) for name in OTHERS]
    everything, forecasts = stored(tmp_path / "runs.db", runs_of("words", 3), *others)
    del read[:-1]

    found = forecasts.of("words")

    assert ["words", *OTHERS] == read
    assert found.low_s is not None
    assert JobForecasts(everything).of("words") == found


def test_a_new_number_of_slots_reads_no_profile_with_one_setting(tmp_path, read):
    others = [runs_of(name, 30) for name in OTHERS]
    everything, forecasts = stored(tmp_path / "runs.db", runs_of("words", 40), *others)
    del read[:-1]

    found = forecasts.of("words", slots={"map": 4, "reduce": 1})

    assert ["words"] == read
    assert found.low_s is not None
    assert JobForecasts(everything).of("words", slots={"map": 4, "reduce": 1}) == found


def test_profiles_that_ran_on_several_numbers_of_slots_are_read_for_a_new_number(tmp_path, read):
    varied = [runs_of(f"join-{each}", 16, lambda n: 1 + n % 4) for each in range(6)]
    others = [runs_of("grep", 30), *varied]
    everything, forecasts = stored(tmp_path / "runs.db", runs_of("words", 30), *others)
    del read[:-1]

    found = forecasts.of("words", slots={"map": 4, "reduce": 1})

    assert ["words", *(f"join-{each}" for each in range(6))] == read
    assert found.forecast.slot_profiles == 6
    assert JobForecasts(everything).of("words", slots={"map": 4, "reduce": 1}) == found


def test_slots_that_no_log_has_are_counted_without_reading_runs(tmp_path, read):
    """Logs of Hadoop name no slots; reading 60 profiles for nothing took 1.2 s of CPU."""
    steady = [runs_of(name, 30, is_logged=False) for name in OTHERS]
    varied = [runs_of(f"ran-{each}", 16, lambda n: 1 + n % 4, is_logged=False) for each in range(6)]
    known = runs_of("words", 40, is_logged=False)
    everything, forecasts = stored(tmp_path / "runs.db", known, *steady, *varied)
    del read[:-1]

    found = forecasts.of("words", slots={"map": 4, "reduce": 1})

    assert ["words", *(f"ran-{each}" for each in range(6))] == read
    assert found.forecast.slot_profiles == 6
    assert JobForecasts(everything).of("words", slots={"map": 4, "reduce": 1}) == found


def test_no_more_profiles_are_read_than_an_interval_needs(tmp_path, read):
    """With 60 profiles of varied slots, `predict` took 3.6 s of CPU, 2.9 s of it for lenders."""
    varied = [runs_of(f"ran-{each:02}", 16, lambda n: 1 + n % 4) for each in range(20)]
    _, forecasts = stored(tmp_path / "runs.db", runs_of("words", 40), *varied)
    del read[:-1]

    transferred = forecasts.of("words", slots={"map": 6, "reduce": 1})

    assert ["words", *(f"ran-{each:02}" for each in range(12))] == read
    assert transferred.forecast.slot_profiles == 12


def test_more_profiles_are_read_for_an_interval_that_needs_more(tmp_path, read):
    varied = [runs_of(f"ran-{each:02}", 8, lambda n: 1 + n % 2) for each in range(20)]
    known = runs_of("words", 12, lambda n: 1 + n % 2)
    _, forecasts = stored(tmp_path / "runs.db", known, *varied)
    del read[:-1]

    narrow = forecasts.of("words", slots={"map": 6, "reduce": 1}, level=0.8)

    assert narrow.low_s is not None
    assert ["words", *(f"ran-{each:02}" for each in range(12))] == read

    wide = forecasts.of("words", slots={"map": 6, "reduce": 1}, level=0.95)

    assert wide.low_s is not None
    assert ["words", *(f"ran-{each:02}" for each in range(20))] == read
