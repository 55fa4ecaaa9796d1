"""Who may ask for what: over all routes of the interface, so that a new one cannot be forgotten."""

import json
import random
import socket
import time

import pytest
from tests import skips
from tests.service.clients import Client, job, token
from tests.service.services import CONFIG, serving

skips.required("fastapi")

MARK = "zebra"  # in everything that belongs to the one tenant
OPEN = {"/healthz", "/readyz", "/v1/about", "/v1/openapi.json", "/v1/session"}
QUESTIONS = {"/v1/capacity", "/v1/answers/{answer_id}"}  # which take a while, and change nothing
WAYS = {"/v1/attempts": [""], "/v1/timeline": ["", "&by=queue", "&by=job"]}
SHARED = CONFIG.replace("service: {", "service: {shared_user: true, ")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("isolation")
    with serving(folder, "--config", "serve.yaml", config=SHARED) as running:
        yield running


@pytest.fixture(scope="module")
def tokens(service):
    return {
        "anna": token(service, f"{MARK}-anna", MARK),
        "ben": token(service, "ben", "other"),
        "vera": token(service, "vera", "other", "viewer"),
        "oscar": token(service, "oscar", "other", "operator"),
    }


@pytest.fixture(scope="module")
def jobs(service, tokens):
    """Jobs of both tenants, done, running and waiting, those of the one with marks in all texts."""
    rng = random.Random(4)
    anna, ben = (Client(service, tokens[name]) for name in ("anna", "ben"))
    ids: dict[str, list[str]] = {"anna": [], "ben": []}
    for number in range(4):
        seconds = rng.choice([0.1, 0.1, 30])
        mine = anna.post("/v1/jobs", {"job": job(service, f"{MARK}-{number}", seconds)})
        other = ben.post("/v1/jobs", {"job": job(service, f"plain-{number}", seconds)})
        ids["anna"].append(mine.json["job_id"])
        ids["ben"].append(other.json["job_id"])
    for state in ("done", "running"):
        while not anna.get(f"/v1/jobs?state={state}").json["total"]:
            time.sleep(0.1)
    yield ids
    for one in ids["anna"]:
        anna.delete(f"/v1/jobs/{one}")
    for one in ids["ben"]:
        ben.delete(f"/v1/jobs/{one}")


