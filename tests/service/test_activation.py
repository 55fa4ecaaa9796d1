"""A configuration of queues takes effect in a service that runs, and outlives its restarts."""

import time

import pytest
from tests import skips
from tests.service.clients import Client, job, token
from tests.service.services import CONFIG, killed, serving

from sluice.bootstrap.service.activation import queue_rows
from sluice.bootstrap.service.begun_segments import with_kept_queues
from sluice.bootstrap.service.config import ServiceConfig
from sluice.ingest.reading import SourceText
from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.model.errors import InvalidInput

skips.required("fastapi")

QUEUES = "queues: [{id: slow, order: ltrf}, {id: fast, order: ltrf, quantum_s: 2, round_s: none}]\n"
SERVED = CONFIG.replace("service:", f"{QUEUES}scheduler: {{tasks: ltyarn}}\nservice:")


def yarn(**capacities):
    """A capacity-scheduler.xml with these queues below root."""
    name = "yarn.scheduler.capacity.root"
    values = {f"{name}.queues": ",".join(capacities)}
    values |= {f"{name}.{queue}.capacity": value for queue, value in capacities.items()}
    lines = [f"<property><name>{n}</name><value>{v}</value></property>" for n, v in values.items()]
    return f"<configuration>{''.join(lines)}</configuration>"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("activation")
    with serving(folder, "--config", "serve.yaml", config=SERVED) as it:
        yield it


def written(owner, name, **capacities):
    made = owner.post("/v1/configs", {"name": name, "text": yarn(**capacities)})
    assert made.status == 201, made.text
    return made.headers["etag"]


def submitted(client, service, queue, seconds=0.1):
    name = f"{queue}-{time.monotonic_ns()}"
    return client.post("/v1/jobs", {"job": job(service, name, seconds), "queue": queue})


def ended(client, job_id):
    for _ in range(300):
        found = client.get(f"/v1/jobs/{job_id}").json
        if found["state"] not in {"waiting", "running"}:
            return found["state"]
        time.sleep(0.1)
    raise AssertionError("it does not end")


def test_new_queues_take_jobs_at_once_and_after_restarts(service):
    owner = Client(service, is_owner=True)
    anna = Client(service, token(service, "anna"))
    assert submitted(anna, service, "extra").status == 422
    tag = written(owner, "wider", slow=20, fast=30, extra=50)
    path = "/v1/configs/wider/activation"
    assert anna.post(path).status == 403
    assert owner.post("/v1/configs/other/activation").status == 404
    assert owner.post(path, If_Match='"9"').status == 412

    done = owner.post(path, If_Match=tag)
    assert done.status == 200, done.text
    assert done.json == {"name": "wider", "version": 1, "queues": ["slow", "fast", "extra"]}
    first = submitted(anna, service, "extra")
    assert first.status == 201, first.text
    assert ended(anna, first.json["job_id"]) == "done"
    row = {"queue": "extra", "jobs": 0, "waiting_jobs": 0, "held_jobs": 0, "used": 0, "waiting": 0}
    for client in (owner, anna):
        assert client.get("/v1/queues/extra").json == row
        assert client.get("/v1/queues/other").status == 404
        assert [one["queue"] for one in client.get("/v1/queues").json["queues"]] == [
            "extra", "fast", "slow",
        ]  # fmt: skip

    killed(service.pid("driver"))
    until_s = time.monotonic() + 30
    while (found := submitted(anna, service, "extra")).status != 201:
        assert time.monotonic() < until_s, found.text
        time.sleep(0.2)
    assert ended(anna, found.json["job_id"]) == "done"
    service.stop()
    service.start()
    again = Client(service, is_owner=True)
    last = submitted(again, service, "extra")
    assert last.status == 201, last.text
    assert ended(again, last.json["job_id"]) == "done"


def test_no_job_loses_its_queue(service):
    owner = Client(service, is_owner=True)
    long = submitted(owner, service, "slow", 60).json["job_id"]
    written(owner, "narrow", fast=100)

    refused = owner.post("/v1/configs/narrow/activation")
    assert (refused.status, refused.json["where"]) == (409, "queues")
    assert "jobs are open in slow" in refused.json["what"]
    owner.delete(f"/v1/jobs/{long}")
    ended(owner, long)
    assert owner.post("/v1/configs/narrow/activation").status == 200
    assert submitted(owner, service, "slow").status == 422
    assert owner.post("/v1/configs/wider/activation").status == 200


