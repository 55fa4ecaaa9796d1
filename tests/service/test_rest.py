"""The REST interface, asked as its users ask it. One service for all tests of this file."""

import gzip
import http.client
import json
import resource
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests import skips
from tests.service.clients import Client, job, token
from tests.service.services import PATIENCE_S, killed, serving

from sluice.bootstrap.service.listening import PORT

skips.required("fastapi")

LOGS = Path(__file__).resolve().parents[1] / "data" / "logs"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("rest"), "--config", "serve.yaml") as running:
        yield running


@pytest.fixture(scope="module")
def anna(service):
    return Client(service, token(service, "anna"))


@pytest.fixture(scope="module")
def owner(service):
    return Client(service, is_owner=True)


def ended(client, job_id):
    """The job, once it has ended."""
    for _ in range(300):
        found = client.get(f"/v1/jobs/{job_id}").json
        if found["state"] not in {"waiting", "running"}:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{job_id} is open")


def test_a_service_that_observes_no_cluster_says_so(owner):
    answer = owner.get("/v1/observed")
    assert answer.status == 404
    assert "observes no cluster" in answer.json["what"]
    assert owner.get("/v1/steering").status == 404


def test_a_job_is_submitted_promised_run_and_explained(service, anna):
    answer = anna.post("/v1/jobs", {"job": job(service)})

    assert answer.status == 201, answer.text
    assert answer.json["promise"]["decision"] == "accepted"
    assert answer.json["promise"]["ends_at"]["low"] <= answer.json["promise"]["ends_at"]["high"]
    found = ended(anna, answer.json["job_id"])
    assert found["state"] == "done"
    assert found["tasks"] == {"waiting": 0, "running": 0, "done": 1, "failed": 0}
    assert service.output(found["job_id"]) == b"a b c\nb c\n"
    path = f"/v1/jobs/{found['job_id']}"
    assert anna.get(f"{path}/why").json["text"] == "it has ended"
    assert anna.get(f"{path}/story").json["lines"][-1]["what"] == "job done"
    assert anna.get(f"{path}/promise").json["outcome"]["kept"] in {True, False}
    attempts = anna.get(f"{path}/attempts").json
    assert attempts["total"] == 1
    assert attempts["items"][0]["state"] == "done"
    assert attempts["items"][0]["started_at"] < attempts["items"][0]["ended_at"]


def test_a_job_shows_its_stages_and_the_jobs_that_it_runs_after(service, anna):
    lengths = {"avg_s": 1, "max_s": 1}
    two = {"maps": {"tasks": 1, **lengths}, "reduces": {"tasks": 1, **lengths}}
    first = job(service, "first", 1, **two)
    first["run"] |= {"reducer": "cat"}
    body = {"version": 1, "jobs": [first, job(service, "second", 0.1, after=["first"])]}
    ids = [one["job_id"] for one in anna.post("/v1/workloads", body).json["jobs"]]

    before, after = (anna.get(f"/v1/jobs/{one}").json for one in ids)
    assert [stage["name"] for stage in before["phases"]] == ["map", "reduce"]
    assert [stage["after"] for stage in before["phases"]] == [[], ["map"]]
    assert before["after"] == []
    assert [(one["job_id"], one["name"]) for one in after["after"]] == [(ids[0], "first")]
    assert [(stage["name"], stage["state"]) for stage in after["phases"]] == [("map", "waiting")]

    for one in ids:
        ended(anna, one)
    before, after = (anna.get(f"/v1/jobs/{one}").json for one in ids)
    assert [stage["state"] for stage in before["phases"]] == ["done", "done"]
    ends = [stage["ends_at"]["expected"] for stage in before["phases"]]
    assert before["starts_at"] < ends[0] < ends[1] <= before["ends_at"]["expected"]
    assert after["after"][0]["state"] == "done"
    assert after["after"][0]["ends_at"] == before["ends_at"]


def test_the_end_of_each_stage_is_expected_while_a_job_runs(service, anna):
    lengths = {"avg_s": 60, "max_s": 60}
    two = {"maps": {"tasks": 1, **lengths}, "reduces": {"tasks": 1, **lengths}}
    long = job(service, "long", 60, **two)
    long["run"] |= {"reducer": "cat"}
    job_id = anna.post("/v1/jobs", {"job": long}).json["job_id"]

    found: dict[str, Any] = {}
    ends: list[Any] = [None]
    until_s = time.monotonic() + 30
    while None in ends and time.monotonic() < until_s:
        time.sleep(0.1)
        found = anna.get(f"/v1/jobs/{job_id}").json
        ends = [stage["ends_at"]["expected"] for stage in found["phases"]]
    anna.delete(f"/v1/jobs/{job_id}")
    assert found["state"] in {"waiting", "running"}
    assert found["submitted_at"] < ends[0] < ends[1] <= found["ends_at"]["expected"]


def test_the_command_and_the_interface_show_the_same_rows(service, owner):
    rows = [*service.settled().values()]  # a job that ends in between would be another row

    assert owner.get("/v1/jobs?limit=1000").json["items"] == rows


def test_a_key_makes_a_repetition_harmless(service, anna):
    first = anna.post("/v1/jobs", {"job": job(service, "once")}, Idempotency_Key="k")
    again = anna.post("/v1/jobs", {"job": job(service, "once")}, Idempotency_Key="k")
    other = anna.post("/v1/jobs", {"job": job(service, "other")}, Idempotency_Key="k")

    assert (first.status, again.status, other.status) == (201, 201, 409)
    assert again.json["job_id"] == first.json["job_id"]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert other.json["where"] == "Idempotency-Key"


