"""Read a workload: its bytes, and where it comes from. A source is a path, or "-" for stdin.

Paths are resolved here, once; nothing later asks for the working directory. The origin of a source
is part of what identifies a run, so it must not depend on how the user names the file:

* A file is known by its real path: absolute, all symlinks resolved. Relative paths in it start in
  the folder of the real file, so a symlink to a workload file elsewhere works.
* Standard input has no path. Relative paths in it start in the working directory, and the working
  directory is part of its identity. Pipes and devices, such as `<(...)` of a shell, count as
  standard input.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sluice.ingest.decompression import GZIP, Damaged, gzip, pieces
from sluice.ingest.document import FILE_BYTES_MAX, too_large
from sluice.model.errors import InvalidInput, unreadable

STDIN = "-"
_digests: ContextVar[Mapping[str, str] | None] = ContextVar("_digests", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """The text of a source, and its origin.

    name: for messages.  file: the real path, or "-" for a stream.
    folder: where relative paths in the text start; absolute, symlinks resolved.
    """

    content: bytes
    name: str
    file: str
    folder: str

    @property
    def sha256(self) -> str:
        """Digest of the text, in hex."""
        return hashlib.sha256(self.content).hexdigest()


def read_text(source: str) -> SourceText:
    """The text of a source and its origin. Raises InvalidInput if it cannot be read."""
    content = read_source(source)
    return SourceText(
        content=content,
        name=source_name(source),
        file=source_file(source),
        folder=source_folder(source),
    )


def read_source(source: str) -> bytes:
    """All bytes of a source, without gzip; never more than FILE_BYTES_MAX.

    Raises InvalidInput if it cannot be read.
    """
    content = _read(source)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    _digests.set({**digests_read(), source: digest})
    return _unpacked(content, source_name(source))


def _unpacked(content: bytes, name: str) -> bytes:
    """The content of a gzip file; any other as it is."""
    if not content.startswith(GZIP):
        return content
    found = bytearray()
    try:
        for piece in pieces(io.BytesIO(content).read, gzip()):
            found += piece.data
            if len(found) > FILE_BYTES_MAX:
                raise too_large(name)
    except Damaged as error:
        raise InvalidInput(
            f"its gzip data is damaged {error}", where=name, hint="compress the file again"
        ) from error
    return bytes(found)


def digests_read() -> Mapping[str, str]:
    """The digest of each source that was read last in this context, by the path as given."""
    return _digests.get() or {}


def _read(source: str) -> bytes:
    if source == STDIN:
        return _bounded(sys.stdin.buffer, source_name(source))
    if not source:
        raise InvalidInput("the path is empty", where="FILE", hint="name a workload file")
    try:
        with Path(source).open("rb") as stream:
            return _bounded(stream, source)
    except (OSError, ValueError) as error:
        raise unreadable(source, error) from error


def _bounded(stream: BinaryIO, name: str) -> bytes:
    content = stream.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise too_large(name)
    return content


def source_name(source: str) -> str:
    """The name of a source in messages."""
    return "standard input" if source == STDIN else source


def source_file(source: str) -> str:
    """The real path of the file: absolute, symlinks resolved; "-" for a stream."""
    return STDIN if _is_stream(source) else str(Path(source).resolve())


def source_folder(source: str) -> str:
    """The folder where relative paths in a source start: absolute, symlinks resolved.

    The file need not exist: an output file that will be read as a workload counts, too.
    """
    if not _is_stream(source):
        return str(Path(source).resolve().parent)
    try:
        return str(Path.cwd())
    except OSError as error:
        raise InvalidInput(
            f"the working directory cannot be used: {error.strerror}",
            where=source_name(source),
            hint="change to a folder that exists",
        ) from error


def _is_stream(source: str) -> bool:
    """Whether the source is stdin, a pipe or a device: no path leads to it a second time."""
    if source == STDIN:
        return True
    path = Path(source)
    # Resolved: /dev/stdin may be a file with a name, or the deleted file of a here-document.
    return path.exists() and not path.is_dir() and not path.resolve().is_file()
