"""Runs from history servers: what is known is not asked for, what is strange is said."""

import io
import json
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.raw_server import NOT_HTTP, raw_served

import sluice
from sluice.model.errors import InvalidInput

SPARK = Path("tests/data/logs/spark/app-20161115172038-0000")
JOB = "job_1700_0001"
JOBS = "/ws/v1/history/mapreduce/jobs"
COUNTERS = [("HDFS_BYTES_READ", 700), ("MAP_INPUT_RECORDS", 7), ("SPILLED_RECORDS", 3)]


def counter_groups(value):
    rows = [{"name": name, value: count} for name, count in COUNTERS]
    return [{"counterGroupName": "g", "counter": rows}]


def attempt(number, state):
    name = f"attempt_1700_0001_m_000000_{number}"
    return {
        "id": name, "state": state, "type": "MAP", "startTime": 5_000 + 1_000 * number,
        "finishTime": 9_000, "nodeHttpAddress": "worker:8042",
    }  # fmt: skip


MAPREDUCE = {
    "/ws/v1/history/info": {"historyInfo": {}},
    JOBS: {"jobs": {"job": [{"id": JOB, "finishTime": 9_500}]}},
    f"{JOBS}/{JOB}": {"job": {
        "id": JOB, "name": "count", "state": "SUCCEEDED", "queue": "a",
        "submitTime": 1_000, "startTime": 2_000, "finishTime": 9_500,
    }},
    f"{JOBS}/{JOB}/counters": {
        "jobCounters": {"counterGroup": counter_groups("totalCounterValue")}
    },
    f"{JOBS}/{JOB}/tasks": {"tasks": {"task": [{"id": "task_1700_0001_m_000000", "type": "MAP"}]}},
    f"{JOBS}/{JOB}/tasks/task_1700_0001_m_000000/attempts": {
        "taskAttempts": {"taskAttempt": [attempt(0, "FAILED"), attempt(1, "SUCCEEDED")]}
    },
    f"{JOBS}/{JOB}/tasks/task_1700_0001_m_000000/attempts/attempt_1700_0001_m_000000_1/counters": {
        "jobTaskAttemptCounters": {"taskAttemptCounterGroup": counter_groups("value")}
    },
}  # fmt: skip


@contextmanager
def served(answers):
    """A server with these answers by path; bytes as they are. Yields (address, asked paths)."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            found = answers.get(self.path)
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "profiles.db")


def test_a_job_of_mapreduce_is_imported_once_and_not_asked_for_again(store):
    with served(MAPREDUCE) as (address, asked):
        (log,) = sluice.import_logs([address], store=store).logs
        assert (log.jobs, log.tasks, log.input_bytes, log.added.new) == (1, 1, 700, 1)
        first = len(asked)
        (again,) = sluice.import_logs([f"{address}/"], store=store).logs
        assert again.jobs == 0
        assert again.notes == ("All its jobs are known.",)
        assert [path for path in asked[first:] if JOB in path] == []

    (run,) = sluice.profiles("count", store=store).document()["profiles"]["count"]["runs"]
    (phase,) = run["phases"]
    assert (run["id"], phase["failed"], phase["avg_s"], phase["input_records"]) == (JOB, 1, 3.0, 7)


def test_the_logs_of_spark_applications_are_read_as_files(store):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(SPARK, "../../app")  # a name that leads elsewhere
    answers = {
        "/api/v1/version": {"spark": "4.0"},
        "/api/v1/applications?status=completed": [
            {"id": SPARK.name}, {"id": "app-lost"}, {"id": "app-torn"},
        ],
        f"/api/v1/applications/{SPARK.name}/logs": packed.getvalue(),
        "/api/v1/applications/app-torn/logs": b"PK is not all",
    }  # fmt: skip
    with served(answers) as (address, asked):
        logs = sluice.import_logs([address], store=store).logs
        assert [log.jobs for log in logs] == [1, 0, 0]
        assert "404" in logs[1].skipped[0].why
        assert "zip" in logs[2].skipped[0].why
        first = len(asked)
        sluice.import_logs([address], store=store)
        assert [path for path in asked[first:] if SPARK.name in path] == []


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, "it is no history server"),
        ({"/ws/v1/history/info": b"<html>"}, "it is no history server"),
        ({"/ws/v1/history/info": {}, JOBS: b"["}, "its list of jobs cannot be read"),
        ({"/api/v1/version": {}}, "its list of applications cannot be read"),
    ],
)
def test_another_server_is_one_clear_message(answers, words, store):
    with served(answers) as (address, _), pytest.raises(InvalidInput, match=words):
        sluice.import_logs([address], store=store)


def test_a_server_that_is_not_there_does_not_stop_the_others(store):
    found = sluice.import_logs(["http://127.0.0.1:9", str(SPARK)], store=store)
    assert [log.is_read for log in found.logs] == [False, True]
    with pytest.raises(InvalidInput, match="it does not answer"):
        sluice.import_logs(["http://127.0.0.1:9"], store=store)


@pytest.mark.parametrize("said", NOT_HTTP.values(), ids=NOT_HTTP)
def test_what_does_not_speak_http_is_one_clear_message(said, store):
    with raw_served(said) as host, pytest.raises(InvalidInput, match=host):
        sluice.import_logs([f"http://{host}"], store=store)


def test_an_https_address_of_a_server_without_tls_is_named(store):
    with (
        raw_served(b"HTTP/1.1 400 Bad Request\r\n\r\n") as host,
        pytest.raises(InvalidInput, match=r"does not answer with TLS.* http://"),
    ):
        sluice.import_logs([f"https://{host}"], store=store)


@pytest.mark.parametrize("address", ["http://", "http://host/?a=b"])
def test_an_address_that_is_none_is_refused(address, store):
    with pytest.raises(InvalidInput, match="not the address of a server"):
        sluice.import_logs([address], store=store)


def test_a_job_that_cannot_be_read_is_reported_and_the_others_are_kept(store):
    rows = [{"id": "job_1700_0009", "finishTime": 1}, {"id": JOB, "finishTime": 2}]
    with served(MAPREDUCE | {JOBS: {"jobs": {"job": rows}}}) as (address, _):
        (log,) = sluice.import_logs([address], store=store).logs
    assert (log.jobs, log.skipped_count) == (1, 1)
    assert "job_1700_0009" in log.skipped[0].why