def test_a_quote_submits_nothing(service, anna):
    before = anna.get("/v1/jobs").json["total"]

    answer = anna.post("/v1/quotes", {"jobs": [job(service)]})

    assert answer.status == 200, answer.text
    assert answer.json["decision"] == "accepted"
    assert answer.json["promise"]["job_id"] is None
    assert anna.get("/v1/jobs").json["total"] == before


def test_what_is_required_is_promised_or_nothing_is_submitted(service, anna):
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 5))
    late = {
        "job": job(service, "late", 60),
        "deadline_at": soon,
        "require": {"deadline_probability": 0.9},
    }
    before = anna.get("/v1/jobs").json["total"]

    refused = anna.post("/v1/jobs", late)

    assert refused.status == 200, refused.text
    assert refused.json["decision"] == "not_submitted"
    assert refused.json["deadline_probability"] < 0.9
    assert refused.json["counter_offers"]
    assert anna.get("/v1/jobs").json["total"] == before
    assert anna.post("/v1/jobs", late | {"job": job(service, "quick", 0.1)}).status == 201


def test_an_offer_of_a_quote_is_accepted(service, anna):
    asked = job(service, "offered", 20)
    at = f"{datetime.now(UTC) + timedelta(seconds=6):%Y-%m-%dT%H:%M:%SZ}"
    goal = {"deadline_at": at, "cost_usd_max": 100.0}
    quote = anna.post("/v1/quotes", {"jobs": [asked], "goal": goal}).json
    assert quote["promise"]["deadline_probability"] == 0.0
    assert quote["is_within_cost"] is True
    kinds = [one["kind"] for one in quote["counter_offers"]]
    accepted = {"job": asked, "quote_id": quote["quote_id"], "offer": kinds.index("later_deadline")}
    found = anna.post("/v1/jobs", accepted)
    assert found.status == 201, found.text
    assert found.json["promise"]["deadline_probability"] >= 0.9
    anna.delete(f"/v1/jobs/{found.json['job_id']}")
    other = {**accepted, "job": job(service, "another", 20)}
    assert anna.post("/v1/jobs", other).status == 409
    assert anna.post("/v1/jobs", {**accepted, "quote_id": "quote-0"}).status == 409
    assert anna.post("/v1/jobs", {**accepted, "offer": 9}).json["where"] == "offer"
    assert anna.post("/v1/jobs", {"job": asked, "offer": 0}).status == 422


def test_a_workload_is_taken_whole_or_not_at_all(service, anna):
    good = {"version": 1, "jobs": [job(service, "one"), job(service, "two", after=["one"])]}
    bad = {"version": 1, "jobs": [job(service, "one"), {"id": "two", "run": {}}]}
    before = anna.get("/v1/jobs").json["total"]

    assert anna.post("/v1/workloads", bad).status == 422
    assert anna.get("/v1/jobs").json["total"] == before
    answer = anna.post("/v1/workloads", good)
    assert answer.status == 201, answer.text
    assert [each["name"] for each in answer.json["jobs"]] == ["one", "two"]
    yaml = f"version: 1\njobs:\n  - {json.dumps(job(service, 'three'))}\n"
    assert (
        anna.ask("POST", "/v1/workloads", raw=yaml, Content_Type="application/yaml").status == 201
    )
    assert ended(anna, answer.json["jobs"][1]["job_id"])["state"] == "done"


def test_a_held_job_of_no_known_length_leaves_others_their_promises(service, anna):
    unknown = {name: value for name, value in job(service, "unsure").items() if name != "maps"}
    held = anna.post("/v1/jobs", {"job": unknown, "hold": True}).json["job_id"]
    try:
        promised = anna.post("/v1/jobs", {"job": job(service, "sure")}).json
        assert promised["promise"]["decision"] == "accepted", promised["why_not"]
        assert ended(anna, promised["job_id"])["state"] == "done"
    finally:
        anna.delete(f"/v1/jobs/{held}")


def test_a_job_with_lengths_names_the_job_that_has_none(service, anna):
    unknown = {name: value for name, value in job(service, "unknown").items() if name != "maps"}
    body = {"version": 1, "jobs": [job(service, "with-lengths"), unknown]}
    known, other = anna.post("/v1/workloads", body).json["jobs"]

    assert other["why_not"] == "no past run of it is known, and its file gives no lengths"
    assert known["why_not"] == (
        f"nothing is known of the length of {other['name']}, which is submitted with it"
    )


def test_pages_of_a_list_give_each_job_once(service, anna):
    for number in range(5):
        anna.post("/v1/jobs", {"job": job(service, f"page-{number}")})
    whole = [row["job_id"] for row in anna.get("/v1/jobs?limit=1000").json["items"]]

    page = anna.get("/v1/jobs?limit=2").json
    seen = [row["job_id"] for row in page["items"]]
    while page["next"] is not None:
        page = anna.get(f"/v1/jobs?limit=2&cursor={page['next']}").json
        assert page["total"] == len(whole)
        seen += [row["job_id"] for row in page["items"]]

    assert seen == whole
    assert anna.get("/v1/jobs?cursor=job-000001.00").status == 422


