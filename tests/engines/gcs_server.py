"""A store of objects that speaks the part of Google's JSON API that `gcsfs` uses.

It has one bucket, `box`. Objects have the fields of Google's: size, etag, generation, updated.
"""

import email
import email.policy
import http.server
import itertools
import json
import re
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

from tests.engines.store_server import StoreServer

BUCKET = "box"
OBJECT = re.compile(rf"/(?:download/|upload/)?storage/v1/b/{BUCKET}(?:/o(?:/([^/]+))?)?(?:/(.*))?")


class GcsServer(StoreServer):
    """url: what `gcsfs` takes as its endpoint.  objects: content and generation, by name.

    ranges: those that were asked for, by name.  is_read_only: whether changes are forbidden.
    """

    def __init__(self):
        super().__init__(_Handler)
        self.objects = {}
        self.ranges = []
        self.is_read_only = False
        self._generations = itertools.count(1)
        self.url = f"http://{self.address}"

    def put(self, name, content):
        self.objects[name] = content, next(self._generations)

    def about(self, name):
        content, generation = self.objects[name]
        return {
            "kind": "storage#object",
            "bucket": BUCKET,
            "name": name,
            "size": str(len(content)),
            "generation": str(generation),
            "etag": f"tag-{generation}",
            "updated": "2026-01-02T03:04:05.678Z",
        }


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: GcsServer

    def do_GET(self):
        name, _ = self._asked()
        if name is None:
            self._refuse(HTTPStatus.NOT_FOUND, "No such bucket")
        elif name == "":
            self._list() if "/o" in self._path else self._say({"name": BUCKET})
        elif name not in self.server.objects:
            self._refuse(HTTPStatus.NOT_FOUND, "No such object")
        elif "alt" not in self._given:
            self._say(self.server.about(name))
        else:
            content = self.server.objects[name][0]
            if found := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
                first, last = map(int, found.groups())
                self.server.ranges.append((name, first, last))
                self._send(content[first : last + 1], HTTPStatus.PARTIAL_CONTENT)
            else:
                self._send(content)

    def do_POST(self):
        name, rest = self._asked()
        if name is None:
            self._refuse(HTTPStatus.NOT_FOUND, "No such bucket")
            return
        if self.server.is_read_only:
            self._refuse(HTTPStatus.FORBIDDEN, "ann does not have storage.objects.create access")
            return
        if rest:  # rewriteTo/b/BUCKET/o/NAME
            target = unquote(rest.rpartition("/")[2])
            self.server.put(target, self.server.objects[name][0])
            self._say({"done": True})
            return
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        both = email.message_from_bytes(head + self._content, policy=email.policy.HTTP)
        about, content = (part.get_payload(decode=True) for part in both.iter_parts())
        name = json.loads(about)["name"]
        self.server.put(name, content)
        self._say(self.server.about(name))

    def do_DELETE(self):
        name, _ = self._asked()
        was_there = self.server.objects.pop(name, None)
        self._send(b"", HTTPStatus.NO_CONTENT if was_there else HTTPStatus.NOT_FOUND)

    def log_message(self, *args):
        """Requests are not logged."""

    def _asked(self):
        self._content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        self._path = url.path
        self._given = {name: values[0] for name, values in parse_qs(url.query).items()}
        found = OBJECT.fullmatch(url.path)
        return (unquote(found[1] or ""), found[2]) if found else (None, None)

    def _list(self):
        prefix, mark = self._given.get("prefix", ""), self._given.get("delimiter", "")
        items, prefixes = [], set()
        for name in sorted(self.server.objects):
            rest = name.removeprefix(prefix)
            if not name.startswith(prefix):
                continue
            if mark and mark in rest:
                prefixes.add(prefix + rest.partition(mark)[0] + mark)
            else:
                items.append(self.server.about(name))
        self._say({"kind": "storage#objects", "items": items, "prefixes": sorted(prefixes)})

    def _refuse(self, status, message):
        self._say({"error": {"code": status, "message": message}}, status)

    def _say(self, answer, status=HTTPStatus.OK):
        self._send(json.dumps(answer).encode(), status)

    def _send(self, body, status=HTTPStatus.OK):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
