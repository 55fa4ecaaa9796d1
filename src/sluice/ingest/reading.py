"""A source to bytes: a file by its path, or standard input by "-"."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from sluice.ingest.document import FILE_BYTES_MAX, too_large
from sluice.model.errors import InvalidInput

STDIN = "-"


def read_source(source: str) -> bytes:
    """All bytes of a file, or of standard input for "-"; never more than FILE_BYTES_MAX.

    Raises InvalidInput where it cannot be read.
    """
    if source == STDIN:
        return _bounded(sys.stdin.buffer, source_name(source))
    try:
        with Path(source).open("rb") as stream:
            return _bounded(stream, source)
    except (OSError, ValueError) as error:
        # ValueError: a path that holds a NUL character.
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(
            f"it cannot be read: {reason}", where=source, hint="check the path"
        ) from error


def _bounded(stream: BinaryIO, name: str) -> bytes:
    content = stream.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise too_large(name)
    return content


def source_name(source: str) -> str:
    """What messages call a source."""
    return "standard input" if source == STDIN else source


def source_folder(source: str) -> str:
    """The folder that relative paths in a source start from."""
    return "." if source == STDIN else str(Path(source).parent)