def test_a_cursor_belongs_to_the_list_that_gave_it(service, anna, owner):
    length = {"tasks": 1, "avg_s": 0.1, "max_s": 0.1}
    parts = job(service, "parts", maps=length, reduces=length)
    parts["run"] |= {"reducer": "cat"}
    path = ""
    for _ in range(2):
        made = anna.post("/v1/jobs", {"job": parts}).json
        path = f"/v1/jobs/{made['job_id']}"
        ended(anna, made["job_id"])
    lists = [
        (anna, "/v1/jobs?limit=1"),
        (anna, "/v1/jobs?limit=1&sort=ended"),
        (anna, "/v1/jobs?limit=1&name=parts"),
        (owner, "/v1/jobs?limit=1"),
        (anna, f"{path}/attempts?limit=1"),
        (anna, "/v1/promises?limit=1"),
        (anna, "/v1/promises?limit=1&profile=parts"),
        (owner, "/v1/audit?limit=1"),
    ]
    cursors = [client.get(address).json["next"] for client, address in lists]
    assert None not in cursors

    for number, (client, address) in enumerate(lists):
        for other, cursor in enumerate(cursors):
            answer = client.get(f"{address}&cursor={cursor}")
            assert answer.status == (200 if other == number else 422), (address, lists[other])
    assert anna.get(f"/v1/jobs?limit=2&cursor={cursors[0]}").status == 200  # as long as one likes


def test_a_job_is_held_changed_and_let_go(service, anna):
    asked = {"job": job(service, "later"), "hold": True, "labels": {"team": "red"}}
    found = anna.post("/v1/jobs", asked)
    assert found.json["state"] == "held"
    assert found.json["reason"] == "anna holds it"
    assert found.json["promise"]["decision"] == "accepted_without_promise"
    path = f"/v1/jobs/{found.json['job_id']}"
    tag = anna.get(path).headers["etag"]
    deadline = "2050-01-01T00:00:00Z"
    patch = {"weight": 2.5, "deadline_at": deadline, "labels": {"team": "blue"}}
    changed = anna.ask("PATCH", path, patch, If_Match=tag)
    assert changed.status == 200, changed.text
    assert changed.json["weight"] == 2.5
    assert changed.json["deadline_at"][:10] in {"2049-12-31", "2050-01-01"}
    assert anna.ask("PATCH", path, {"weight": 3.0}, If_Match=tag).status == 412
    listed = [row["job_id"] for row in anna.get("/v1/jobs?label=team=blue").json["items"]]
    assert listed == [found.json["job_id"]]
    assert anna.get("/v1/jobs?label=team=red").json["total"] == 0
    assert anna.get(f"{path}/why").json["reason"] == "held"
    assert anna.ask("PATCH", path, {"hold": False}).status == 200
    done = ended(anna, found.json["job_id"])
    assert done["state"] == "done"
    assert anna.ask("PATCH", path, {"weight": 3.0}).status == 409
    story = [line["why"] for line in anna.get(f"{path}/story").json["lines"]]
    assert any("not held any more, by anna" in why for why in story)


def test_a_held_job_is_held_after_a_crash_of_the_driver(service, anna):
    held = anna.post("/v1/jobs", {"job": job(service, "kept"), "hold": True}).json["job_id"]
    assert anna.ask("PATCH", f"/v1/jobs/{held}", {"weight": 4.0}).status == 200
    killed(service.pid("driver"))
    patch = {"labels": {"after": "crash"}}
    until_s = time.monotonic() + PATIENCE_S
    while (answer := anna.ask("PATCH", f"/v1/jobs/{held}", patch)).status != 200:
        assert time.monotonic() < until_s, answer.text
        time.sleep(0.1)
    assert (answer.json["state"], answer.json["weight"]) == ("held", 4.0)
    anna.ask("PATCH", f"/v1/jobs/{held}", {"hold": False})
    assert ended(anna, held)["state"] == "done"
    assert service.run("serve", "verify")[0] == 0


def test_why_a_job_waited_at_an_instant_of_the_past(service, anna):
    long = [anna.post("/v1/jobs", {"job": job(service, f"long-{n}", 6)}).json for n in range(4)]
    end_s = time.monotonic() + 30
    while anna.get("/v1/jobs?state=running").json["total"] < len(long):
        assert time.monotonic() < end_s
        time.sleep(0.05)
    late = anna.post("/v1/jobs", {"job": job(service, "late", 0.1)}).json["job_id"]
    then = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    waited = anna.get(f"/v1/jobs/{late}/why").json
    assert waited["state"] == "queued"
    assert ended(anna, late)["state"] == "done"

    found = anna.get(f"/v1/jobs/{late}/why?at={then}")
    assert found.status == 200, found.text
    assert found.json["state"] == "queued"
    assert found.json["reason"] == waited["reason"]
    assert {row["job_id"] for row in found.json["ahead"]} <= {one["job_id"] for one in long}
    assert anna.get(f"/v1/jobs/{late}/why").json["state"] == "done"
    for at, status in (("2020-01-01T00:00:00Z", 422), ("2096-01-01T00:00:00Z", 422), ("1", 422)):
        assert anna.get(f"/v1/jobs/{late}/why?at={at}").status == status
    assert anna.get(f"/v1/jobs/job-999999/why?at={then}").status == 404


def span(job):
    """From a minute before the job came to now, at least a minute after it, as a query."""
    at = datetime.fromisoformat(job["submitted_at"])
    start = at - timedelta(minutes=1)
    end = max(datetime.now(UTC), at) + timedelta(minutes=1)
    return f"from={start:%Y-%m-%dT%H:%M:%SZ}&to={end:%Y-%m-%dT%H:%M:%SZ}"


