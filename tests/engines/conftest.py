"""Stores of this machine, and a certificate."""

import subprocess

import pytest
from tests.engines.gcs_server import GcsServer
from tests.engines.webhdfs_server import WebHdfsServer
from tests.skips import required, skip


@pytest.fixture(scope="module")
def s3_server():
    """The address of an S3 server on this machine."""
    from moto.server import ThreadedMotoServer

    made = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    made.start()
    yield "http://{}:{}".format(*made.get_host_and_port())
    made.stop()


@pytest.fixture
def bucket(s3_server, monkeypatch):
    """Puts objects into an S3 bucket of this machine."""
    import botocore.session

    for name, value in (
        ("ENDPOINT_URL", s3_server),
        ("ACCESS_KEY_ID", "test"),
        ("SECRET_ACCESS_KEY", "test"),
        ("DEFAULT_REGION", "us-east-1"),
        ("EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    client = botocore.session.get_session().create_client("s3")
    client.create_bucket(Bucket="box")

    def put(name, text):
        client.put_object(Bucket="box", Key=name, Body=text.encode())

    yield put
    for one in client.list_objects_v2(Bucket="box").get("Contents", ()):
        client.delete_object(Bucket="box", Key=one["Key"])
    client.close()


@pytest.fixture
def gcs(monkeypatch):
    """A server of Google's objects, which `gcsfs` uses; its bucket is empty."""
    monkeypatch.setenv("NO_GCE_CHECK", "true")  # or it asks for credentials in the network
    required("gcsfs")
    server = GcsServer()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    yield server
    server.close()


@pytest.fixture
def webhdfs(tmp_path):
    """A WebHDFS server; its folder is empty."""
    folder = tmp_path / "hdfs"
    folder.mkdir()
    server = WebHdfsServer(folder)
    yield server
    server.close()


@pytest.fixture
def certificate(tmp_path):
    """A self-signed certificate for 127.0.0.1, and its key."""
    paths = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1",
         "-out", paths[0], "-keyout", paths[1]],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        skip("openssl cannot make a certificate here")
    return tuple(map(str, paths))
