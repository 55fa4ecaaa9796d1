"""Stores that do not let a job write or read: its own fault, in one message, and no node's."""

import http.client
import json

import botocore.session
import pytest
from tests.engines.work_runs import write_input

import sluice
from sluice.engines.progress import Unwatched

pytestmark = pytest.mark.slow
READ_ONLY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["s3:Get*", "s3:List*"], "Resource": "*"}],
}


@pytest.fixture
def read_only_s3(bucket, s3_server, monkeypatch):
    """The bucket of this machine, for a user who may read all and write nothing."""
    client = botocore.session.get_session().create_client("iam", endpoint_url=s3_server)
    client.create_user(UserName="ann")
    client.put_user_policy(UserName="ann", PolicyName="r", PolicyDocument=json.dumps(READ_ONLY))
    key = client.create_access_key(UserName="ann")["AccessKey"]
    with monkeypatch.context() as patched:
        patched.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
        patched.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
        check_access_after(s3_server, 0)
        yield
        check_access_after(s3_server, 10**9)
    client.close()


def check_access_after(server, requests):
    """Let moto check who asks, after that many requests."""
    connection = http.client.HTTPConnection(server.removeprefix("http://"))
    connection.request("POST", "/moto-api/reset-auth", str(requests))
    connection.getresponse().read()
    connection.close()


class Messages(Unwatched):
    """Keeps what users see during a run."""

    def __init__(self):
        self.texts = []

    def on_message(self, message):
        self.texts.append(message)


def outputs(request, store):
    """A URL for an output that may not be written, and what a message says about it."""
    if store == "s3":
        request.getfixturevalue("read_only_s3")
        return "s3://box/out", ("Access Denied", "AWS_ACCESS_KEY_ID")
    if store == "bucket":
        request.getfixturevalue("bucket")
        return "s3://none/out", ("'s3://none' is not there", "Name another output")
    if store == "gs":
        request.getfixturevalue("gcs").is_read_only = True
        return "gs://box/out", ("ann does not have", "GOOGLE_APPLICATION_CREDENTIALS")
    if store == "gs bucket":
        request.getfixturevalue("gcs")
        return "gs://none/out", ("'gs://none' is not there", "Name another output")
    server = request.getfixturevalue("webhdfs")
    server.is_read_only = True
    return f"{server.url}/store/out", ("user=ann, access=WRITE", "webhdfs://USER@HOST")


@pytest.mark.parametrize("store", ["s3", "bucket", "gs", "gs bucket", "webhdfs"])
def test_an_output_that_may_not_be_written_fails_its_job_only(
    request, store, tmp_path, monkeypatch
):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    url, words = outputs(request, store)
    write_input(tmp_path, *["a line\n"] * 12)
    jobs = [
        {"id": job_id, "run": {"input": ["in"], "output": output, "mapper": "cat"}}
        for job_id, output in (("denied", url), ("good", "out"))
    ]
    (tmp_path / "jobs.json").write_text(json.dumps({"version": 1, "jobs": jobs}))
    messages = Messages()
    done = sluice.run(tmp_path / "jobs.json", watcher=messages)

    assert {job.job_id: job.state for job in done.jobs} == {"denied": "failed", "good": "done"}
    reason = next(job.reason for job in done.jobs if job.job_id == "denied")
    assert all(word in reason for word in (url, "cannot be written", *words)), reason
    assert not [text for text in messages.texts if "set aside" in text]
