"""Who may use a data server, and how a node finds its own and that of the driver.

A request carries an HMAC-SHA256 over its method, its target, its range, the digest of its body and
a number that it uses once. The answer carries one over that number, its status, what it says of the
content, and the digest of the content. So a process that takes the port of a data server which has
ended can neither read nor answer. Of the segments of map output, length and CRC32 are proved. That
holds against an impostor, and not where bytes are changed on their way; against that there is TLS.

The key is made of the run's token, and is of no use to a node server: it starts nothing. A recorded
request can be repeated; it reads what it read before, or writes the same bytes under the same name.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sluice.engines.local.agents import NODE_MARK
from sluice.engines.tls_files import TlsFiles
from sluice.store.private import open_private_file

ACCESS_FILE = "data-plane.json"
SCHEME = "sluice"
DRIVER = "driver"  # names the driver where nodes are named
SIGNATURE, RANGE, DIGEST = "X-Sluice-Signature", "Range", "X-Sluice-SHA256"
NONCE, PROOF = "X-Sluice-Nonce", "X-Sluice-Proof"
NODE, VERSION, CRC, LENGTH, RECORDS = (
    f"X-Sluice-{name}" for name in ("Node", "Version", "CRC32", "Length", "Records")
)
_PROVED = (NODE, VERSION, CRC, LENGTH, RECORDS, "Content-Encoding")  # of an answer

Address = tuple[str, int]


def data_key(key: bytes) -> bytes:
    """The key of the data plane, made of the key that the run's token is."""
    return hmac.digest(key, b"data plane", "sha256")


def signature(key: bytes, method: str, target: str, headers: Mapping[str, str]) -> str:
    """The signature of a request, as its header carries it.

    >>> signature(b"key", "GET", "/file/a", {}) == signature(b"key", "GET", "/file/b", {})
    False
    """
    parts = (method, target, *(headers.get(name, "") for name in (RANGE, DIGEST, NONCE)))
    return hmac.digest(key, "\n".join(parts).encode(), "sha256").hex()


def proof(key: bytes, nonce: str, status: int, about: Mapping[str, str], digest: str) -> str:
    """The proof that an answer comes from who has the key, as its header carries it.

    nonce: of the request.  about: headers of the answer.  digest: SHA-256 of its content, in hex;
    "" where the content is checked by the CRC32 in the headers.
    """
    parts = ("answer", nonce, str(status), *(about.get(name, "") for name in _PROVED), digest)
    return hmac.digest(key, "\n".join(parts).encode(), "sha256").hex()


class Place(NamedTuple):
    """Where a file is served.

    >>> Place.of("sluice://[::1]:80/data/a.spill")
    Place(host='::1', port=80, path='data/a.spill')
    """

    host: str
    port: int
    path: str

    @classmethod
    def of(cls, text: str) -> Place:
        """The place that a text names. Raises ValueError."""
        rest = text.removeprefix(f"{SCHEME}://")
        where, slash, path = rest.partition("/")
        host, _, port = where.rpartition(":")
        if rest == text or not slash or not host:
            raise ValueError(f"{text!r} is not a place of a data server")
        return cls(host.strip("[]"), int(port), path)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SCHEME}://{host}:{self.port}/{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAccess:
    """The facts of the data plane that an attempt needs to know, apart from its work.

    host, port: of the node's own data server, as others reach it.  driver_host: of the driver.
    tls: None for plain HTTP.
    """

    node_id: str
    host: str
    port: int
    driver_host: str
    key: bytes = field(repr=False)
    tls: TlsFiles | None = None

    def write(self, folder: Path) -> None:
        """Leave it in the node's folder, for its attempts."""
        path = folder / ACCESS_FILE
        writing = path.with_suffix(".writing")
        plain = {**asdict(self), "key": self.key.hex()}
        with os.fdopen(open_private_file(writing, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            file.write(json.dumps(plain).encode())
        writing.replace(path)


def node_folder_here() -> Path:
    """The folder of the node to which this process belongs. Raises OSError if there is none."""
    folder = os.environ.get(NODE_MARK)
    if folder is None:
        raise FileNotFoundError(None, f"{NODE_MARK} is not set: this is not a process of an agent")
    return Path(folder)


@cache
def access_here() -> NodeAccess:
    """The access of the node to which this process belongs. Raises OSError."""
    plain = json.loads((node_folder_here() / ACCESS_FILE).read_bytes())
    tls = plain["tls"] and TlsFiles(**plain["tls"])
    return NodeAccess(**{**plain, "key": bytes.fromhex(plain["key"]), "tls": tls})