def test_what_ran_where_over_a_span(service, anna):
    asked = {"job": job(service, "drawn", 1)}
    done = ended(anna, anna.post("/v1/jobs", asked).json["job_id"])
    path = f"/v1/timeline?{span(done)}&columns=120&by=node"
    answer = anna.get(path)
    assert answer.status == 200, answer.text
    head, _, _ = answer.text.partition("\n")
    assert json.loads(head)["rows"] == ["node-1", "node-2"]
    cells = answer.content[len(head) + 1 :]
    assert len(cells) == 2 * 120
    assert any(cells)
    # An attempt of another job may run on, and fill more of its column from look to look.
    assert any(
        gzip.decompress(anna.get(path, Accept_Encoding="gzip").content) == anna.get(path).content
        for _ in range(20)
    )
    listed = anna.get(f"/v1/attempts?{span(done)}").json["items"]
    assert done["job_id"] in {row["job_id"] for row in listed}
    assert (
        anna.get("/v1/attempts?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z").json["items"]
        == []
    )
    assert anna.get("/v1/timeline?from=2020-01-02T00:00:00Z&to=2020-01-01T00:00:00Z").status == 422


def test_a_job_that_is_done_is_explained_and_exported(service, anna):
    asked = job(service, "explained", 0.3)
    done = ended(anna, anna.post("/v1/jobs", {"job": asked}).json["job_id"])
    path = f"/v1/jobs/{done['job_id']}"
    until_s = time.monotonic() + PATIENCE_S
    while (found := anna.get(f"{path}/explain")).status != 200:
        assert time.monotonic() < until_s, found.text
        time.sleep(0.2)
    assert found.json["recorded_s"] >= 0.3
    assert found.json["critical_path"][0]["stage"] == "map"
    exported = anna.get(f"{path}/workload").json
    assert exported["jobs"][0]["id"] == "explained"
    file = service.folder / "exported.json"
    file.write_text(json.dumps(exported))
    code, _, err = service.run("simulate", str(file))
    assert code == 0, err
    held = anna.post("/v1/jobs", {"job": asked, "hold": True}).json["job_id"]
    assert anna.get(f"/v1/jobs/{held}/explain").status == 409
    anna.delete(f"/v1/jobs/{held}")


def ran_s(row):
    """How long an attempt has run."""
    end, start = (datetime.fromisoformat(row[name]) for name in ("ended_at", "started_at"))
    return (end - start).total_seconds()


def test_the_longest_attempts_of_a_job_come_first_where_one_asks(service, anna):
    """Each of three tasks sleeps for as long as its own input says."""
    (service.folder / "uneven").mkdir()
    for number in range(3):
        (service.folder / "uneven" / f"{number}").write_text(f"0.{1 + 4 * (number == 1)}\n")
    asked = job(service, "uneven")
    asked["maps"]["tasks"] = 3
    asked["run"] |= {
        "input": [str(service.folder / "uneven" / "*")],
        "mapper": "sh -c 'read first; sleep $first; cat'",
    }
    done = ended(anna, anna.post("/v1/jobs", {"job": asked}).json["job_id"])
    path = f"/v1/jobs/{done['job_id']}/attempts"

    rows = anna.get(path).json["items"]
    assert [row["started_at"] for row in rows] == sorted(row["started_at"] for row in rows)
    first = anna.get(f"{path}?sort=longest&limit=1").json
    rest = anna.get(f"{path}?sort=longest&cursor={first['next']}").json["items"]
    found = [*first["items"], *rest]
    assert sorted(row["task"] for row in found) == [0, 1, 2]
    assert [ran_s(row) for row in found] == sorted(map(ran_s, rows), reverse=True)
    assert ran_s(found[0]) > 0.5
    (lengths,) = first["lengths"]  # of the whole, in whatever part
    assert (lengths.pop("phase"), lengths.pop("done")) == ("map", 3)
    assert list(lengths) == ["min_s", "p25_s", "p50_s", "p75_s", "max_s"]
    middle, longest = sorted(map(ran_s, rows))[1:]
    assert lengths["p50_s"] == pytest.approx(middle, abs=2e-3)  # of instants in ms
    assert lengths["p75_s"] == lengths["max_s"] == pytest.approx(longest, abs=2e-3)
    assert anna.get(f"{path}?sort=longest&cursor={first['next']}").json["lengths"] is None
    assert anna.get(f"{path}?sort=started&cursor={first['next']}").status == 422
    assert anna.get(f"{path}?sort=shortest").status == 422


def test_the_log_of_an_attempt(service, anna):
    speaking = job(service, "speaks")
    speaking["run"]["mapper"] = "sh -c 'echo heard >&2; cat'"
    done = ended(anna, anna.post("/v1/jobs", {"job": speaking}).json["job_id"])
    path = f"/v1/jobs/{done['job_id']}/attempts"
    (row,) = anna.get(path).json["items"]
    log = anna.get(f"{path}/{row['key']}/log")
    assert (log.status, log.text) == (200, "heard\n")
    assert log.headers["content-type"].startswith("text/plain")
    assert log.headers["x-content-type-options"] == "nosniff"
    part = anna.get(f"{path}/{row['key']}/log", Range="bytes=-3")
    assert (part.status, part.text) == (206, "rd\n")
    assert anna.get(f"{path}/{row['key']}/log", Range="bytes=9-").status == 416
    assert anna.get(f"{path}/map-7-1/log").status == 404


@pytest.mark.parametrize(
    ("patch", "where"),
    [
        ({}, "body"),
        ({"weight": None}, "weight"),
        ({"weight": -1}, "body.weight"),
        ({"priority": 3}, "body.priority"),
        ({"deadline_at": "2001-01-01T00:00:00Z"}, "deadline_at"),
    ],
)
def test_a_wrong_change_is_refused(service, anna, patch, where):
    found = anna.post("/v1/jobs", {"job": job(service, "later"), "hold": True}).json
    refused = anna.ask("PATCH", f"/v1/jobs/{found['job_id']}", patch)
    assert (refused.status, refused.json["where"]) == (422, where)
    anna.delete(f"/v1/jobs/{found['job_id']}")


