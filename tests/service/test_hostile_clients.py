"""Clients that mean harm, at a real socket of a real service: each is refused, and costs little."""

import json
import socket
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests import skips
from tests.service.clients import Client, job, token
from tests.service.services import serving

skips.required("fastapi")

HEADERS_S = 10.0
STREAMS, OF_ONE = 200, 20
STREAM_KB_MAX = 20.0  # of memory; a quarter of it is usual
SOAK_MB_MAX = 4.0  # more than after the warm-up
CHUNK = b"20000\r\n" + b"x" * 0x20000 + b"\r\n"
READ = ("/v1/jobs", "/v1/queues", "/v1/nodes", "/v1/promises", "/queue", "/assets/app.js", "/v1/x")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    with serving(folder, "--config", "serve.yaml", "--listen", "127.0.0.1:0") as it:
        yield it


@pytest.fixture(scope="module")
def anna(service):
    return Client(service, token(service, "anna"))


def connected(anna):
    host, _, port = anna.host.partition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def answer_to(anna, content):
    """All that a connection answers, until the service closes it or waits for more."""
    with closing(connected(anna)) as one:
        one.settimeout(5)
        found = b""
        try:
            one.sendall(content)
            while part := one.recv(65536):
                found += part
        except (TimeoutError, ConnectionError):
            pass
        return found


def head(anna, line="GET /v1/about HTTP/1.1"):
    return f"{line}\r\nHost: {anna.host}\r\n".encode()


def memory_kb(anna):
    """Of the web process."""
    pid = anna.get("/v1/about").json["pid"]
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


def test_headers_that_do_not_come_close_the_connection_also_of_a_second_request(anna):
    silent, first, second = (connected(anna) for _ in range(3))
    first.sendall(head(anna))
    second.sendall(head(anna) + b"\r\n")
    assert b" 200 OK" in second.recv(65536)
    second.sendall(head(anna))
    began_s = time.monotonic()
    left = {silent, first, second}
    while left:
        assert time.monotonic() - began_s < HEADERS_S + 10
        for one in sorted(left, key=id):
            one.settimeout(0.5)
            try:
                if one is not silent:
                    one.sendall(b"A: b\r\n")  # a client that drips is not idle
                if not one.recv(100):
                    left.discard(one)
            except TimeoutError:
                pass
            except ConnectionError:
                left.discard(one)
    for one in (silent, first, second):
        one.close()


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        (b"Content-Length: 10000000000\r\n", b"x" * (3 << 20), b" 413 "),
        (b"Transfer-Encoding: chunked\r\n", CHUNK * 30, b" 413 "),
        (b"Content-Length: 2\r\nContent-Type: text/plain\r\n", b"{}", b" 415 "),
        (b"Content-Length: 2\r\nContent-Type: application/json\r\n", b"{}", b" 401 "),
    ],
)  # fmt: skip
def test_bodies_are_cut_off_where_they_are_too_long(anna, headers, body, status):
    before_kb = memory_kb(anna)
    found = answer_to(anna, head(anna, "POST /v1/jobs HTTP/1.1") + headers + b"\r\n" + body)
    assert not found or status in found.partition(b"\r\n")[0]  # it may close before it is read
    assert memory_kb(anna) - before_kb < 8000


def test_made_up_tokens_do_not_take_the_places_of_logs(anna):
    """Two logs are received at a time: a stranger's long body is cut off, and no place is taken."""
    kind = b"Content-Type: application/octet-stream\r\nAuthorization: Bearer made-up\r\n"
    request = head(anna, "POST /v1/imports HTTP/1.1") + kind + b"Content-Length: 60000000\r\n\r\n"
    strangers = [connected(anna) for _ in range(3)]
    for one in strangers:
        one.sendall(request + b"x" * 60_000)
    binary = {"Content_Type": "application/octet-stream"}
    assert anna.ask("POST", "/v1/imports", raw=b"x" * (1 << 20), **binary).status == 202
    for one in strangers:
        one.sendall(b"x" * 10_000)
        assert b" 413 " in one.recv(65536).partition(b"\r\n")[0]
        one.close()


