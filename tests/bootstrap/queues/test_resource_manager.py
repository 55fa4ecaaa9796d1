"""The queue of a running YARN cluster, asked of its ResourceManager."""

import json

import pytest
from tests.cli.terminal import sluice as command
from tests.resource_manager import T0_MS, FakeResourceManager, application, served

import sluice
from sluice.model.errors import EngineUnavailable, InvalidInput

HOUR_MS = 3_600_000


def ended(number, minutes):
    """A query that ended after some minutes, on four processors."""
    length_ms = minutes * 60_000
    return application(
        number, "FINISHED", startedTime=T0_MS - HOUR_MS * number,
        launchTime=T0_MS - HOUR_MS * number, finishedTime=T0_MS - HOUR_MS * number + length_ms,
        vcoreSeconds=4 * minutes * 60,
    )  # fmt: skip


DELAY = 1.08  # of a wait in the middle
PAST = [ended(number, 10) for number in range(1, 10)]
RUNS = application(20, "RUNNING", elapsedTime=240_000)
WAITS = application(21, "ACCEPTED", startedTime=T0_MS + 240_000)


@pytest.fixture
def cluster():
    with served(FakeResourceManager([*PAST, RUNS, WAITS])) as fake:
        yield fake


def test_its_applications_end_as_those_did_that_it_still_lists(cluster):
    """Each took 10 minutes on all 4 processors: 6 minutes are left, and then 10 more.

    The waits of the futures differ, so that the second one is expected a little later.
    """
    report = sluice.eta(cluster.address)

    assert (report.slots, report.as_of) == (4, "2026-01-05T08:04:00Z")
    first, second = report.jobs
    assert first.is_running
    assert first.ends_in_s.expected == pytest.approx(360, abs=1)
    assert second.starts_in_s.expected == pytest.approx(360 * DELAY, rel=0.05)
    assert second.ends_in_s.expected == pytest.approx(600 + 360 * DELAY, rel=0.05)
    ends = second.ends_in_s
    assert [ends.low, 960, ends.high] == sorted([ends.low or 0, 960, ends.high or 0])
    assert second.runs == len(PAST)
    assert "9 past runs in 1 log." in report.notes
    assert not any("skipped" in note for note in report.notes)


def test_more_in_use_than_processors_are_there_is_believed(cluster):
    """Where YARN counts memory alone, more containers run than there are processors."""
    cluster.applications[-2] = RUNS | {"allocatedVCores": 9}
    assert sluice.eta(cluster.address).slots == 9
    assert sluice.eta(cluster.address, slots=20).slots == 20


def test_a_cluster_without_applications_or_without_an_answer_is_one_clear_message(cluster):
    cluster.applications = PAST
    with pytest.raises(InvalidInput, match="no application runs or waits"):
        sluice.eta(cluster.address)
    with pytest.raises(EngineUnavailable, match="no ResourceManager answers"):
        sluice.eta("http://127.0.0.1:9")


def test_eta_and_quote_take_the_address(cluster, tmp_path):
    answer = command("eta", "--queue", cluster.address, "--json")
    assert answer.code == 0, answer.err
    assert len(json.loads(answer.out)["jobs"]) == 2
    job = {"id": "query", "customer": "ann", "maps": {"tasks": 4, "avg_s": 60}}
    (tmp_path / "job.yaml").write_text(json.dumps({"version": 1, "jobs": [job]}))
    answer = command("quote", tmp_path / "job.yaml", "--queue", cluster.address, "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["ends_at"]["expected"] is not None