def test_jobs_are_listed_by_their_end(service, anna):
    ids = [
        anna.post("/v1/jobs", {"job": job(service, f"sorted-{n}"), "labels": {"sorted": ""}}).json[
            "job_id"
        ]
        for n in range(3)
    ]
    for job_id in ids:
        ended(anna, job_id)
    first = anna.get("/v1/jobs?label=sorted&sort=ended&limit=2").json
    rest = anna.get(f"/v1/jobs?label=sorted&sort=ended&limit=2&cursor={first['next']}").json
    rows = first["items"] + rest["items"]
    assert sorted(row["job_id"] for row in rows) == ids
    ends = [row["ends_at"]["expected"] for row in rows]
    assert ends == sorted(ends, reverse=True)
    assert anna.get("/v1/jobs?since=2099-01-01T00:00:00Z").json["total"] == 0
    assert anna.get("/v1/jobs?label=sorted&user=anna").json["total"] == 3
    assert anna.get("/v1/jobs?user=bert").json["total"] == 0


def test_a_job_is_killed_once(service, anna):
    job_id = anna.post("/v1/jobs", {"job": job(service, "long", 60)}).json["job_id"]

    first = anna.delete(f"/v1/jobs/{job_id}?reason=no%20need")

    assert (first.status, first.json["state"]) == (202, "killed")
    assert ended(anna, job_id)["state"] == "killed"
    assert anna.delete(f"/v1/jobs/{job_id}").status == 202
    done = ended(anna, anna.post("/v1/jobs", {"job": job(service)}).json["job_id"])
    assert anna.delete(f"/v1/jobs/{done['job_id']}").status == 409


@pytest.mark.parametrize(
    ("method", "path", "status", "where"),
    [
        ("GET", "/v1/jobs/job-999999", 404, "job_id"),
        ("GET", "/v1/nothing", 404, "/v1/nothing"),
        ("GET", "/v1/jobs?limit=0", 422, "query.limit"),
        ("GET", "/v1/jobs?colour=red", 422, "query.colour"),
        ("GET", "/v1/jobs/job-999999?colour=red", 422, "query.colour"),
        ("GET", "/v1/jobs/job-999999/why?at=2026-01-01T00:00:00Z&At=1", 422, "query.At"),
        ("GET", "/v1/jobs?state=lost", 422, "query.state.0"),
        ("GET", "/v1/tokens", 403, "GET /v1/tokens"),
        ("PUT", "/v1/jobs", 405, ""),
        ("POST", "/v1/jobs", 422, "body"),
    ],
)
def test_a_refusal_says_what_and_where(anna, method, path, status, where):
    answer = anna.ask(method, path)

    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["where"] == where
    assert answer.json["what"]
    assert answer.json["request_id"] == answer.headers["x-request-id"]


def test_the_methods_of_a_path_are_named(anna):
    assert anna.ask("PUT", "/v1/jobs").headers["allow"] == "GET, POST"
    assert anna.ask("POST", "/v1/jobs/job-000001", {}).headers["allow"] == "DELETE, GET, PATCH"


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        ({"extra": 1}, "body.extra", "extra inputs"),
        ({"deadline_at": "2020-01-01T00:00:00Z"}, "deadline_at", "within the next"),
        ({"deadline_at": "2020-01-01T00:00:00"}, "body.deadline_at", "timezone"),
        ({"job": {"id": "x"}}, "request line 1", "no task"),
        ({"queue": ""}, "body.queue", "at least 1 character"),
    ],
)
def test_a_wrong_job_is_refused(service, anna, change, where, what):
    answer = anna.post("/v1/jobs", {"job": job(service)} | change)

    assert answer.status == 422, answer.text
    assert where in answer.json["where"]
    assert what in answer.json["what"]


def test_a_relative_path_is_refused(service, anna):
    wrong = job(service)
    wrong["run"]["input"] = ["in/*.txt"]

    answer = anna.post("/v1/jobs", {"job": wrong})

    assert (answer.status, answer.json["where"]) == (422, "jobs.0.run.input")


def test_bodies_that_are_no_json_too_long_or_of_another_type(anna):
    assert anna.ask("POST", "/v1/jobs", raw="{").status == 400
    assert anna.ask("POST", "/v1/jobs", raw="[" * 100_000).status == 400
    assert anna.ask("POST", "/v1/jobs", raw=b"\xff\xfe").status == 400
    assert anna.ask("POST", "/v1/jobs", raw=" " * (1 << 20) + "{}").status == 413
    assert anna.ask("POST", "/v1/jobs", raw="{}", Content_Type="text/plain").status == 415
    assert anna.get("/v1/jobs", X_Long="x" * 17_000).status == 431


def test_the_owner_makes_and_revokes_tokens(service, owner):
    made = owner.post("/v1/tokens", {"name": "ben", "tenant": "etl", "role": "viewer"})
    ben = Client(service, made.json["token"])

    assert made.status == 201
    found = ben.get("/v1/whoami").json
    assert found | {
        "tenant": "etl", "user": "ben", "role": "viewer", "via": "token", "shared_user": False,
    } == found  # fmt: skip
    assert set(found["used"]) == {"open_jobs_max", "waiting_tasks_max", "spend_day_usd_max"}
    assert ben.post("/v1/jobs", {"job": job(service)}).status == 403
    assert owner.post("/v1/tokens", made.json | {"token": None}).status == 422
    assert owner.delete("/v1/tokens/ben").status == 204
    assert ben.get("/v1/whoami").status == 401
    assert "ben" not in owner.get("/v1/tokens").text
    lines = [line["action"] for line in owner.get("/v1/audit").json["items"]]
    assert "DELETE /v1/tokens/ben" in lines
    assert made.json["token"] not in owner.get("/v1/audit?limit=1000").text


