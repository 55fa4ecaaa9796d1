"""Clients of the REST interface: with a token over TCP, or as the owner over the private socket."""

import http.client
import json
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sluice.store.service.places import short_path


@dataclass
class Answer:
    """One answer. headers: by their names in small letters."""

    status: int
    headers: dict[str, str] = field(repr=False)
    content: bytes

    @property
    def text(self):
        return self.content.decode()

    @property
    def json(self):
        return json.loads(self.text)


class _Private(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("sluice", timeout=60)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        with short_path(self._path) as name:
            self.sock.connect(name)


class Client:
    """Asks as one user. token: None for a stranger, or with is_owner."""

    def __init__(self, service, token=None, *, is_owner=False, host=None):
        self._service, self._token, self._is_owner = service, token, is_owner
        self.host = host or urlsplit(service.page).netloc

    def _connection(self):
        if self._is_owner:
            return _Private(self._service.folder / "home" / "service" / "web.sock")
        return http.client.HTTPConnection(self.host, timeout=60)

    def ask(self, method, path, body=None, raw=None, **headers):
        """The answer. body: as JSON; raw: as it is. headers: with _ for -."""
        content = raw if raw is not None else None if body is None else json.dumps(body)
        given = {"Content-Type": "application/json"} if content is not None else {}
        if self._token:
            given["Authorization"] = f"Bearer {self._token}"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = self._connection()
        try:
            connection.request(method, path, content, given)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, content)

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.ask("POST", path, body, **headers)

    def delete(self, path, **headers):
        return self.ask("DELETE", path, **headers)


def token(service, name, tenant="etl", role="submitter"):
    """A token, made by the command."""
    code, out, err = service.run(
        "serve", "tokens", "create", name, "--tenant", tenant, "--role", role
    )
    assert code == 0, err
    return out.strip()


def job(service, name="count", seconds=0.1, **more):
    """A job as clients send it, which sleeps and copies its input."""
    run = {
        "input": [str(service.folder / "in" / "*.txt")],
        "output": str(service.folder / "out" / "{job_id}"),
        "mapper": f"sh -c 'sleep {seconds}; cat'",
    }
    return {
        "id": name,
        "maps": {"tasks": 1, "avg_s": seconds, "max_s": seconds},
        "run": run,
        **more,
    }
