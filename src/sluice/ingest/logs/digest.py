"""The digest that names the content of a log: SHA-256, as `sha256sum` prints it for a file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sluice.model.errors import unreadable


def log_digest(path: Path) -> str:
    """The digest of a file; of a folder, that of its files' names and digests, in their order.

    The bytes of the file, packed or not. Raises InvalidInput where they cannot be read.
    """
    try:
        return _digest(path)
    except OSError as error:
        raise unreadable(path, error) from error


def _digest(path: Path) -> str:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file())
        names = "".join(f"{_digest(file)}  {file.name}\n" for file in files)
        return hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