def routes(service):
    """(method, path) of the whole interface."""
    paths = Client(service).get("/v1/openapi.json").json["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in sorted(methods)]


def filled(path, job_id):
    for name in ("job_id", "node_id", "queue", "name", "answer_id", "key"):
        path = path.replace(f"{{{name}}}", job_id)
    return path


def reads(service, ids):
    """Every path that can be read, about each of these jobs, with each way to filter."""
    for method, path in routes(service):
        if method != "GET" or path == "/v1/events":
            continue
        if path in {"/v1/timeline", "/v1/attempts"}:
            span = "from=2026-01-01T00:00:00Z&to=2096-01-01T00:00:00Z"
            yield from (f"{path}?{span}{by}" for by in WAYS[path])
            continue
        if "{" not in path:
            yield path
            if path in {"/v1/jobs", "/v1/promises"}:
                yield f"{path}?limit=1000"
            continue
        for job_id in ids:
            yield filled(path, job_id)


def test_a_tenant_reads_nothing_of_another(service, tokens, jobs):
    ben = Client(service, tokens["ben"])
    every = [*jobs["anna"], *jobs["ben"], f"{MARK}-0"]

    for path in [*reads(service, every), f"/v1/jobs?name={MARK}-0", f"/v1/jobs?tenant={MARK}"]:
        answer = ben.get(path)
        said = answer.text.replace(path, "")
        for name in every if MARK in path else []:
            said = said.replace(name, "")  # what was asked for may be said again
        assert MARK not in said, (path, answer.text)

    assert ben.get(f"/v1/jobs/{jobs['anna'][0]}").status == 404
    assert ben.delete(f"/v1/jobs/{jobs['anna'][-1]}").status == 404
    assert ben.get("/v1/jobs").json["total"] == len(jobs["ben"])


def test_an_operator_sees_all(service, tokens, jobs):
    found = Client(service, tokens["oscar"]).get("/v1/jobs?limit=1000").json

    assert {row["tenant"] for row in found["items"]} == {MARK, "other"}


def test_a_stream_has_only_what_its_tenant_may_see(service, tokens, jobs):
    anna, ben = (Client(service, tokens[name]) for name in ("anna", "ben"))
    connection = ben._connection()
    connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {tokens['ben']}"})
    stream = connection.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")
    time.sleep(0.6)

    jobs["anna"].append(
        anna.post("/v1/jobs", {"job": job(service, f"{MARK}-s", 30)}).json["job_id"]
    )
    jobs["ben"].append(ben.post("/v1/jobs", {"job": job(service, "seen", 30)}).json["job_id"])
    said = b""
    while b'"seen"' not in said:
        said += stream.read1(65536)
    connection.close()

    assert MARK.encode() not in said
    line = next(line for line in said.decode().splitlines() if line.startswith('data: {"rows"'))
    assert json.loads(line[6:])["rows"]


def test_without_a_token_nothing_is_said(service):
    stranger = Client(service)
    for method, path in routes(service):
        answer = stranger.ask(method, filled(path, "job-000001"))
        if path not in OPEN:
            assert answer.status == 401, (method, path, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


def test_a_query_field_that_a_route_does_not_have_is_refused(service):
    """Before anything is done: a mistyped `?reason=` kills no job."""
    owner = Client(service, is_owner=True)
    for method, path in routes(service):
        answer = owner.ask(method, f"{filled(path, 'job-000001')}?colour=red")
        assert (answer.status, answer.json["where"]) == (422, "query.colour"), (method, path)
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_wrong_token_is_refused(service):
    for wrong in ("sl_" + "x" * 43, "sl_", "' OR 1=1 --"):
        assert Client(service, wrong).get("/v1/jobs").status == 401


def test_a_viewer_changes_nothing(service, tokens, jobs):
    vera = Client(service, tokens["vera"])
    for method, path in routes(service):
        if method != "GET" and path not in OPEN | QUESTIONS:
            kind = {"Content_Type": "application/octet-stream"} if path == "/v1/imports" else {}
            answer = vera.ask(method, filled(path, jobs["ben"][0]), {}, **kind)
            assert answer.status == 403, (method, path, answer.text)


def test_a_link_shows_one_job_and_nothing_else(service, tokens, jobs):
    anna = Client(service, tokens["anna"])
    shown, other = jobs["anna"][:2]
    made = anna.post(f"/v1/jobs/{shown}/links", {"valid_s": 600})
    assert made.status == 201, made.text
    assert made.json["url"].endswith(f"/shared#{made.json['token']}")
    guest = Client(service, made.json["token"])

    assert guest.get(f"/v1/jobs/{shown}").json["job_id"] == shown
    assert guest.get(f"/v1/jobs/{shown}/why").status == 200
    assert guest.get("/v1/whoami").json["role"] == "viewer"
    assert guest.post("/mcp", {}).status == 401
    for method, path in routes(service):
        for job_id in (shown, other):
            answer = guest.ask(method, filled(path, job_id), None if method == "GET" else {})
            is_own = method == "GET" and path.startswith("/v1/jobs/{job_id}") and job_id == shown
            if path not in OPEN | {"/v1/whoami", "/v1/imports"} and not is_own:
                assert answer.status == 403, (method, path, answer.text)


def test_a_link_ends_with_its_time_its_tenants_wish_or_a_wrong_letter(service, tokens, jobs):
    anna, ben = (Client(service, tokens[name]) for name in ("anna", "ben"))
    path = f"/v1/jobs/{jobs['anna'][0]}"
    link = anna.post(f"{path}/links", {}).json["token"]
    content, _, signature = link.partition(".")
    for wrong in (link[:-1], f"{content}x.{signature}", f"{content}.", "sh_", "sh_.", "sh_é."):
        assert Client(service, wrong.encode().decode("latin-1")).get(path).status == 401, wrong
    assert Client(service, tokens["vera"]).post(f"{path}/links", {}).status == 403
    assert ben.post(f"{path}/links", {}).status == 404
    assert anna.post(f"{path}/links", {"valid_s": 59}).status == 422

    ben.delete("/v1/links")  # of another tenant
    assert Client(service, link).get(path).status == 200
    assert anna.delete("/v1/links").status == 204
    assert Client(service, link).get(path).status == 401
    again = anna.post(f"{path}/links", {}).json["token"]
    assert Client(service, again).get(path).status == 200


def test_an_admin_ends_the_links_of_any_tenant(service, tokens, jobs):
    path = f"/v1/jobs/{jobs['anna'][0]}"
    owner = Client(service, is_owner=True)
    of_admin = owner.post(f"{path}/links", {}).json["token"]
    of_anna = Client(service, tokens["anna"]).post(f"{path}/links", {}).json["token"]
    oscar = Client(service, tokens["oscar"])

    assert owner.delete("/v1/links").status == 204
    assert Client(service, of_admin).get(path).status == 200, "it is one of the job's tenant"
    assert oscar.delete(f"/v1/links?tenant={MARK}").status == 403, "operators are not admins"
    assert owner.delete("/v1/links?tenant=a%20b").status == 422
    unknown = owner.delete("/v1/links?tenant=not-seen")
    assert (unknown.status, unknown.json["where"]) == (404, "tenant")
    assert service.run("link", "--tenant", MARK, jobs["anna"][0])[0] == 2
    code, _, err = service.run("link", "--end-all", "--tenant", MARK)
    assert (code, err) == (0, f"All links of {MARK} are worth nothing any more.\n")
    for link in (of_admin, of_anna):
        assert Client(service, link).get(path).status == 401


def test_other_names_and_pages_are_refused(service, tokens):
    ben = Client(service, tokens["ben"])

    assert ben.get("/v1/jobs", Host="evil.example").status == 403
    assert ben.get("/v1/jobs", Origin="https://evil.example").status == 403
    assert ben.get("/v1/jobs", Sec_Fetch_Site="cross-site").status == 403
    assert ben.get("/v1/jobs", Origin=f"http://{ben.host}").status == 200
    assert "access-control-allow-origin" not in ben.get("/v1/jobs").headers


def test_a_session_is_a_cookie_that_a_foreign_page_cannot_use(service, tokens):
    browser = Client(service)
    own = {"Sec_Fetch_Site": "same-origin"}
    answer = browser.post("/v1/session", {"token": tokens["ben"]}, **own)
    cookie = answer.headers["set-cookie"]
    assert answer.status == 204
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    pair = cookie.split(";")[0]

    assert browser.get("/v1/whoami", Cookie=pair, **own).json["user"] == "ben"
    assert browser.get("/v1/whoami", Cookie=pair).status == 403
    assert browser.get("/v1/whoami", Cookie=pair, Sec_Fetch_Site="cross-site").status == 403
    assert browser.delete("/v1/session", Cookie=pair, **own).status == 204
    assert browser.get("/v1/whoami", Cookie=pair, **own).status == 401


def test_a_login_link_works_once(service):
    owner, browser = Client(service, is_owner=True), Client(service)
    code = owner.post("/v1/login-links").json["code"]

    first = browser.post("/v1/session", {"token": code}, Sec_Fetch_Site="same-origin")
    again = browser.post("/v1/session", {"token": code}, Sec_Fetch_Site="same-origin")

    assert (first.status, again.status) == (204, 401)


def test_no_token_is_in_any_file_or_log(service, tokens, jobs):
    for path in (service.folder / "home").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for name, secret in tokens.items():
                assert secret.encode() not in content, (name, path)


def test_commands_of_two_tenants_do_not_run_as_one_account_unasked(tmp_path):
    with serving(tmp_path, "--config", "serve.yaml") as alone:
        anna = Client(alone, token(alone, "anna", "etl"))
        assert anna.post("/v1/jobs", {"job": job(alone)}).status == 201
        ben = Client(alone, token(alone, "ben", "ml"))

        refused = ben.post("/v1/jobs", {"job": job(alone)})

    assert refused.status == 403
    assert refused.json["where"] == "service.shared_user"


def test_a_proxy_passes_requests_on_at_its_own_name(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = ("--config", "serve.yaml", "--listen", address, "--behind-proxy", "s.example")
    with serving(tmp_path, *options) as service:
        assert service.page.startswith("https://s.example/login#")
        client = Client(service, token(service, "anna"), host=address)

        assert client.get("/v1/whoami", Host="s.example").status == 200
        own = {"Host": "s.example", "Origin": "https://s.example"}
        answer = client.post("/v1/session", {"token": token(service, "ben")}, **own)
        assert answer.headers["set-cookie"].startswith("__Host-")
        assert client.get("/v1/whoami", Host="other.example").status == 403
        assert client.get("/v1/whoami", **{**own, "Origin": "https://evil.example"}).status == 403
