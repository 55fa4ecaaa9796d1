"""How the processes of a service speak: one line of JSON each way over a private unix socket.

Errors travel as their class and their parts, so that a client shows what the service found.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from sluice.model.errors import (
    EngineUnavailable,
    Infeasible,
    InvalidInput,
    SluiceError,
    StoreCorrupt,
)
from sluice.store.database import StoreFull, StoreUnavailable
from sluice.store.service.places import ServicePlace, short_path

LINE_BYTES_MAX = 32 << 20
Message = Mapping[str, Any]

_KNOWN = (EngineUnavailable, Infeasible, StoreCorrupt, StoreFull, StoreUnavailable)
_KINDS: dict[str, type[SluiceError]] = {kind.__name__: kind for kind in _KNOWN}


def ask(path: Path, message: Message, *, timeout_s: float | None = 60.0) -> dict[str, Any]:
    """The answer of the process behind a socket.

    Raises EngineUnavailable where nothing listens or no answer comes, and the error in the answer.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection, short_path(path) as name:
            connection.settimeout(timeout_s)
            connection.connect(name)
            connection.sendall(json.dumps(message).encode() + b"\n")
            with connection.makefile("rb") as stream:
                line = stream.readline(LINE_BYTES_MAX)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise no_service() from error
    except OSError as error:  # a timeout is one
        raise no_service(f" ({error})") from error
    return decoded(line)


def decoded(line: bytes) -> dict[str, Any]:
    """The answer in a line. Raises the error in it; EngineUnavailable for a part of a line."""
    if not line.endswith(b"\n"):
        raise no_service(" (it ended before it answered)")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise _raised(answer["error"])
    return answer


def no_service(why: str = "") -> EngineUnavailable:
    """The error where no service answers."""
    return EngineUnavailable(f"No service answers{why}. Start one: sluice serve --config FILE")


def raise_fault(place: ServicePlace) -> None:
    """Raise StoreCorrupt if the follower has ended for good: it has found a damaged journal."""
    fault = place.fault()
    if fault is not None:
        raise StoreCorrupt(
            f"Jobs go on, but nothing answers questions about them: {fault}"
            " `sluice serve verify` checks the whole journal."
        )


def say(message: str) -> None:
    """Write to the log of the service, if there is room for it on the disk."""
    with suppress(OSError):
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


def failure(error: SluiceError) -> dict[str, Any]:
    """The answer that makes the client raise the error."""
    if isinstance(error, InvalidInput):
        about = {"what": error.what, "where": error.where, "hint": error.hint}
        return {"error": {"kind": "InvalidInput", **about}}
    return {"error": {"kind": type(error).__name__, "what": str(error)}}


def _raised(error: Mapping[str, str]) -> SluiceError:
    if error["kind"] == "InvalidInput":
        return InvalidInput(error["what"], where=error["where"], hint=error["hint"])
    return _KINDS.get(error["kind"], EngineUnavailable)(error["what"])


class MessageServer:
    """Answers each connection in a thread of its own.

    answer: called with the message of a client; its SluiceErrors go back to the client.
    Only processes of the same user are answered, whatever the rights of the socket are.
    """

    def __init__(self, path: Path, answer: Callable[[Message], Message]) -> None:
        path.unlink(missing_ok=True)
        with short_path(path) as name:
            self._server = _Server(name, _handler(answer))
        path.chmod(0o600)
        self._thread = Thread(target=self._server.serve_forever, args=(0.2,), daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(answer: Callable[[Message], Message]) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        timeout = 60.0

        def handle(self) -> None:
            if not _is_own(self.connection):
                return
            line = self.rfile.readline(LINE_BYTES_MAX)
            if line.endswith(b"\n"):
                self.wfile.write(json.dumps(answered(line, answer)).encode() + b"\n")

    return Handler


def answered(line: bytes, answer: Callable[[Message], Message]) -> Message:
    """The answer to one line."""
    try:
        message = json.loads(line)
        if not isinstance(message, dict):
            raise InvalidInput("it is no object", where="message", hint="send an object")
        return answer(message)
    except SluiceError as error:
        return failure(error)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        what = f"it cannot be read: {type(error).__name__}: {error}"
        return failure(InvalidInput(what, where="message", hint="use a client of this release"))


def _is_own(connection: socket.socket) -> bool:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    _, uid, _ = struct.unpack("3i", credentials)
    return bool(uid == os.geteuid())
