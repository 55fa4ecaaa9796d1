"""Jobs that misbehave fail or succeed as they should; the scheduler lives, and others are unharmed.

All jobs of a kind run beside good ones in one run, and each is then asked for its end.
"""

import json

import pytest
from tests.live.command_line import Place, all_pids, words_of
from tests.live.hostile_jobs import FAILING, GOOD, LIMITS, LONG_S, SUCCEEDING, UNLIMITED, write_jobs

from sluice.api import explain

pytestmark = [pytest.mark.slow, pytest.mark.no_invariants]


class Ran:
    """Hostile jobs between two good ones, run once."""

    def __init__(self, folder, jobs, **settings):
        self.place = Place(folder)
        write_jobs(self.place, [GOOD[0], *jobs, GOOD[1]], **settings)
        self.code, heard, self.complained = self.place.run("--json")
        assert heard, self.complained
        self.document = json.loads(heard)

    def check(self, one, monkeypatch):
        """Whether a job came to the end that it should."""
        job = self.document["jobs"][one.name]
        monkeypatch.setenv("SLUICE_HOME", str(self.place.home))
        story = "\n".join(line.why for line in explain.story(one.name).lines)
        assert job["state"] == one.state, story
        for words in one.heard:
            assert words in story
        if one.output is not None:
            lines = self.place.lines(self.document["outputs"][one.name])
            assert sorted(lines) == sorted(one.output)
        if one.state == "failed":
            assert one.name not in self.document["outputs"]

    def check_others(self, monkeypatch):
        """Nothing is left of the run, and the good jobs have their output."""
        for one in GOOD:
            self.check(one, monkeypatch)
        assert self.place.remains() == []
        assert self.place.processes_left() == {}
        assert sleepers() == []


def sleepers():
    """Processes that hostile jobs have started to outlive them."""
    return [pid for pid in all_pids() if LONG_S.encode() in words_of(pid, "cmdline")]


@pytest.fixture(scope="module")
def unruly(tmp_path_factory):
    """All that need no limit to come to an end."""
    return Ran(tmp_path_factory.mktemp("unruly"), [*FAILING, *SUCCEEDING], failures_max=1)


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """All that only a limit brings to an end."""
    return Ran(tmp_path_factory.mktemp("limited"), UNLIMITED, **LIMITS)


def name_of(one):
    return one.name


@pytest.mark.parametrize("one", FAILING, ids=name_of)
def test_what_should_fail_fails_and_says_why(unruly, monkeypatch, one):
    unruly.check(one, monkeypatch)


@pytest.mark.parametrize("one", SUCCEEDING, ids=name_of)
def test_what_is_only_odd_succeeds(unruly, monkeypatch, one):
    unruly.check(one, monkeypatch)


@pytest.mark.parametrize("one", UNLIMITED, ids=name_of)
def test_what_would_take_all_is_stopped_at_its_limit(limited, monkeypatch, one):
    limited.check(one, monkeypatch)


def test_jobs_beside_failing_ones_are_unharmed(unruly, monkeypatch):
    unruly.check_others(monkeypatch)
    assert unruly.code == 1
    assert unruly.document["states"] == {"done": len(SUCCEEDING) + 2, "failed": len(FAILING)}


def test_jobs_beside_greedy_ones_are_unharmed(limited, monkeypatch):
    limited.check_others(monkeypatch)
    assert limited.code == 1
