"""Data servers and their clients: ranges, segments, checks, and what breaks on the way."""

import contextlib
import os
import random
import resource
import socket
import threading
import time
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from sluice.engines.data_plane import client as client_module
from sluice.engines.data_plane.access import SIGNATURE, Place, data_key, signature
from sluice.engines.data_plane.client import Client, Unanswered
from sluice.engines.data_plane.server import Served, _Listener
from sluice.engines.data_plane.server_process import DataServerProcess
from sluice.engines.data_plane.strangers import STRANGER_S
from sluice.engines.mapreduce.spill import Segment, SpillBroken, file_crc, write_index
from sluice.engines.settings import TaskLimitSettings
from sluice.engines.tls_files import TlsFiles
from sluice.model.errors import InvalidInput

KEY = data_key(b"k" * 32)
WORDS = b"".join(b"word%d\t1\n" % (number % 50) for number in range(60_000))
NOISE = random.Random(3).randbytes(400_000)


class Breaking:
    """Passes connections on to a port; each one of the first `breaks` ends after `limit` bytes
    of the answer, or has the byte there changed.
    """

    def __init__(self, port, *, breaks, limit, flips=False):
        self._port, self._limit, self._flips = port, limit, flips
        self.connections, self._breaks = 0, breaks
        self._open, self._threads = [], []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._run(self._accept)

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for end in self._open:
            end.close()

    def _run(self, target, *args):
        self._threads.append(threading.Thread(target=target, args=args, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection(("127.0.0.1", self._port))
                self._open += [client, server]
                self._run(self._pass, client, server)
                is_broken = self.connections <= self._breaks
                self._run(self._pass, server, client, self._limit if is_broken else None)

    def _pass(self, source, target, limit=None):
        passed = 0
        with contextlib.suppress(OSError):
            while data := bytearray(source.recv(1 << 16)):
                if limit is not None and passed + len(data) > limit:
                    if not self._flips:
                        break
                    data[limit - passed] ^= 1
                    limit = None
                target.sendall(data)
                passed += len(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "data").mkdir()
    (folder / "parts").mkdir()
    with (folder / "data" / "a.spill").open("w+b") as file:
        segments = []
        for content, records in ((WORDS, 60_000), (b"", 0), (NOISE, 1)):
            start = file.tell()
            file.write(content)
            (folder / "copy").write_bytes(content)
            segments.append(Segment(start, len(content), records, file_crc(folder / "copy")))
        write_index(file, segments)
    (folder / "lines").write_bytes(b"one\ntwo\n")
    process = DataServerProcess(
        Served(
            key=KEY,
            node_id="n7",
            folders={"data": str(folder / "data"), "job": str(folder / "parts")},
            files={"input/x": str(folder / "lines")},
            taking=("job",),
        ),
        "127.0.0.1",
    )
    yield folder, process.port
    process.end()


@pytest.fixture
def client():
    made = Client(KEY, tries=3)
    yield made
    made.close()


@pytest.fixture
def broken(served):
    made = []

    def start(**faults):
        made.append(Breaking(served[1], **faults))
        return made[-1]

    yield start
    for proxy in made:
        proxy.close()


def at(port, path):
    return Place("127.0.0.1", port, path)


def test_a_file_is_read_by_ranges_with_its_version(served, client):
    folder, port = served
    found = (folder / "lines").stat()

    for start, end, wanted in ((0, 3, b"one"), (4, 100, b"two\n"), (8, 9, b""), (50, 60, b"")):
        data, version = client.read_range(at(port, "input/x"), start, end)
        assert data == wanted
        assert version == (found.st_size, found.st_mtime_ns, found.st_ino)


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_segments_arrive_whole_in_each_encoding(served, client, tmp_path, codec):
    _, port = served
    for number, content in enumerate((WORDS, b"", NOISE)):
        segment = client.copy_segment(at(port, "data/a.spill"), number, tmp_path / "s", codec)
        assert (tmp_path / "s").read_bytes() == content
        assert segment.length == len(content)

    # Words are sent compressed, noise is not.
    moved = client.fetched["n7"]
    everything = len(WORDS) + len(NOISE)
    assert moved == everything if codec is None else len(NOISE) < moved < everything / 2 + 99_999


def test_a_transfer_that_breaks_goes_on_where_it_was(served, client, broken, tmp_path):
    proxy = broken(breaks=2, limit=300_000)
    client.copy_segment(at(proxy.port, "data/a.spill"), 0, tmp_path / "s")

    assert (tmp_path / "s").read_bytes() == WORDS
    assert proxy.connections == 2  # the second connection had less than its limit to bring
    assert client.fetched["n7"] == len(WORDS)


def test_a_byte_that_changes_on_the_way_is_found(served, client, broken, tmp_path):
    proxy = broken(breaks=1, limit=200_000, flips=True)
    client.copy_segment(at(proxy.port, "data/a.spill"), 2, tmp_path / "s")

    assert (tmp_path / "s").read_bytes() == NOISE
    assert proxy.connections == 2


@pytest.mark.parametrize("flips", [True, False], ids=["changed", "cut"])
def test_an_answer_is_right_wherever_the_network_breaks_it(
    served, client, broken, tmp_path, monkeypatch, flips
):
    """Status, headers, data and proof: bytes all over the answer are changed, or are the last."""
    monkeypatch.setattr(client_module, "TIMEOUT_S", 1.0)  # a length that grew is waited for
    _folder, port = served
    whole = client.read_range(at(port, "input/x"), 0, 100)
    client.copy_segment(at(port, "data/a.spill"), 1, tmp_path / "whole")
    repeated = 0
    for limit in range(1, 400, 5):
        proxy = broken(breaks=1, limit=limit, flips=flips)
        if limit % 2:
            assert client.read_range(at(proxy.port, "input/x"), 0, 100) == whole
        else:
            client.copy_segment(at(proxy.port, "data/a.spill"), 1, tmp_path / "s")
            assert (tmp_path / "s").read_bytes() == (tmp_path / "whole").read_bytes()
        repeated += proxy.connections > 1
    assert repeated > 40


def test_a_server_that_does_not_answer_is_given_up(served, client, broken, tmp_path):
    proxy = broken(breaks=99, limit=10)
    with pytest.raises(Unanswered, match=f"127.0.0.1:{proxy.port}: "):
        client.copy_segment(at(proxy.port, "data/a.spill"), 0, tmp_path / "s")

    assert proxy.connections == 3


def test_what_is_gone_or_damaged_is_not_asked_for_again(served, client, tmp_path):
    folder, port = served
    with pytest.raises(FileNotFoundError):
        client.copy_segment(at(port, "data/b.spill"), 0, tmp_path / "s")
    (folder / "data" / "c.spill").write_bytes(b"not a spill")
    with pytest.raises(SpillBroken, match="not map output"):
        client.copy_segment(at(port, "data/c.spill"), 0, tmp_path / "s")


@pytest.mark.parametrize("path", ["data/../lines", "data/%2e%2e/lines", "other/x", "lines", "data"])
def test_nothing_else_is_served(served, client, path):
    with pytest.raises(FileNotFoundError):
        client.read_range(at(served[1], path), 0, 1)


def test_a_request_without_the_token_is_refused(served):
    with pytest.raises(PermissionError, match="token"):
        Client(data_key(b"x" * 32), tries=1).read_range(at(served[1], "input/x"), 0, 1)
    connection = HTTPConnection("127.0.0.1", served[1], timeout=10)
    # The signature of one range is of no use for another.
    signed = signature(KEY, "GET", "/input/x", {"Range": "bytes=0-1"})
    headers = {SIGNATURE: signed, "Range": "bytes=0-7"}
    connection.request("GET", "/input/x", headers=headers)
    assert connection.getresponse().status == 403
    connection.close()


def test_connections_without_a_request_do_not_stop_the_server(client, tmp_path):
    """More of them than the server may have descriptors, and each stays as long as it may."""
    (tmp_path / "x").write_bytes(WORDS)
    idle: list[socket.socket] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    try:
        served = Served(key=KEY, node_id="n7", files={"input/x": str(tmp_path / "x")})
        server = DataServerProcess(served, "127.0.0.1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        address = ("127.0.0.1", server.port)
        idle.extend(socket.create_connection(address, timeout=10) for _ in range(600))
        started_at_s = time.monotonic()
        content, _ = client.read_range(at(server.port, "input/x"), 0, 3)

        assert (3, True) == (len(content), time.monotonic() - started_at_s < 3.0)
    finally:
        for connection in idle:
            connection.close()
        server.end()


@pytest.mark.parametrize(
    "head",
    [b"GET /input/x HTTP/1.1\r\n", b"PUT /job/x HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"],
)
def test_a_stranger_that_sends_slowly_is_cut_off(served, head):
    """A byte now and then keeps no connection open; not for headers, nor for a refused body."""
    with socket.create_connection(("127.0.0.1", served[1]), timeout=10) as connection:
        connection.sendall(head)
        started_at_s = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - started_at_s < 15.0:
                connection.sendall(b"a")
                time.sleep(0.2)
        assert time.monotonic() - started_at_s < 10.0


def test_a_connection_that_proved_itself_may_rest(served):
    client = Client(KEY, tries=1)
    place = at(served[1], "input/x")
    client.read_range(place, 0, 1)
    time.sleep(STRANGER_S + 1.5)
    assert b"" != client.read_range(place, 0, 1)[0]
    client.close()


def test_a_part_file_is_taken_once_whole(served, client, broken, tmp_path):
    folder, port = served
    (tmp_path / "part").write_bytes(NOISE)
    name = "job-1-0-1-e1-0123abcd.part"
    client.send_file(at(port, f"job/{name}"), tmp_path / "part")
    client.send_file(at(port, f"job/{name}"), tmp_path / "part")

    assert (folder / "parts" / name).read_bytes() == NOISE
    assert [path.name for path in (folder / "parts").iterdir()] == [name]
    for path in ("data/x-0123abcd.part", "job/plain"):
        with pytest.raises(PermissionError):
            client.send_file(at(port, path), tmp_path / "part")


def test_a_part_file_is_synced_before_it_gets_its_name(client, tmp_path, monkeypatch):
    """Its sender is then free to forget it, and a power cut must not lose it."""
    (tmp_path / "part").write_bytes(NOISE)
    done, fsync, rename = [], os.fsync, Path.rename

    def synced(number):
        done.append(("synced", os.fstat(number).st_size))
        fsync(number)

    def renamed(path, target):
        done.append(("renamed", path.stat().st_size))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    taking = Served(
        key=KEY, node_id="n7", folders={"job": str(tmp_path)}, files={}, taking=("job",)
    )
    with _Listener(socket.create_server(("127.0.0.1", 0)), taking) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        port = listener.server_address[1]
        client.send_file(at(port, "job/job-1-0-1-e1-0123abcd.part"), tmp_path / "part")
        listener.shutdown()

    assert [("synced", len(NOISE)), ("renamed", len(NOISE))] == done


def test_a_large_file_that_is_refused_is_refused_once(served, client, tmp_path):
    _, port = served
    (tmp_path / "large").write_bytes(bytes(8 << 20))
    for _ in range(5):
        with pytest.raises(PermissionError):
            client.send_file(at(port, "job/plain"), tmp_path / "large")


def test_files_of_a_job_that_is_over_are_removed(served, client):
    folder, port = served
    for name in ("j1-0-0.spill", "j1-0-1.spill", "j2-0-0.spill"):
        (folder / "data" / name).write_bytes(b"")
    client.remove(at(port, "data/j1-"))

    assert {path.name for path in (folder / "data").glob("j*")} == {"j2-0-0.spill"}
    with pytest.raises(PermissionError):
        client.remove(at(port, "job/j1-"))


def test_a_server_with_a_certificate_answers_those_who_trust_it(tmp_path, certificate):
    (tmp_path / "lines").write_bytes(b"one\ntwo\n")
    trusted = TlsFiles(certificate=certificate[0], key=certificate[1])
    others = TlsFiles(certificate=certificate[0], name="another.host")
    served = Served(key=KEY, node_id="n7", files={"input/x": str(tmp_path / "lines")}, tls=trusted)
    process = DataServerProcess(Served.from_line(served.to_line()), "127.0.0.1")
    try:
        place = at(process.port, "input/x")
        client = Client(KEY, tries=1, tls=trusted)
        for _ in range(2):
            assert client.read_range(place, 0, 3)[0] == b"one"
        client.close()
        for tls in (others, None):
            client = Client(KEY, tries=1, tls=tls)
            with pytest.raises(OSError, match=str(process.port)):
                client.read_range(place, 0, 3)
            client.close()
    finally:
        process.end()


@pytest.mark.parametrize("path", ["relative.pem", "/none/certificate.pem"])
def test_tls_files_that_cannot_be_used_are_one_message(path):
    with pytest.raises(InvalidInput, match=r"absolute|certificate cannot be used"):
        TlsFiles(certificate=path).check()


def expired(key_path):
    """A certificate whose time is over."""
    key = load_pem_private_key(Path(key_path).read_bytes(), None)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "node")])
    first, last = (datetime(year, 1, 1, tzinfo=UTC) for year in (2020, 2021))
    made = x509.CertificateBuilder(name, name, key.public_key(), 7, first, last)
    return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def test_a_certificate_that_no_machine_would_accept_is_one_message(certificate):
    path, key = certificate
    TlsFiles(certificate=path, key=key).check()

    with pytest.raises(InvalidInput, match="Hostname mismatch"):
        TlsFiles(certificate=path, key=key, name="other").check()
    Path(path).write_bytes(expired(key))
    with pytest.raises(InvalidInput, match="certificate has expired"):
        TlsFiles(certificate=path, key=key).check()


