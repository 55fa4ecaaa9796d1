"""The data server: serves files by ranges and map output by segments, and takes part files.

    GET /NAME/FILE             a file of a folder that is served as NAME; a range of it with `Range`
    GET /segment/NAME/FILE/N   segment N of a spill file there
    PUT /NAME/FILE             a file for a folder that takes files, with the SHA-256 of its content
    DELETE /NAME/PREFIX        all files of the folder whose names begin so

It is a process of its own, so that bytes never wait for the one thread of a node server or driver.
It ends when its standard input ends. Each connection has a thread; a few transfer at a time.

Anybody who reaches the port can connect: see `strangers`.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import itertools
import json
import os
import re
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

from sluice.engines.agent import kernel
from sluice.engines.data_plane import compression
from sluice.engines.data_plane.access import (
    CRC,
    DIGEST,
    LENGTH,
    NODE,
    NONCE,
    PROOF,
    RANGE,
    RECORDS,
    SIGNATURE,
    VERSION,
    proof,
    signature,
)
from sluice.engines.data_plane.strangers import STRANGER_S, Strangers
from sluice.engines.mapreduce.spill import Segment, SpillBroken, read_index
from sluice.engines.tls_files import TlsFiles

BLOCK_BYTES = 1 << 20
DISCARDED_BYTES_MAX = 64 << 20  # of a body that was refused
TRANSFERS_MAX = 16
IDLE_S = 60.0  # of a connection that has proved itself
SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=+@-]*")
PART_NAME = re.compile(r"(.+)-[0-9a-f]{8}\.part")
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_NOTHING = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """All that a data server serves.

    key: of the data plane.  node_id: sent with each answer.  folders: path by name.  files: by the
    name of a folder and of a file in it, a path anywhere.  taking: names of folders that take
    files.  tls: None for plain HTTP.
    """

    key: bytes = field(repr=False)
    node_id: str
    folders: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    taking: tuple[str, ...] = ()
    tls: TlsFiles | None = None

    def to_line(self) -> bytes:
        """One line of JSON, which `from_line` reads."""
        return json.dumps({**asdict(self), "key": self.key.hex()}).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Served:
        """Return what `to_line` wrote."""
        plain = json.loads(line)
        return cls(
            key=bytes.fromhex(plain.pop("key")),
            taking=tuple(plain.pop("taking")),
            tls=(files := plain.pop("tls")) and TlsFiles(**files),
            **plain,
        )

    def path(self, name: str, file: str) -> Path | None:
        """The path of a file; None for a file that is not served."""
        known = self.files.get(f"{name}/{file}")
        if known is not None:
            return Path(known)
        folder = self.folders.get(name)
        return Path(folder, file) if folder and SAFE_NAME.fullmatch(file) else None


class _Refusal(Exception):
    """The answer is this status."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, listening: socket.socket, served: Served) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        if served.tls is not None:
            # The handshake happens with the first byte that is read, in the connection's thread.
            self.socket = served.tls.server_context().wrap_socket(
                listening, server_side=True, do_handshake_on_connect=False
            )
        self.served = served
        self.strangers = Strangers()
        self.transfers = threading.BoundedSemaphore(TRANSFERS_MAX)
        self.numbers = itertools.count()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # theirs
        """Start the thread of a connection, if there is none too many."""
        self.strangers.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401  # theirs
        """End a connection."""
        self.strangers.forget(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End the connections that took too long; the loop of the server calls it."""
        self.strangers.end_slow()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # theirs
        """A client that left early is not worth a traceback."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = STRANGER_S  # until it has proved itself
    wbufsize = 1 << 16
    server: _Listener
    _unread = 0  # bytes of a body that is sent
    _is_known = False  # whether the request has proved itself: only then does the answer

    def do_GET(self) -> None:  # the name is that of the method
        """A file, a range of it, or a segment."""
        self._answer(self._get)

    def do_PUT(self) -> None:  # as above
        """A file for a folder."""
        length = self.headers.get("Content-Length", "")
        self._unread = int(length) if length.isdecimal() else 0
        self._answer(self._put)

    def do_DELETE(self) -> None:  # as above
        """Files by the beginning of their names."""
        self._answer(self._delete)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # theirs
        """Requests are not logged."""

    def _answer(self, act: Any) -> None:  # noqa: ANN401  # one of the methods below
        try:
            self._check()
            with self.server.transfers:
                act(self.path.strip("/").split("/"))
        except _Refusal as refusal:
            self._say(refusal.status, str(refusal))
        except FileNotFoundError:
            self._say(HTTPStatus.NOT_FOUND, "it is gone")
        except SpillBroken as broken:
            self._say(HTTPStatus.GONE, str(broken))
        except (BrokenPipeError, ConnectionError, TimeoutError):
            self.close_connection = True
        except OSError as error:
            full = error.errno in {errno.ENOSPC, errno.EDQUOT}
            status = HTTPStatus.INSUFFICIENT_STORAGE if full else HTTPStatus.INTERNAL_SERVER_ERROR
            self._say(status, error.strerror or str(error))

    def _check(self) -> None:
        self._is_known = False
        headers = {name: self.headers.get(name, "") for name in (RANGE, DIGEST, NONCE)}
        wanted = signature(self.server.served.key, self.command, self.path, headers)
        given = self.headers.get(SIGNATURE, "")
        if not hmac.compare_digest(wanted.encode(), given.encode("latin-1", "replace")):
            raise _Refusal(HTTPStatus.FORBIDDEN, "the token is not the one of this run")
        self._is_known = True
        self.server.strangers.forget(self.connection)
        self.connection.settimeout(IDLE_S)

    def _say(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # a body that was sent may not have been read
        text = why.encode()
        with suppress(OSError):
            self._begin(status, len(text), hashlib.sha256(text).hexdigest())
            self.wfile.write(text)
            self.wfile.flush()
            # If the connection ends amid the body, the client may lose the answer.
            left = min(self._unread, DISCARDED_BYTES_MAX)
            while left and (block := self.rfile.read(min(BLOCK_BYTES, left))):
                left -= len(block)

    def _begin(self, status: HTTPStatus, length: int | None, digest: str, **more: object) -> None:
        """The head of an answer. digest: SHA-256 of its content; "" where a CRC32 checks it."""
        about = {name.replace("_", "-"): str(value) for name, value in more.items()}
        about[NODE] = self.server.served.node_id
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in about.items():
            self.send_header(name, value)
        if self._is_known:
            nonce = self.headers.get(NONCE, "")
            made = proof(self.server.served.key, nonce, status, about, digest)
            self.send_header(PROOF, made)
        self.end_headers()

    def _path(self, words: list[str]) -> Path:
        path = self.server.served.path(*words) if len(words) == 2 else None  # noqa: PLR2004  # pair
        if path is None:
            raise _Refusal(HTTPStatus.NOT_FOUND, "it is not served here")
        return path

    # --- reading -----------------------------------------------------------------------------

    def _get(self, words: list[str]) -> None:
        if words[0] == "segment" and words[-1].isdecimal():
            with self._path(words[1:-1]).open("rb", buffering=0) as file:
                self._send_segment(file, int(words[-1]))
            return
        with self._path(words).open("rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            start, end = self._range(found.st_size)
            version = f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
            digest = _digest(file, start, end)
            self._begin(HTTPStatus.PARTIAL_CONTENT, end - start, digest, **{VERSION: version})
            self._send(file, start, end)

    def _send_segment(self, file: BinaryIO, number: int) -> None:
        segments = read_index(file)
        if number >= len(segments):
            raise SpillBroken("it has no such segment")
        segment = segments[number]
        start, _ = self._range(segment.length)
        about = {LENGTH: segment.length, RECORDS: segment.records, CRC: f"{segment.crc:08x}"}
        codec = self._codec(file, segment) if start == 0 else None
        if codec is None:
            self._begin(HTTPStatus.PARTIAL_CONTENT, segment.length - start, "", **about)
            self._send(file, segment.offset + start, segment.offset + segment.length)
            return
        self._begin(
            HTTPStatus.OK, None, "", Transfer_Encoding="chunked", Content_Encoding=codec, **about
        )
        for piece in compression.compressed(codec, _blocks(file, segment)):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _codec(self, file: BinaryIO, segment: Segment) -> str | None:
        """How to compress a segment: as it was asked for, if that pays."""
        asked = self.headers.get("Accept-Encoding", "")
        if asked not in compression.CODECS:
            return None
        file.seek(segment.offset)
        sample = file.read(min(segment.length, compression.SAMPLE_BYTES))
        return asked if compression.pays(asked, sample) else None

    def _range(self, size: int) -> tuple[int, int]:
        found = _RANGE.fullmatch(self.headers.get(RANGE, ""))
        if found is None:
            return 0, size
        end = int(found[2]) + 1 if found[2] else size
        start = min(int(found[1]), size)
        return start, max(start, min(end, size))

    def _send(self, file: BinaryIO, start: int, end: int) -> None:
        self.wfile.flush()
        if end > start:
            file.seek(start)  # over TLS, an offset of 0 means the file's position
            sent = self.connection.sendfile(file, start, end - start)
            if sent < end - start:  # the file became shorter; the other side sees that
                self.close_connection = True

    # --- writing -----------------------------------------------------------------------------

    def _put(self, words: list[str]) -> None:
        path = self._path(words)
        found = PART_NAME.fullmatch(path.name)
        if words[0] not in self.server.served.taking or found is None:
            raise _Refusal(HTTPStatus.FORBIDDEN, "this folder takes no such files")
        # Attempt and epoch are in the name, so that the sweep of a later life finds what is left.
        writing = path.with_name(f"{next(self.server.numbers)}-{found[1]}.writing")
        try:
            with writing.open("xb") as file:
                self._receive(file, self.headers.get(DIGEST, ""))
            writing.rename(path)
        finally:
            writing.unlink(missing_ok=True)
        self._begin(HTTPStatus.CREATED, 0, _NOTHING)
        self.wfile.flush()

    def _receive(self, file: BinaryIO, wanted: str) -> None:
        digest = hashlib.sha256()
        while self._unread:
            block = self.rfile.read(min(BLOCK_BYTES, self._unread))
            if not block:
                raise ConnectionError("the other side left")
            self._unread -= len(block)
            digest.update(block)
            file.write(block)
        if digest.hexdigest() != wanted:
            raise _Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "the content does not have its digest")
        file.flush()
        os.fsync(file.fileno())

    def _delete(self, words: list[str]) -> None:
        folder = self._path(words).parent
        if len(words[-1]) < 2 or words[0] in self.server.served.taking:  # noqa: PLR2004  # or all
            raise _Refusal(HTTPStatus.FORBIDDEN, "this folder keeps its files")
        for path in folder.iterdir():
            if path.name.startswith(words[-1]):
                path.unlink(missing_ok=True)
        self._begin(HTTPStatus.OK, 0, _NOTHING)
        self.wfile.flush()


def _digest(file: BinaryIO, start: int, end: int) -> str:
    """SHA-256 of a part of a file. What changes before it is sent is noticed by the other side."""
    digest = hashlib.sha256()
    file.seek(start)
    while start < end and (block := file.read(min(BLOCK_BYTES, end - start))):
        digest.update(block)
        start += len(block)
    return digest.hexdigest()


def _blocks(file: BinaryIO, segment: Segment) -> Iterator[bytes]:
    file.seek(segment.offset)
    left = segment.length
    while left:
        block = file.read(min(BLOCK_BYTES, left))
        if not block:
            raise ConnectionError("the file became shorter")
        left -= len(block)
        yield block


def main(listen_fd: int, parent_pid: int) -> None:
    """Serve what the first line of standard input says, until that input ends."""
    kernel.die_with_parent(parent_pid)
    kernel.name_process("sluice-data")
    served = Served.from_line(sys.stdin.buffer.readline())
    listener = _Listener(socket.socket(fileno=listen_fd), served)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # threads may be in the middle of a transfer
