"""A running service removes logs of tasks, and says so of those that are asked for."""

import time

import pytest
from tests import skips
from tests.service.clients import Client
from tests.service.services import CONFIG, PATIENCE_S, serving

skips.required("fastapi")
pytestmark = pytest.mark.slow
SPEAKS = "sh -c 'echo heard >&2; sleep {seconds}; cat'"
LITTLE = CONFIG.replace("30}", "30, logs_bytes: 1}")
PAGE = ("--config", "serve.yaml")


def speaking(service, name, seconds):
    """The id of a job that has written a log."""
    file = service.folder / service.nap(name, seconds)
    text = file.read_text().replace(f"sh -c 'sleep {seconds}; cat'", SPEAKS.format(seconds=seconds))
    file.write_text(text)
    return service.document("submit", file.name)["job_id"]


def log(service, job_id):
    """The answer about the log of the only attempt of a job."""
    path, owner = f"/v1/jobs/{job_id}/attempts", Client(service, is_owner=True)
    (row,) = owner.get(path).json["items"]
    return owner.get(f"{path}/{row['key']}/log")


def test_the_logs_of_ended_jobs_are_removed_when_they_need_too_much(tmp_path):
    with serving(tmp_path, *PAGE) as service:
        done = speaking(service, "done", 0.1)
        service.settled()
        assert log(service, done).text == "heard\n"

    with serving(tmp_path, *PAGE, config=LITTLE) as service:
        end_s = time.monotonic() + PATIENCE_S
        while (found := log(service, done)).status == 200:
            assert time.monotonic() < end_s
            time.sleep(0.1)
        assert found.status == 410
        assert "removed" in found.json["what"]
        assert "1 B" in found.json["what"]
        assert "14 days" in found.json["what"]