def test_the_settings_of_tls_name_its_files(certificate, tmp_path):
    """The key is in a file of its own, and the authority is the certificate itself."""
    path, key = certificate
    files = {"ray_tls_certificate": path, "ray_tls_key": key}

    assert TaskLimitSettings().tls() is None
    found = TaskLimitSettings(**files, ray_tls_authority=path).tls()
    assert found == TlsFiles(certificate=path, key=key, authority=path)
    for wrong, why in (
        ({"ray_tls_key": ""}, "certificate cannot be used"),
        ({"ray_tls_authority": str(tmp_path / "none.pem")}, "certificates cannot be used"),
        ({"ray_tls_name": "other"}, "Hostname mismatch"),
    ):
        with pytest.raises(InvalidInput, match=why):
            TaskLimitSettings(**files | wrong).tls()


def test_requests_wait_for_a_driver_that_is_resumed(tmp_path):
    (tmp_path / "lines").write_bytes(b"one\ntwo\n")
    served = Served(key=KEY, node_id="driver", files={"input/x": str(tmp_path / "lines")})
    first = DataServerProcess(served, "127.0.0.1")
    first.end()
    found: list[bytes] = []
    client = Client(KEY, tries=1, patience_s=60.0)
    waiting = threading.Thread(
        target=lambda: found.append(client.read_range(at(first.port, "input/x"), 0, 3)[0])
    )
    waiting.start()
    second = DataServerProcess(served, "127.0.0.1", first.port)
    try:
        assert second.port == first.port
        waiting.join(60)
        assert found == [b"one"]
        with pytest.raises(OSError, match="in use"):
            DataServerProcess(served, "127.0.0.1", first.port)
    finally:
        client.close()
        second.end()


