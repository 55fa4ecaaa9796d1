"""When applications of others on a real YARN start and end, from what its ResourceManager lists."""

import subprocess

import pytest
from tests.hadoop.cluster import PI
from tests.live.command_line import awaited

import sluice
from sluice.bootstrap.service.observed import observed_jobs
from sluice.engines.yarn.rest import ResourceManagerRest

pytestmark = [pytest.mark.slow, pytest.mark.yarn, pytest.mark.timeout(600)]


def test_an_application_that_runs_ends_about_as_those_before_it(hadoop, pi):
    rest = ResourceManagerRest(hadoop.address)
    took_s = (pi["finishedTime"] - pi["launchTime"]) / 1000
    second = subprocess.Popen(
        hadoop.command(*PI), env=hadoop.environment(), cwd=hadoop.work,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        row = awaited(lambda: running(rest, pi["name"]), "the second one")
        report = sluice.eta(hadoop.address)
        assert report.slots == sum(node.vcores for node in rest.nodes())
        (job,) = [one for one in report.jobs if one.job_id == row["job_id"]]
        assert job.runs
        assert job.ends_in_s.low is not None
        assert 0 < (job.ends_in_s.expected or 0) < 5 * took_s
        assert row["decision"] == "observed"
        assert (row["name"], row["queue"].rpartition(".")[2]) == (pi["name"], "default")
        assert row["starts_at"]["expected"] <= row["ends_at"]["expected"]
        assert second.wait(120) == 0
    finally:
        second.kill()
        second.wait()


def running(rest, name):
    """The application that runs, as a service observes it; None without one."""
    found = observed_jobs(rest.base)
    assert found["problem"] is None
    return next(
        (one for one in found["jobs"] if one["name"] == name and one["state"] == "running"), None
    )