def test_a_cordoned_node_gets_no_work_until_it_is_undone(service, anna, owner):
    oscar = Client(service, token(service, "cordoner", "etl", "operator"))
    names = [node["node_id"] for node in anna.get("/v1/nodes").json["nodes"]]
    path = f"/v1/nodes/{names[0]}"
    assert anna.ask("PATCH", path, {"cordoned": True}).status == 403
    assert oscar.ask("PATCH", "/v1/nodes/nowhere", {"cordoned": True}).status == 404
    assert oscar.ask("PATCH", path, {"cordoned": "yes"}).status == 422

    done = oscar.ask("PATCH", path, {"cordoned": True, "reason": "new disk"})
    assert (done.status, done.json) == (200, {"node_id": names[0], "cordoned": True})
    jobs = [
        anna.post("/v1/jobs", {"job": job(service, f"spared-{n}", 0.1)}).json["job_id"]
        for n in range(4)
    ]
    assert {ended(anna, one)["state"] for one in jobs} == {"done"}
    ran_on = {
        row["node"] for one in jobs for row in anna.get(f"/v1/jobs/{one}/attempts").json["items"]
    }
    assert ran_on == set(names[1:])
    (row,) = [r for r in anna.get("/v1/nodes").json["nodes"] if r["node_id"] == names[0]]
    assert (row["state"], row["cordoned"]) == ("up", "new disk")

    assert oscar.ask("PATCH", path, {"cordoned": False}).status == 200
    end_s = time.monotonic() + 10
    while any(row["cordoned"] for row in anna.get("/v1/nodes").json["nodes"]):
        assert time.monotonic() < end_s
        time.sleep(0.1)
    assert "PATCH " + path in [line["action"] for line in owner.get("/v1/audit").json["items"]]


def test_why_of_a_job_that_the_service_does_not_have(service, anna):
    job_id = anna.post("/v1/jobs", {"job": job(service, "by-its-name"), "hold": True}).json[
        "job_id"
    ]
    code, out, err = service.run("why", "job-999999")
    assert (code, out) == (2, "")
    assert "the service has no job 'job-999999'" in err
    assert "sluice jobs" in err
    assert "--run" in err
    for command in ("why", "story"):
        code, out, err = service.run(command, "by-its-name")
        assert (code, out) == (2, "")
        assert f"sluice {command} {job_id}" in err
    anna.delete(f"/v1/jobs/{job_id}")


def test_queues_nodes_and_figures(service, anna, owner):
    ended(anna, anna.post("/v1/jobs", {"job": job(service)}).json["job_id"])
    assert anna.get("/v1/queues").json["slots"] == 6
    assert [node["state"] for node in anna.get("/v1/nodes").json["nodes"]] == ["up", "up"]
    assert anna.get("/v1/promises").json["total"] > 0
    assert anna.get("/v1/calibration?by=queue").json["by"] == "queue"
    figures = owner.get("/metrics").text
    assert 'sluice_jobs{queue="count",state="done"}' in figures
    assert "sluice_nodes_up 2.0" in figures
    assert anna.get("/metrics").status == 403


def test_an_admin_sees_how_the_processes_of_the_service_are(service, anna, owner):
    rows = owner.get("/v1/processes").json["items"]
    assert [row["process"] for row in rows] == ["driver", "follower", "web"]
    assert rows[2]["pid"] == owner.get("/v1/about").json["pid"]
    for row in rows:
        pages = int(Path(f"/proc/{row['pid']}/statm").read_text("ascii").split()[1])
        assert row["rss_bytes"] == pytest.approx(pages * resource.getpagesize(), rel=0.5)
        begun = datetime.fromisoformat(row["started_at"])
        assert 0 < (datetime.now(UTC) - begun).total_seconds() < 3600
        assert 0 <= row["lag_s"] < 60
    assert len({row["pid"] for row in rows}) == 3
    assert anna.get("/v1/processes").status == 403


def test_the_nodes_name_their_jobs_and_not_those_of_other_tenants(service, anna, owner):
    made = anna.post("/v1/jobs", {"job": job(service, "by-its-name", 30)}).json["job_id"]
    by_id = {}
    while made not in by_id:
        rows = anna.get("/v1/nodes").json["nodes"]
        assert all(len(row["names"]) == len(row["jobs"]) for row in rows)
        by_id = {
            one: name for row in rows for one, name in zip(row["jobs"], row["names"], strict=True)
        }
    assert by_id[made] == "by-its-name"
    other = Client(service, token(service, "otto", "otto-tenant", "viewer"))
    for row in other.get("/v1/nodes").json["nodes"]:
        assert set(row["names"]) == set(row["jobs"]) <= {"other tenant"}
    anna.delete(f"/v1/jobs/{made}")