class Impostor:
    """Listens where a data server did, and answers each request with what `answer` gives for it."""

    def __init__(self, answer):
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    connection.sendall(self._answer(connection.recv(1 << 16)))

    def close(self):
        self._listener.close()


def exchanged(port, request):
    """The whole answer of a port to the bytes of a request."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n"))
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


FORGED = (
    b"HTTP/1.1 206 Partial Content\r\nX-Sluice-Node: driver\r\nX-Sluice-Version: 3 1 1\r\n"
    b"X-Sluice-Length: 3\r\nX-Sluice-Records: 1\r\nX-Sluice-CRC32: 00000000\r\n"
    b"Content-Length: 3\r\n\r\nbad"
)
GONE = b"HTTP/1.1 404 Not Found\r\nX-Sluice-Node: driver\r\nContent-Length: 0\r\n\r\n"
TAKEN = b"HTTP/1.1 201 Created\r\nX-Sluice-Node: driver\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("forged", [FORGED, GONE, TAKEN])
def test_an_impostor_at_the_port_is_not_believed(forged, tmp_path):
    impostor = Impostor(lambda _: forged)
    client = Client(KEY, tries=2)
    (tmp_path / "part").write_bytes(b"x")
    asked = (
        lambda: client.read_range(at(impostor.port, "input/x"), 0, 3),
        lambda: client.copy_segment(at(impostor.port, "data/a.spill"), 0, tmp_path / "copy"),
        lambda: client.send_file(
            at(impostor.port, "job/job-1-0-1-e1-0123abcd.part"), tmp_path / "part"
        ),
        lambda: client.remove(at(impostor.port, "data/job-")),
    )
    try:
        for ask in asked:
            with pytest.raises(Unanswered, match="does not prove that it belongs to this run"):
                ask()
    finally:
        client.close()
        impostor.close()


def test_an_answer_of_before_is_of_no_use_to_an_impostor(served):
    """It has recorded what the true data server answered to the same question."""
    port = served[1]
    answers: list[bytes] = []

    def recorded(request):
        if not answers:
            answers.append(exchanged(port, request))
        return answers[0]

    impostor = Impostor(recorded)
    client = Client(KEY, tries=1)
    try:
        assert client.read_range(at(impostor.port, "input/x"), 0, 3)[0] == b"one"
        client.close()
        with pytest.raises(Unanswered, match="does not prove"):
            client.read_range(at(impostor.port, "input/x"), 0, 3)
    finally:
        client.close()
        impostor.close()


def test_content_that_is_changed_on_its_way_is_not_taken(served):
    port = served[1]
    impostor = Impostor(lambda request: exchanged(port, request)[:-1] + b"!")
    client = Client(KEY, tries=1)
    try:
        with pytest.raises(Unanswered, match="does not prove"):
            client.read_range(at(impostor.port, "input/x"), 0, 3)
    finally:
        client.close()
        impostor.close()
