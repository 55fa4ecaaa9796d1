"""Requests to data servers: signed, with proved answers, and repeated where they fail.

All failures are OSErrors. FileNotFoundError means that the server answered and has no such file:
that is final. Anything else is tried again, after a pause that doubles.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import itertools
import os
import secrets
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import quote
from zlib import crc32

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
    Address,
    Place,
    proof,
    signature,
)
from sluice.engines.data_plane.compression import decompressor
from sluice.engines.data_plane.stores import FoundVersion
from sluice.engines.mapreduce.spill import Segment, SpillBroken
from sluice.engines.tls_files import TlsFiles

T = TypeVar("T")

TIMEOUT_S = 30.0  # without a byte
PAUSE_S_MIN = 0.05
PAUSE_S_MAX = 2.0
BLOCK_BYTES = 1 << 18
SAFE_CHARACTERS = "/@+=-._"  # of names that a data server serves
_FINAL = {
    HTTPStatus.NOT_FOUND: errno.ENOENT,
    HTTPStatus.FORBIDDEN: errno.EACCES,
    HTTPStatus.INSUFFICIENT_STORAGE: errno.EREMOTEIO,
}


class Unanswered(ConnectionError):
    """A data server that did not answer, or not with what it was asked for."""


class _Answer:
    """An answer that may come from anybody, until it is checked."""

    def __init__(self, response: HTTPResponse, key: bytes, nonce: str) -> None:
        self.response = response
        self._key, self._nonce = key, nonce

    def content(self) -> bytes:
        """Return what it holds. Raises Unanswered if the data server of the run has not sent it."""
        content = self.response.read()
        self.check(hashlib.sha256(content).hexdigest())
        return content

    def check(self, digest: str) -> None:
        """Do what `content` does, for the headers and the digest of the content."""
        response = self.response
        headers = dict(response.headers.items())
        wanted = proof(self._key, self._nonce, response.status, headers, digest)
        given = response.headers.get(PROOF, "")
        if not hmac.compare_digest(wanted.encode(), given.encode("latin-1", "replace")):
            raise Unanswered(errno.EREMOTEIO, "it does not prove that it belongs to this run")


class Client:
    """Connections to data servers, one to each. Use it in one thread.

    key: of the data plane.  tries: of each request, at least 1.  patience_s: requests for whole
    files are repeated for as long, however many tries that takes.  fetched: bytes that arrived or
    were sent, by the node id of the other side.  tls: None for plain HTTP.
    """

    def __init__(
        self, key: bytes, tries: int, patience_s: float = 0.0, tls: TlsFiles | None = None
    ) -> None:
        self.fetched: dict[str, int] = {}
        self._key = key
        self._tries = tries
        self._patience_s = patience_s
        self._tls = tls
        self._context = None if tls is None else tls.client_context()
        self._connections: dict[Address, HTTPConnection] = {}

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def read_range(self, place: Place, start: int, end: int) -> tuple[bytes, FoundVersion]:
        """Bytes `start` up to `end` of a file, fewer at its end; and its version."""

        def read() -> tuple[bytes, FoundVersion]:
            headers = {RANGE: f"bytes={start}-{max(start, end - 1)}"}
            answer = self._ask("GET", place, headers)
            data = answer.content()
            response = answer.response
            self._count(response, len(data))
            size, mtime_ns, inode = map(int, response.headers[VERSION].split())
            return data[: end - start], FoundVersion(size, mtime_ns, inode)

        return self._retried(place, read, self._patience_s)

    def copy_segment(
        self,
        place: Place,
        number: int,
        target: Path,
        codec: str | None = None,
        on_bytes: Callable[[int], object] = lambda _: None,
    ) -> Segment:
        """Copy a segment of a spill file to `target`, and check its CRC32.

        codec: in which it may arrive.  on_bytes: called with the length of each piece.
        Raises SpillBroken if it is damaged, and OSError.
        """
        place = place._replace(path=f"segment/{place.path}/{number}")
        with target.open("wb") as file:
            landing = _Landing(file)

            def copy() -> Segment:
                headers = {RANGE: f"bytes={landing.length}-"} if landing.length else {}
                if codec is not None and not landing.length:
                    headers["Accept-Encoding"] = codec
                answer = self._ask("GET", place, headers)
                response = answer.response
                answer.check("")  # length and CRC32, by which the bytes are checked
                self._count(response, landing.take(response, on_bytes))
                segment = Segment(
                    offset=0,
                    length=int(response.headers[LENGTH]),
                    records=int(response.headers[RECORDS]),
                    crc=int(response.headers[CRC], 16),
                )
                landing.check(segment)
                return segment

            return self._retried(place, copy)

    def send_file(self, place: Place, path: Path) -> None:
        """Send a file, to be kept at `place`."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.seek(0, os.SEEK_END)

            def send() -> None:
                file.seek(0)
                headers = {DIGEST: digest, "Content-Length": str(size)}
                answer = self._ask("PUT", place, headers, file)
                answer.content()
                self._count(answer.response, size)

            self._retried(place, send, self._patience_s)

    def remove(self, place: Place) -> None:
        """Remove the files at `place` whose names begin as its path ends."""
        self._retried(place, lambda: self._ask("DELETE", place, {}).content())

    def _ask(
        self, method: str, place: Place, headers: Mapping[str, str], body: BinaryIO | None = None
    ) -> _Answer:
        """The answer to one request. Raises OSError or HTTPException."""
        target = quote(f"/{place.path}", safe=SAFE_CHARACTERS)
        headers = {**headers, NONCE: secrets.token_hex(16)}
        signed = {**headers, SIGNATURE: signature(self._key, method, target, headers)}
        connection = self._connections.get(place[:2])
        if connection is None:
            connection = HTTPConnection(*place[:2], timeout=TIMEOUT_S, blocksize=BLOCK_BYTES)
            if self._tls is not None and self._context is not None:
                connection.connect()
                name = self._tls.name or place.host
                connection.sock = self._context.wrap_socket(connection.sock, server_hostname=name)
                connection.auto_open = 0  # it would be plain
            self._connections[place[:2]] = connection
        try:
            connection.request(method, target, body, signed)
        except (BrokenPipeError, ConnectionResetError):
            if body is None:
                raise
            # It may have answered before it had read all of the body.
        response = connection.getresponse()
        answer = _Answer(response, self._key, headers[NONCE])
        if response.status >= HTTPStatus.BAD_REQUEST:
            # One that does not know the token cannot prove its refusal to who does.
            is_denial = response.status == HTTPStatus.FORBIDDEN
            content = response.read() if is_denial else answer.content()
            why = content.decode("utf-8", "replace")
            number = _FINAL.get(HTTPStatus(response.status))
            if response.status == HTTPStatus.GONE:
                raise SpillBroken(why)
            if number is None:
                raise Unanswered(errno.EREMOTEIO, f"it answered {response.status}: {why}")
            raise OSError(number, why)  # of the class that goes with the number
        return answer

    def _retried(self, place: Place, act: Callable[[], T], patience_s: float = 0.0) -> T:
        give_up_at_s = time.monotonic() + patience_s
        for number in itertools.count(1):
            try:
                return act()
            except (FileNotFoundError, PermissionError, SpillBroken):
                self._drop(place)
                raise
            except (OSError, HTTPException, _Damaged) as error:
                self._drop(place)
                if getattr(error, "errno", None) in _LOCAL_DISK:
                    raise
                if number >= self._tries and time.monotonic() >= give_up_at_s:
                    why = getattr(error, "strerror", None) or error
                    why = f"{place.host}:{place.port}: {why}"
                    raise Unanswered(errno.EREMOTEIO, why) from error
            time.sleep(min(PAUSE_S_MAX, PAUSE_S_MIN * 2 ** min(number - 1, 10)))
        raise AssertionError("it is tried without end")

    def _drop(self, place: Place) -> None:
        connection = self._connections.pop(place[:2], None)
        if connection is not None:
            connection.close()

    def _count(self, response: HTTPResponse, moved_bytes: int) -> None:
        node_id = response.headers[NODE]
        self.fetched[node_id] = self.fetched.get(node_id, 0) + moved_bytes


