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
    """A resource manager whose answers a test may change. asked: (method, path) of each request.

    answers: by path; a number is a status without content, a pair a status with headers.
    """

    def __init__(self, applications=(), nodes=(NODE,)):
        self.applications = list(applications)
        self.answers: dict[str, Any] = {"/ws/v1/cluster/nodes": {"nodes": {"node": list(nodes)}}}
        self.asked = []
        self.address = ""

    def put(self, path, body):
        """Called with each change, before it is answered."""

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


CONF = "/ws/v1/cluster/scheduler-conf"
APPS = "/ws/v1/cluster/apps"


class SteeredResourceManager(FakeResourceManager):
    """One that takes priorities of applications and the configuration of its queues.

    configured: of the Capacity Scheduler.  puts: (path, body) of each change that was tried.
    on_put: called after each.
    """

    def __init__(self, applications=(), configured=None, priorities=10):
        super().__init__([{"priority": 0, "applicationType": "MAPREDUCE"} | one
                          for one in applications])  # fmt: skip
        self.configured = dict(configured or {})
        self.priorities = priorities
        self.puts = []
        self.on_put = lambda: None

    def put(self, path, body):
        """Make the change, unless it must be refused."""
        self.puts.append((path, body))
        if path == CONF:
            wanted = dict(self.configured)
            for queue in body["update-queue"]:
                for one in queue["params"]["entry"]:
                    key = f"{queue['queue-name']}.{one['key']}"
                    wanted[key] = one["value"]
                    if one["value"] == "":
                        del wanted[key]
            self.configured = wanted
        elif (row := self.application(path.split("/")[-2])) is not None:
            row["priority"] = body["priority"]
        self.on_put()

    def application(self, app_id):
        """The row of one that is not over; None without one."""
        rows = [one for one in self.applications if one["id"] == app_id]
        return next((one for one in rows if one["state"] in {"RUNNING", "ACCEPTED"}), None)

    def answer(self, method, target):
        """As the base class, from what it has now."""
        parts = urllib.parse.urlsplit(target)
        found: Any = None
        if method == "PUT":
            self.asked.append((method, parts.path))
            is_refused = parts.path != CONF and self.application(parts.path.split("/")[-2]) is None
            return 400 if is_refused else 200, {}, b""
        if parts.path == "/conf" and "max-application-priority" in parts.query:
            found = {"property": {"value": str(self.priorities)}}
        elif parts.path == CONF:
            rows = self.configured.items()
            found = {"property": [{"name": f"yarn.scheduler.capacity.{name}", "value": value}
                                  for name, value in rows]}  # fmt: skip
        elif parts.path == APPS and not parts.query.startswith("states="):
            found = {"apps": {"app": self.applications}}
        elif parts.path.startswith(f"{APPS}/"):
            app_id = parts.path.rpartition("/")[2]
            found = next(({"app": one} for one in self.applications if one["id"] == app_id), None)
        if found is None:
            return super().answer(method, target)
        self.asked.append((method, parts.path))
        return 200, {}, json.dumps(found).encode()


@contextmanager
def served(fake, context=None):
    """Serve it on loopback. context: for TLS. Yields the fake, which knows its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.command == "PUT":
                fake.put(urllib.parse.urlsplit(self.path).path, json.loads(body))
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
