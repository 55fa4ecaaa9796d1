"""From what the user wrote under `input` to the files that are meant."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from sluice.model.errors import InvalidInput

HIDDEN = (".", "_")  # as Hadoop has it: `_SUCCESS` of an earlier job is no data


def input_files(folder: str, patterns: Iterable[str], *, where: str) -> list[tuple[str, int]]:
    """(absolute path, bytes) of every input file, in the order of the patterns, each once.

    A pattern names a file, a folder (its regular files by name, hidden ones left out), or is a glob
    for such; it starts from `folder`. Raises InvalidInput naming a pattern that matches nothing.
    """
    found: dict[str, int] = {}
    for pattern in patterns:
        paths = list(_matches(str(Path(folder, pattern).absolute())))
        if not paths:
            raise InvalidInput(
                f"input {pattern!r} matches no file",
                where=where,
                hint=f"give files, folders or globs, relative to {folder!r}",
            )
        for path in paths:
            for file in _files_in(path) if path.is_dir() else [path]:
                found[str(file)] = _size_bytes(file, where)
    return list(found.items())


def _matches(pattern: str) -> Iterator[Path]:
    # What stands there under that very name is meant, even if the name looks like a glob.
    if os.path.lexists(pattern):
        yield Path(pattern)
    else:
        yield from map(Path, sorted(glob.glob(pattern, recursive=True)))  # noqa: PTH207  # a text


def _files_in(folder: Path) -> list[Path]:
    inside = sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name))
    return [path for path in inside if path.is_file() and not path.name.startswith(HIDDEN)]


def _size_bytes(path: Path, where: str) -> int:
    if not path.is_file():
        raise InvalidInput(
            f"input {str(path)!r} is no regular file", where=where, hint="give files of lines"
        )
    if not os.access(path, os.R_OK):
        raise InvalidInput(
            f"input {str(path)!r} may not be read", where=where, hint="grant the right to read it"
        )
    return path.stat().st_size