def test_promises_come_in_parts_and_unknown_fields_are_refused(service, anna):
    for number in range(3):
        made = anna.post("/v1/jobs", {"job": job(service, f"paged-{number}"), "hold": True})
        assert made.status == 201
    whole = anna.get("/v1/promises?limit=1000").json
    assert (len(whole["items"]), whole["next"]) == (whole["total"], None)
    assert [one["state"] for one in whole["items"][:3]] == ["held"] * 3

    part = anna.get("/v1/promises?limit=2").json
    found = part["items"]
    while part["next"]:
        part = anna.get(f"/v1/promises?limit=2&cursor={part['next']}").json
        found += part["items"]

    assert [one["job_id"] for one in found] == [one["job_id"] for one in whole["items"]]
    for query in ("knept=true", "cursor=job-000001.00", "limit=0", "kept=perhaps"):
        refused = anna.get(f"/v1/promises?{query}")
        assert refused.status == 422, query
        assert refused.headers["content-type"] == "application/problem+json"
    document = anna.get("/v1/openapi.json").json["paths"]["/v1/promises"]["get"]
    names = {field["name"] for field in document["parameters"]}
    assert names == {"kept", "profile", "limit", "cursor"}


def test_the_account_of_the_service_makes_links_and_ends_them(service, owner):
    job_id = owner.post("/v1/jobs", {"job": job(service, "linked"), "hold": True}).json["job_id"]
    code, url, err = service.run("link", job_id, "--for", "2h")
    assert code == 0, err
    guest = Client(service, url.strip().partition("/shared#")[2])
    assert guest.get(f"/v1/jobs/{job_id}").json["name"] == "linked"
    assert job_id in err
    assert {"url", "token", "ends_at"} < set(service.document("link", job_id))
    refusals = (
        (["link", "job-999999"], "there is no job"),
        (["link", job_id, "--for", "soon"], "'soon' is not a length of time"),
        (["link", job_id, "--for", "91d"], "7776000"),
        (["link"], "give a job, or --end-all"),
        (["link", job_id, "--end-all"], "give a job, or --end-all"),
    )
    for arguments, message in refusals:
        code, out, err = service.run(*arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err

    for secret in (guest._token, owner.post("/v1/login-links").json["code"]):
        assert Client(service).post("/v1/session", {"token": secret}).status == 204
    lines = [one for one in owner.get("/v1/audit").json["items"] if "/session" in one["action"]]
    by_code, by_link = (lines[0], lines[1])
    maker = owner.get("/v1/whoami").json["user"]
    assert (by_link["who"], by_link["via"]) == (f"link of {maker}", "link")
    assert (by_code["who"], by_code["via"]) == (maker, "socket")

    assert service.run("link", "--end-all")[0] == 0
    assert guest.get(f"/v1/jobs/{job_id}").status == 401
    owner.delete(f"/v1/jobs/{job_id}")


PLANNED = {
    "version": 1,
    "cluster": {"map_slots_per_vm": 2, "reduce_slots_per_vm": 2},
    "prices": {"vm_hour_usd": 1.0},
    "jobs": [{"id": "a", "maps": {"tasks": 8, "avg_s": 10}, "reduces": {"tasks": 2, "avg_s": 5}}],
}


def made(client, answer):
    """The answer, once it is made."""
    assert answer.status == 202, answer.text
    for _ in range(300):
        found = client.get(answer.headers["location"]).json
        if found["state"] != "running":
            return found
        time.sleep(0.1)
    raise AssertionError("it is not made")


def test_plans_and_sizes_are_made_aside(service, anna):
    plan = made(anna, anna.post("/v1/plans", {"workload": PLANNED}))

    assert plan["state"] == "done", plan
    assert plan["result"]["plans"]
    sized = {**PLANNED, "cluster": {"nodes": 1, "node": {"map_slots": 2, "reduce_slots": 2}}}
    size = made(anna, anna.post("/v1/capacity", {"workload": sized, "deadline_s": 60}))
    assert size["state"] == "done", size
    wrong = made(anna, anna.post("/v1/plans", {"workload": {"version": 1}}))
    assert (wrong["state"], wrong["result"]) == ("failed", None)
    assert "jobs" in wrong["problem"]


def test_a_plan_is_chosen_and_put_to_work(service, anna):
    jobs = [
        {**job(service, name, 0.1), "maps": {"tasks": 4, "fixed_s": 1, "work_s": 100}}
        for name in ("first", "second")
    ]
    workload = {
        "version": 1,
        "cluster": {"map_slots_per_vm": 1, "reduce_slots_per_vm": 1},
        "prices": {"vm_hour_usd": 1.0, "billing_s": 60},
        "jobs": jobs,
    }
    found = made(anna, anna.post("/v1/plans", {"workload": json.dumps(workload)}))
    assert found["state"] == "done", found
    first = found["result"]["plans"][0]
    path = f"/v1/plans/{found['answer_id']}/choice"
    key = "put-to-work"
    chosen = anna.post(path, {"plan": 1}, Idempotency_Key=key)
    assert chosen.status == 201, chosen.text
    again = anna.post(path, {"plan": 1}, Idempotency_Key=key)
    assert again.json["jobs"] == chosen.json["jobs"]
    assert again.headers["idempotent-replayed"] == "true"
    vms = sum(one["vms"] for one in first["jobs"].values())
    assert chosen.json["to_rent"] == max(0, vms - 2)
    for row in chosen.json["jobs"]:
        done = ended(anna, row["job_id"])
        assert done["state"] == "done"
        assert done["weight"] == first["jobs"][row["name"]]["containers"]
    assert anna.post(path, {"plan": 99}).json["where"] == "plan"
    assert anna.post("/v1/plans/answer-0/choice", {"plan": 1}).status == 404


def test_a_log_is_imported_and_its_runs_are_read(service, anna, owner):
    log = (LOGS / "spark" / "linelen_rdd-50MB-local2.jsonl.gz").read_bytes()
    binary = {"Content_Type": "application/octet-stream"}

    found = made(anna, anna.ask("POST", "/v1/imports?name=app.gz", raw=log, **binary))
    assert found["state"] == "done", found
    (file,) = found["result"]["files"]
    assert (file["format"], file["jobs"]) == ("spark", 1)
    assert "home" not in json.dumps(found), "no path of the machine"
    runs = owner.get("/v1/profiles/linelen_rdd/runs?limit=1").json
    assert runs["total"] == 1
    assert len(runs["items"]) == 1
    assert owner.get("/v1/profiles/nothing/runs").status == 404
    assert anna.get("/v1/profiles/linelen_rdd/runs").status == 403

    bad = made(anna, anna.ask("POST", "/v1/imports", raw=b"not a log", **binary))
    assert bad["state"] == "failed"
    assert "unknown format" in bad["problem"]
    for query, body, kind, status in (
        ("", b"", binary, 400),
        ("?name=../x", log, binary, 422),
        ("?name=--help", log, binary, 422),
        ("", log, {}, 415),
        ("", b"x" * ((64 << 20) + 1), binary, 413),
    ):
        assert anna.ask("POST", f"/v1/imports{query}", raw=body, **kind).status == status, query
    stranger = Client(service)
    assert stranger.ask("POST", "/v1/imports", raw=b"x" * (2 << 20), **binary).status == 413


def test_past_jobs_are_planned_for_the_machines_of_the_service(service, anna):
    ended(anna, anna.post("/v1/jobs", {"job": job(service, "learned")}).json["job_id"])
    found = made(anna, anna.post("/v1/plans", {"profiles": ["learned"], "budget_usd": 3.0}))
    assert (found["state"], found["problem"]) == ("done", None)
    assert found["result"]["plans"][-1]["budget_usd"] < 3.0
    strange = anna.post("/v1/plans", {"profiles": ["others"]})
    assert (strange.status, strange.json["where"]) == (422, "profiles")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/plans", {}),
        ("/v1/plans", {"jobs": [{}], "profiles": ["a"]}),
        ("/v1/plans", {"workload": {}, "meet_deadlines": 0}),
        ("/v1/capacity", {"workload": {}, "deadline_s": "60"}),
        ("/v1/jobs", {"job": {}, "require": {"deadline_probability": "0.5"}}),
    ],
)
def test_a_value_of_another_type_is_refused(anna, path, body):
    assert anna.post(path, body).status == 422


