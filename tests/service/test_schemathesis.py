"""The interface is asked what no user would ask, and answers as its document says."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import skips
from tests.effort import IS_THOROUGH
from tests.service.clients import Client, job, token
from tests.service.services import CONFIG, serving

skips.required("fastapi")
skips.required("schemathesis")

SHARED = CONFIG.replace("service: {", "service: {shared_user: true, ")


@pytest.mark.slow
def test_every_answer_is_as_documented(tmp_path):
    with serving(tmp_path, "--config", "serve.yaml", config=SHARED) as service:
        admin = token(service, "admin", role="admin")
        client = Client(service, admin)
        for number in range(3):
            assert client.post("/v1/jobs", {"job": job(service, f"n-{number}")}).status == 201
        while not client.get("/v1/jobs?state=done").json["total"]:
            time.sleep(0.1)

        done = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")), "run",
                f"{service.page.partition('/login')[0]}/v1/openapi.json",
                "-H", f"Authorization: Bearer {admin}",
                "--exclude-path", "/v1/events",  # it never ends
                # A workload file has rules of its own; a 422 says so.
                "--exclude-checks", "positive_data_acceptance",
                # The phase of coverage asks each path for each limit of its document. The cases
                # drawn on top of it are the same in each run.
                "--phases", "coverage,fuzzing", "-n", "10" if IS_THOROUGH else "3", "--seed", "1",
            ],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip

        assert done.returncode == 0, done.stdout[-6000:]
        assert client.get("/readyz").status == 200
