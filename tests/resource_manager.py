"""A ResourceManager that answers from a dictionary, for tests without Java."""

import json
import threading
import urllib.parse
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

T0_MS = 1_767_600_000_000
NODE = {
    "id": "worker:45454", "nodeHostName": "worker", "rack": "/r1", "usedMemoryMB": 0,
    "availMemoryMB": 8192, "usedVirtualCores": 0, "availableVirtualCores": 4,
}  # fmt: skip


def application(number, state, **more):
    """An application with the fields of Hadoop 3.4. Instants: milliseconds."""
    is_over = state in {"FINISHED", "FAILED", "KILLED"}
    row = {
        "id": f"application_1767599999999_{number:04}", "user": "ann", "name": "query",
        "queue": "root.etl", "state": state, "finalStatus": "SUCCEEDED" if is_over else "UNDEFINED",
        "startedTime": T0_MS, "launchTime": 0 if state == "ACCEPTED" else T0_MS, "finishedTime": 0,
        "elapsedTime": 0, "allocatedVCores": 4 if state == "RUNNING" else -1, "vcoreSeconds": 0,
    }  # fmt: skip
    return row | more


class FakeResourceManager:
    """What it answers, which a test may change. asked: (method, path) of each request.

    answers: by path; a number is a status without content, a pair a status with headers.
    """

    def __init__(self, applications=(), nodes=(NODE,)):
        self.applications = list(applications)
        self.answers: dict[str, Any] = {"/ws/v1/cluster/nodes": {"nodes": {"node": list(nodes)}}}
        self.asked = []
        self.address = ""

    def answer(self, method, target):
        """Status, headers and content for one request."""
        parts = urllib.parse.urlsplit(target)
        self.asked.append((method, parts.path))
        found: Any = self.answers.get(parts.path, self.answers.get("*"))
        if found is None and parts.path == "/ws/v1/cluster/apps":
            states = urllib.parse.parse_qs(parts.query).get("states", [""])[0].split(",")
            rows = [one for one in self.applications if one["state"] in states]
            found = {"apps": {"app": rows} if rows else None}
        if found is None:
            return 404, {}, b""
        if isinstance(found, int):
            return found, {}, b""
        if isinstance(found, tuple):
            return *found, b""
        return 200, {}, found if isinstance(found, bytes) else json.dumps(found).encode()


@contextmanager
def served(fake, context=None):
    """Serve it on loopback. context: for TLS. Yields the fake, which knows its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, content = fake.answer(self.command, self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_POST = do_GET  # noqa: N815  # as the base class has it

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):
            """A client that does not trust the certificate hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    scheme = "http" if context is None else "https"
    fake.address = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
