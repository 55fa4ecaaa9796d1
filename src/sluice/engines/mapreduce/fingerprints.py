"""Fingerprints of what a job reads and runs: a change is found before it reaches the output.

Input files are compared by size, modification time and inode. Their content is not hashed: that
would read all of the input once more. The device number is left out, because a mounted file system
may get another one after a reboot, and a run must be resumable then.

Files of code in the job's folder are compared by a digest of their content, so that an edit within
one tick of the clock is found, and a file that was only touched is not reported. Programs outside
the folder, and very large files, are compared by size and modification time.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sluice.engines.data_plane.stores import FoundVersion, Store, is_url

DIGEST_BYTES_MAX = 64 << 20
_SHELL_PUNCTUATION = re.compile(r"[\s;|&<()'\"`]+")


class FileChanged(Exception):
    """A file is not what it was when the run started; the text names the file and the change."""


class InputVersion(NamedTuple):
    """An input file as it was when the run started."""

    path: str
    size_bytes: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, path: str, found: os.stat_result | FoundVersion) -> InputVersion:
        """The version that was found."""
        return cls(path, found.st_size, found.st_mtime_ns, found.st_ino)


class CodeVersion(NamedTuple):
    """A file of code as it was when the run started; `sha256` is None if it was not hashed."""

    path: str
    size_bytes: int
    mtime_ns: int
    sha256: str | None


def check_input(known: InputVersion, found: os.stat_result | FoundVersion) -> None:
    """Raise FileChanged if an input file is not the version that the run started with."""
    if found.st_size != known.size_bytes:
        change = _resized(known.size_bytes, found.st_size)
    elif found.st_ino != known.inode:
        change = "it was replaced by another file"
    elif found.st_mtime_ns != known.mtime_ns:
        change = "it was modified"
    else:
        return
    raise FileChanged(_message("input", known.path, change))


def input_changes(inputs: Iterable[InputVersion]) -> Iterator[str]:
    """One message for each input file that has changed."""
    for known in inputs:
        try:
            check_input(known, _found(known.path))
        except FileChanged as change:
            yield str(change)
        except OSError as error:
            yield gone("input", known.path, error)


def _found(path: str) -> os.stat_result | FoundVersion:
    return Store(path).version() if is_url(path) else Path(path).stat()


def code_version(path: str, folder: str) -> CodeVersion:
    """The present version of a file of code; `folder` is the folder of the job."""
    found = Path(path).stat()
    is_hashed = _is_in(path, folder) and found.st_size <= DIGEST_BYTES_MAX
    return CodeVersion(path, found.st_size, found.st_mtime_ns, _sha256(path) if is_hashed else None)


def check_code(code: Iterable[CodeVersion]) -> None:
    """Raise FileChanged if a file of code has changed; reads only those with another time."""
    for known in code:
        change = _code_change(known, trusts_time=True)
        if change is not None:
            raise FileChanged(change)


def code_changes(code: Iterable[CodeVersion]) -> Iterator[str]:
    """One message for each file of code that has changed; reads all files that were hashed."""
    for known in code:
        change = _code_change(known, trusts_time=False)
        if change is not None:
            yield change


def files_of_commands(folder: str, commands: Iterable[tuple[str, ...] | None]) -> list[str]:
    """The program of each command, and the files in its arguments, each once.

    An argument names a file as `FILE`, as `--option=FILE`, or as a word of a shell command line.
    """
    found: dict[str, None] = {}
    for argv in commands:
        if argv:
            words = [argv[0], *(word for argument in argv[1:] for word in words_of(argument))]
            paths = (os.path.normpath(Path(folder, word)) for word in words)
            found.update(dict.fromkeys(path for path in paths if _is_regular(path)))
    return list(found)


def words_of(argument: str) -> Iterator[str]:
    """Yield what may name a file in an argument: all of it, a value, a word of a script."""
    yield argument
    if "=" in argument:
        yield argument.partition("=")[2]
    # `sh -c "python clean.py | sort"`: a file that the line writes to, after ">", is not code.
    yield from _SHELL_PUNCTUATION.split(re.sub(r">>?\s*\S+", " ", argument))


def gone(role: str, path: str, error: OSError) -> str:
    """The message for a file that cannot be looked at."""
    if isinstance(error, FileNotFoundError):
        return _message(role, path, "it is gone")
    return f"{role} {path!r} cannot be read: {error.strerror}"


def _code_change(known: CodeVersion, *, trusts_time: bool) -> str | None:
    try:
        found = Path(known.path).stat()
        is_same = (found.st_size, found.st_mtime_ns) == (known.size_bytes, known.mtime_ns)
        if is_same and (trusts_time or known.sha256 is None):
            return None
        if found.st_size != known.size_bytes:
            change = _resized(known.size_bytes, found.st_size)
        elif known.sha256 is not None and _sha256(known.path) == known.sha256:
            return None
        else:
            change = "it was modified"
    except OSError as error:
        return gone("file", known.path, error)
    return _message("file", known.path, change)


def _message(role: str, path: str, change: str) -> str:
    return f"{role} {path!r} has changed since the run started: {change}"


def _resized(before_bytes: int, now_bytes: int) -> str:
    return f"its size changed from {before_bytes} to {now_bytes} bytes"


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  # a text, and often no file
    except (OSError, ValueError):
        return False


def _is_in(path: str, folder: str) -> bool:
    inside, own = Path(folder), Path(path)
    return own.is_relative_to(inside) or own.resolve().is_relative_to(inside.resolve())


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