def test_an_answer_is_its_tenants_alone_and_can_be_cancelled(service, anna, owner):
    phases = {"maps": {"tasks": 90, "avg_s": 10}, "reduces": {"tasks": 20, "avg_s": 5}}
    slow = {**PLANNED, "jobs": [{"id": f"j{number}", **phases} for number in range(4000)]}
    stranger = Client(service, token(service, "stranger", "other", "viewer"))

    begun = anna.post("/v1/plans", {"workload": slow})

    assert begun.status == 202
    assert stranger.get(begun.headers["location"]).status == 404
    assert anna.post("/v1/plans", {"workload": slow}).status == 429
    assert anna.delete(begun.headers["location"]).status == 204
    assert anna.get(begun.headers["location"]).json["state"] == "cancelled"


def test_an_answer_does_not_wait_for_an_acknowledgement(service):
    """Head and content go in two packets; held back, the second comes 40 ms later each time."""
    connection = http.client.HTTPConnection(Client(service).host, timeout=60)
    took_s = []
    for _ in range(15):
        began_s = time.perf_counter()
        connection.request("GET", "/v1/about")
        connection.getresponse().read()
        took_s.append(time.perf_counter() - began_s)
    connection.close()

    assert min(took_s[1:]) < 0.03


def test_health_needs_no_token(service):
    stranger = Client(service)

    assert stranger.get("/healthz").status == 200
    assert stranger.get("/readyz").status == 200
    assert stranger.get("/v1/about").json["api"] == "v1"
    assert stranger.get("/v1/openapi.json").json["openapi"].startswith("3.1")


def answers_again(client):
    """Whether the web process answers within a minute."""
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        try:
            if client.get("/readyz").status == 200:
                return True
        except OSError:
            time.sleep(0.1)
    return False


def test_the_web_process_may_die_while_jobs_run(service, anna, owner):
    job_id = anna.post("/v1/jobs", {"job": job(service, "steady", 2)}).json["job_id"]

    killed(owner.get("/v1/about").json["pid"])

    assert answers_again(anna)
    assert ended(owner, job_id)["state"] == "done"


def test_a_page_stays_at_its_address_when_the_web_process_starts_again(tmp_path):
    with socket.socket() as other:
        with suppress(OSError):  # another service has it
            other.bind(("127.0.0.1", PORT))
            other.listen()
        with serving(tmp_path, "--config", "serve.yaml") as running:
            assert not running.page.endswith(f":{PORT}")
            other.close()  # now the default port is free

            killed(Client(running, is_owner=True).get("/v1/about").json["pid"])

            assert answers_again(Client(running))


def test_queues_are_answered_while_the_driver_starts_again(service, anna):
    killed(service.pid("driver"))
    answers = [anna.get("/v1/queues")]
    until_s = time.monotonic() + 120  # the driver may start slowly
    while answers[-1].json.get("conditions") != []:
        assert time.monotonic() < until_s, answers[-1].text
        answers.append(anna.get("/v1/queues"))
    assert {answer.status for answer in answers} == {200}
    assert [each["code"] for each in answers[0].json["conditions"]] == ["no_driver"]
    assert answers[-1].json["conditions"] == []