# --- without a service ----------------------------------------------------------------------------


def config_of(text):
    source = SourceText(content=text.encode(), name="serve.yaml", file="serve.yaml", folder="/")
    return ServiceConfig.read(source)


def rows_of(config, text, slots=6):
    return queue_rows(queue_tree_of(text.encode(), "next"), config.workload.queues, slots)


def test_amounts_are_those_of_the_file_and_the_rest_stays():
    config = config_of(SERVED)
    rows = {row["id"]: row for row in rows_of(config, yarn(slow=75, fast=25))}

    assert rows["slow"]["weight"] == pytest.approx(3 * rows["fast"]["weight"])
    assert (rows["fast"]["order"], rows["fast"]["quantum_s"]) == ("ltrf", 2)
    queues = {str(q.queue_id): q for q in config.with_queues(rows.values()).workload.queues}
    assert (queues["fast"].quantum_s, queues["fast"].round_s) == (2, 0)


@pytest.mark.parametrize(
    ("capacities", "said"),
    [
        ({"slow": 50, "fast": 50, "fast.slow": 100}, "two queues are called 'slow'"),
        ({"fast": 100, "fast.slow": 100}, "'slow' would have another parent"),
    ],
)
def test_queues_keep_their_names_and_parents(capacities, said):
    name = "yarn.scheduler.capacity.root"
    tops = ",".join(queue for queue in capacities if "." not in queue)
    text = yarn(**capacities).replace(",".join(capacities), tops)
    below = f"<property><name>{name}.fast.queues</name><value>slow</value></property>"
    with pytest.raises(InvalidInput, match=said):
        rows_of(config_of(SERVED), text.replace("<configuration>", f"<configuration>{below}"))


def test_a_file_with_other_queues_wins_over_what_was_put_into_effect():
    class Place:
        def kept_queues(self):
            return {"rows": rows, "of_file": config_of(SERVED).file_queues_digest}

    rows = rows_of(config_of(SERVED), yarn(slow=10, fast=40, extra=50))
    same, edited = config_of(SERVED), config_of(SERVED.replace("order: ltrf}", "weight: 5}", 1))

    assert len(with_kept_queues(same, Place()).workload.queues) == 3
    assert with_kept_queues(edited, Place()) is edited


def test_the_present_queues_are_drafted_and_saved_as_the_file_of_a_service(tmp_path):
    """A draft of them that changes nothing gives the queues that the file has."""
    queues = (
        "queues:\n- {id: etl, weight: 3, order: mlrf, share_min: 1, share_max: 4}\n"
        "- {id: web}\n- {id: night, parent: etl, quantum_s: 5}\n"
    )
    config = CONFIG.replace("service:", f"{queues}scheduler: {{tasks: ltyarn}}\nservice:")
    with serving(tmp_path, "--config", "serve.yaml", config=config) as it:
        owner = Client(it, is_owner=True)
        viewer = Client(it, token(it, "looks", role="viewer"))
        assert viewer.get("/v1/queue-file").status == 403

        text = owner.get("/v1/queue-file").json["text"]
        assert owner.post("/v1/configs", {"name": "same", "text": text}).status == 201
        saved = owner.get("/v1/configs/same/service-file").json["text"]
        again = ServiceConfig.read(_source(saved.encode()))
        assert again.workload.queues == ServiceConfig.read(_source(config.encode())).workload.queues

        more = text.replace(
            "root.etl.capacity</name><value>3w", "root.etl.capacity</name><value>5w"
        )
        assert owner.post("/v1/configs", {"name": "more", "text": more}).status == 201
        assert owner.post("/v1/configs/more/activation").status == 200
        assert "<value>5w</value>" in owner.get("/v1/queue-file").json["text"]  # those in effect


def _source(content):
    return SourceText(content=content, name="serve.yaml", file="serve.yaml", folder="/")