_LOCAL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class _Damaged(Exception):
    """The bytes that arrived are not those that were sent."""


class _Landing:
    """A segment that arrives, over more than one connection if need be.

    length, crc: of what has arrived, after decompression.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.length = self.crc = 0
        self._file = file

    def take(self, response: HTTPResponse, on_bytes: Callable[[int], object]) -> int:
        """Write what arrives; returns how many bytes came over the network."""
        plain = decompressor(response.headers.get("Content-Encoding"))
        arrived, buffer = 0, memoryview(bytearray(BLOCK_BYTES))
        while count := response.readinto(buffer):
            arrived += count
            try:
                data = plain(buffer[:count].tobytes())
            except Exception as error:  # each codec has errors of its own
                self._begin_again()
                raise _Damaged(f"it cannot be decompressed: {error}") from error
            self._file.write(data)
            self.length += len(data)
            self.crc = crc32(data, self.crc)
            on_bytes(len(data))
        return arrived

    def check(self, segment: Segment) -> None:
        """Raise _Damaged if something is missing, which another request may bring; else flush.

        Raises SpillBroken if the bytes are not those of the index.
        """
        if self.length < segment.length:
            raise _Damaged(f"{self.length} of {segment.length} bytes arrived")
        if (self.length, self.crc) != (segment.length, segment.crc):
            self._begin_again()
            raise _Damaged("its bytes do not have the checksum that its index gives")
        self._file.flush()

    def _begin_again(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self.length = self.crc = 0
