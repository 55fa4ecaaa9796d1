"""A server that speaks WebHDFS as Hadoop's NameNode and DataNodes do, over a folder of a disk.

It does what Hadoop 3.4.2 was seen to do: data goes through a second address; a rename of what is
not there is answered by `false` and no error, and one onto a folder that is there moves into it.
"""

import http.server
import json
import shutil
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from tests.engines.store_server import StoreServer

ROOT = "/webhdfs/v1"


class WebHdfsServer(StoreServer):
    """url: of its root.  folder: what it serves.  users: the names of those who asked.

    is_broken: whether a read of data is answered by an error.  is_read_only: whether all others
    may only read.
    """

    def __init__(self, folder):
        super().__init__(_Handler)
        self.folder = Path(folder)
        self.users = set()
        self.is_broken = self.is_read_only = False
        self.url = f"webhdfs://{self.address}"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebHdfsServer

    def do_GET(self):
        self._answer()

    def do_PUT(self):
        self._answer()

    def do_POST(self):
        self._answer()

    def do_DELETE(self):
        self._answer()

    def log_message(self, *args):
        """Requests are not logged."""

    def _answer(self):
        self._content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.server.users.add(given.get("user.name", ""))
        self._path = self._file(unquote(url.path.removeprefix(ROOT)))
        if self.server.is_read_only and self.command != "GET":
            about = {
                "exception": "AccessControlException",
                "message": f'Permission denied: user=ann, access=WRITE, inode="{url.path}"',
            }
            self._say({"RemoteException": about}, HTTPStatus.FORBIDDEN)
            return
        try:
            getattr(self, f"_{given['op'].lower()}")(given)
        except FileNotFoundError:
            about = {
                "exception": "FileNotFoundException",
                "message": f"File does not exist: {url.path.removeprefix(ROOT)}",
            }
            self._say({"RemoteException": about}, HTTPStatus.NOT_FOUND)

    def _file(self, path):
        return self.server.folder / path.strip("/")

    def _say(self, answer, status=HTTPStatus.OK):
        self._send(json.dumps(answer).encode(), status)

    def _send(self, body, status=HTTPStatus.OK, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def _is_sent_on(self, given):
        """Whether the data is at another address, to which the caller is sent."""
        if "datanode" not in given:
            where = f"http://{self.headers['Host']}{self.path}&datanode=1"
            self._send(b"", HTTPStatus.TEMPORARY_REDIRECT, Location=where)
        return "datanode" not in given

    # --- the operations -------------------------------------------------------------------------

    def _getfilestatus(self, _):
        self._say({"FileStatus": _status(self._path, "")})

    def _liststatus(self, _):
        if self._path.is_file():
            found = [_status(self._path, "")]
        else:
            found = [_status(path, path.name) for path in sorted(self._path.iterdir())]
        self._say({"FileStatuses": {"FileStatus": found}})

    def _open(self, given):
        content = self._path.read_bytes()
        if self._is_sent_on(given):
            return
        if self.server.is_broken:
            self._say({"RemoteException": {"message": "no"}}, HTTPStatus.FORBIDDEN)
        else:
            start = int(given.get("offset", 0))
            self._send(content[start : start + int(given.get("length", len(content)))])

    def _create(self, given):
        if not self._is_sent_on(given):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(self._content)
            self._send(b"", HTTPStatus.CREATED)

    def _append(self, given):
        if not self._is_sent_on(given):
            with self._path.open("ab") as file:
                file.write(self._content)
            self._send(b"")

    def _mkdirs(self, _):
        self._path.mkdir(parents=True, exist_ok=True)
        self._say({"boolean": True})

    def _rename(self, given):
        target = self._file(given["destination"])
        if target.is_dir():
            target /= self._path.name
        can = self._path.exists() and target.parent.is_dir() and not target.exists()
        if can:
            self._path.rename(target)
        self._say({"boolean": can})

    def _delete(self, given):
        is_there = self._path.exists()
        if self._path.is_dir():
            assert given["recursive"] == "true"
            shutil.rmtree(self._path)
        else:
            self._path.unlink(missing_ok=True)
        self._say({"boolean": is_there})


def _status(path, suffix):
    about = path.stat()
    return {
        "pathSuffix": suffix,
        "type": "DIRECTORY" if path.is_dir() else "FILE",
        "length": 0 if path.is_dir() else about.st_size,
        "modificationTime": int(about.st_mtime * 1000),
    }
