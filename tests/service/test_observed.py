"""A service observes a YARN cluster: jobs that others submitted there, with forecasts."""

import json
import time
from datetime import datetime

import pytest
from tests import skips
from tests.resource_manager import T0_MS, FakeResourceManager, application, served
from tests.service.clients import Client, token
from tests.service.services import CONFIG, PATIENCE_S, serving

from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.observed import Observed, observed_jobs
from sluice.ingest.reading import SourceText
from sluice.model.errors import InvalidInput
from sluice.reporting.service.tables import observed_sentence

PAST = [
    application(
        number, "FINISHED", startedTime=T0_MS - 3_600_000 * number,
        launchTime=T0_MS - 3_600_000 * number, finishedTime=T0_MS - 3_600_000 * number + 600_000,
        vcoreSeconds=2400,
    )
    for number in range(1, 10)
]  # fmt: skip
RUNS = application(20, "RUNNING", elapsedTime=240_000)
WAITS = application(21, "ACCEPTED", startedTime=T0_MS + 240_000, queue="root.ads")


@pytest.fixture
def cluster():
    with served(FakeResourceManager([*PAST, RUNS, WAITS])) as fake:
        yield fake


def minutes(instant):
    """Minutes after T0."""
    return (datetime.fromisoformat(instant).timestamp() - T0_MS / 1000) / 60


def test_jobs_of_others_have_forecasts_and_no_promises(cluster):
    found = observed_jobs(cluster.address)

    assert found["problem"] is None
    first, second = found["jobs"]
    assert (first["state"], second["state"]) == ("running", "waiting")
    assert minutes(first["starts_at"]["expected"]) == 0
    assert minutes(first["ends_at"]["expected"]) == pytest.approx(10, abs=0.1)
    # What is unknown of a queue makes waits longer more often.
    assert minutes(second["starts_at"]["expected"]) == pytest.approx(10, rel=0.1)
    assert minutes(second["ends_at"]["expected"]) == pytest.approx(20, rel=0.1)
    assert second["ends_at"]["low"] < second["ends_at"]["expected"] < second["ends_at"]["high"]
    assert second["reason"]
    assert (second["decision"], second["queue"], second["user"]) == ("observed", "root.ads", "ann")
    assert "promise" not in second


def test_an_idle_cluster_and_one_that_has_run_nothing_yet_are_observed():
    with served(FakeResourceManager()) as fake:
        found = observed_jobs(fake.address)
        assert (found["jobs"], found["problem"]) == ([], None)
        fake.applications = [RUNS]
        (row,) = observed_jobs(fake.address)["jobs"]
        assert row["ends_at"] == {"expected": None, "low": None, "high": None}
        assert row["past_runs"] == 0


def test_a_cluster_that_is_silent_leaves_what_was_known_with_the_reason(cluster):
    observed = Observed()
    assert observed.listed((), None, None, 9) == {}
    observed.take(observed_jobs(cluster.address))
    observed.take(observed_jobs("http://127.0.0.1:9"))
    found = observed.listed((), None, None, 9)["observed"]
    assert len(found["jobs"]) == 2
    assert "no ResourceManager answers" in found["problem"]
    observed.take(None)
    assert "too long" in observed.listed((), None, None, 9)["observed"]["problem"]
    observed.take(observed_jobs(cluster.address))
    assert observed.listed((), None, None, 9)["observed"]["problem"] is None


def test_jobs_of_others_are_filtered_as_own_ones_are(cluster):
    observed = Observed()
    observed.take(observed_jobs(cluster.address))

    def ids(states, queue, name):
        return [
            row["job_id"][-2:]
            for row in observed.listed(states, queue, name, 9)["observed"]["jobs"]
        ]

    assert ids(("running",), None, None) == ["20"]
    assert ids((), "root.ads", None) == ["21"]
    assert ids((), None, "query") == ["20", "21"]
    assert ids(("done",), None, None) == []
    cut = observed.listed((), None, None, 1)["observed"]
    assert (len(cut["jobs"]), cut["total"]) == (1, 2)
    assert observed_sentence(cut) == "2 applications of others: 1 running, 1 more."


@pytest.mark.parametrize("text", ["rm:8088", "http://", "http://rm:8088/cluster/apps", "7"])
def test_what_is_not_an_address_is_refused_at_the_start(text):
    content = json.dumps({"version": 1, "service": {"observe": text}}).encode()
    with pytest.raises(InvalidInput, match="is not the address of a ResourceManager"):
        ServiceConfig.read(SourceText(content=content, name="serve.yaml", file="-", folder="."))


def test_sluice_jobs_lists_own_jobs_and_those_of_others(cluster, tmp_path):
    config = CONFIG.replace("service: {", f"service: {{observe: '{cluster.address}', ")
    with serving(tmp_path, "--config", "serve.yaml", "--listen", "none", config=config) as service:
        assert service.run("submit", service.nap())[0] == 0
        found = awaited_jobs(service, 2)
        assert [row["decision"] for row in found["jobs"]] == ["observed", "observed"]
        (own,) = service.settled().values()
        assert own["state"] == "done"

        code, out, err = service.run("jobs")
        assert code == 0, err
        assert "1 job: 1 done." in out
        assert "2 applications of others: 1 waiting, 1 running." in out
        assert "forecasts, not promises" in out
        code, out, err = service.run("why", WAITS["id"])
        assert code == 0, err
        assert out.startswith(f"{WAITS['id']} (query, root.ads): waiting. ")
        assert "by 9 past runs" in out
        found = json.loads(service.run("why", WAITS["id"], "--json")[1])
        assert found["decision"] == "observed"
        assert service.run("why", "application_1_9999")[0] == 2
        assert json.loads(service.run("jobs", "--state", "waiting", "--json")[1])["jobs"] == []
        assert len(awaited_jobs(service, 1, "--state", "waiting")["jobs"]) == 1


def test_operators_see_them_over_http_and_users_do_not(cluster, tmp_path):
    observed = skips.required("sluice.service.routes.observed")
    config = CONFIG.replace("service: {", f"service: {{observe: '{cluster.address}', ")
    options = ("--config", "serve.yaml", "--listen", "127.0.0.1:0")
    with serving(tmp_path, *options, config=config) as service:
        awaited_jobs(service, 2)
        operator = Client(service, token(service, "olga", role="operator"))
        found = operator.get("/v1/observed").json
        assert (found["total"], found["problem"]) == (2, None)
        assert [row["decision"] for row in found["items"]] == ["observed", "observed"]
        page = observed.ObservedJobs.model_validate(found)
        first = operator.get("/v1/observed?limit=1").json
        assert (len(first["items"]), first["total"]) == (1, 2)
        assert page.model_dump() == found, "the document describes each field"
        assert "observed" not in operator.get("/v1/jobs").json
        assert Client(service, token(service, "anna")).get("/v1/observed").status == 403


def awaited_jobs(service, count, *words):
    """Return all that is observed, once there are so many jobs."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        found = service.document("jobs", *words).get("observed")
        if found is not None and len(found["jobs"]) == count:
            return found
        assert time.monotonic() < until_s, found
        time.sleep(0.2)
