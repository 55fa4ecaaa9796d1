"""A service that keeps customers apart: who submits a job is its customer."""

import os
import tempfile
from pathlib import Path

import pytest
from tests.skips import skip

from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.reception import Reception
from sluice.ingest.reading import SourceText
from sluice.model.errors import InvalidInput

SERVED = """version: 1
cluster: {nodes: 1, node: {containers: 2}}
settings: {run.customer_users: "acme=nobody, globex=daemon"}
"""
JOB = """version: 1
jobs: [{id: a, customer: globex, run: {input: in, output: out, mapper: cat}}]
"""


def config_of(text):
    source = SourceText(content=text.encode(), name="serve.yaml", file="serve.yaml", folder="/")
    return ServiceConfig.read(source)


@pytest.fixture
def open_folder():
    """A folder that every user may enter and write to."""
    with tempfile.TemporaryDirectory(prefix="sluice-shared-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_the_tenant_is_the_customer_whatever_the_job_says(open_folder, monkeypatch):
    if os.geteuid() != 0:
        skip("only root may start tasks as other users")
    monkeypatch.setattr("sluice.engines.unix_users.UnixUser.check_python", lambda _: None)
    (open_folder / "in").write_text("line\n")
    reception = Reception(config_of(SERVED), 1)

    def received(tenant):
        sent = {"content": JOB, "source": "job.yaml", "folder": str(open_folder), "tenant": tenant}
        return reception.receive(sent).jobs[0].customer

    assert "acme" == received("acme")
    with pytest.raises(InvalidInput, match="the job is of 'initech'"):
        received("initech")