@pytest.mark.parametrize(
    "content",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"G" * 100_000,
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12",
        b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_not_http_is_refused_and_the_service_goes_on(anna, content):
    found = answer_to(anna, content)
    assert not found or found.split(b" ", 2)[1].startswith(b"4"), found[:200]
    assert b"Traceback" not in found
    head, _, body = found.partition(b"\r\n\r\n")
    assert not found or b"content-type: application/problem+json" in head.lower().split(b"\r\n")
    if found:  # one more answer may follow
        problem, _ = json.JSONDecoder().raw_decode(body.decode())
        assert problem["status"] == int(found.split(b" ", 2)[1])
    assert anna.get("/v1/about").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../../../../../etc/passwd", "/assets/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e/%2e%2e/guards.py", "/assets/..\\..\\shell.py", "/assets/shell.py",
        "/assets//etc/passwd", "/assets/index.html%00.js", "//etc/passwd", "/../service.key",
        "/v1/jobs/..%2f..%2fservice.key/workload", "/v1/jobs/%2e%2e/attempts/%2e%2e/log",
    ],
)  # fmt: skip
def test_no_path_leads_to_a_file_that_is_not_of_the_page(anna, path):
    found = answer_to(anna, head(anna, f"GET {path} HTTP/1.1") + b"Connection: close\r\n\r\n")
    assert found.split(b" ", 2)[1] in {b"401", b"404", b"422"}, found[:200]
    assert b"root:" not in found


def test_text_of_a_client_never_makes_a_header(anna):
    for path in ("/v1/jobs?name=a%0d%0aSet-Cookie:%20x=1", "/v1/jobs/a%0d%0aSet-Cookie:%20x=1",
                 "/v1/configs/a%0d%0aX-A:%20b", "/queue%0d%0aX-A:%20b"):  # fmt: skip
        found = anna.get(path)
        assert "set-cookie" not in found.headers, path
        assert "x-a" not in found.headers
    made = anna.post("/v1/jobs", {}, Idempotency_Key="a\tb")
    assert made.status == 422


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"}, {"Host": "127.0.0.1"}, {"Origin": "null"},
        {"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "same-site"},
    ],
)  # fmt: skip
def test_pages_of_others_change_nothing(service, anna, headers):
    sent = {"job": job(service, "foreign")}
    assert anna.post("/v1/jobs", sent, **headers).status == 403
    assert anna.get("/v1/jobs?name=foreign").json["total"] == 0


def test_streams_are_few_for_each_token_and_cost_little(service, anna):
    before_kb = memory_kb(anna)
    streams = []
    clients = [Client(service, token(service, f"many-{n}")) for n in range(STREAMS // OF_ONE)]
    for number, known in enumerate(clients):
        for _ in range(OF_ONE):
            streams.append(begun(known))
            assert b" 200 OK" in streams[-1].recv(4096)
        if not number:
            refused = known.get("/v1/events")
            assert (refused.status, refused.json["what"]) == (429, "20 streams are open")
    time.sleep(1.5)  # each second it is asked whether they may go on
    each_kb = (memory_kb(anna) - before_kb) / STREAMS
    assert each_kb < STREAM_KB_MAX
    for one in streams:
        one.setblocking(False)
        with suppress(BlockingIOError):  # it is open, and little has happened
            assert one.recv(4096)
        one.close()
    until_s = time.monotonic() + 30
    while begun_status(clients[0]) != 200:  # those that have left make room
        assert time.monotonic() < until_s
        time.sleep(0.2)


def test_a_stream_ends_when_its_token_is_revoked(service):
    known = Client(service, token(service, "fleeting"))
    with closing(begun(known)) as stream:
        assert b" 200 OK" in stream.recv(4096)
        assert service.run("serve", "tokens", "revoke", "fleeting")[0] == 0
        stream.settimeout(10)
        while stream.recv(4096):
            pass


def begun(client):
    """A stream that is asked for."""
    made = connected(client)
    secret = f"Authorization: Bearer {client._token}\r\n\r\n".encode()
    made.sendall(head(client, "GET /v1/events HTTP/1.1") + secret)
    return made


def begun_status(client):
    with closing(begun(client)) as one:
        return int(one.recv(4096).split(b" ", 2)[1])


@pytest.mark.slow
def test_memory_stays_flat_while_pages_are_read_and_jobs_come(service, anna):
    """`bench/service/soak.py` does so for ten minutes."""

    def used():
        for number in range(150):
            anna.get(READ[number % len(READ)])
            if number % 50 == 0:
                made = anna.post("/v1/jobs", {"job": job(service, f"soak-{number}", 0.01)})
                assert made.status == 201, made.text

    for _ in range(3):
        used()
    before_kb = memory_kb(anna)
    for _ in range(4):
        used()
    assert memory_kb(anna) - before_kb < 1000 * SOAK_MB_MAX
