"""From the patterns under `input` of a workload file to the files that they match."""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from sluice.engines.data_plane.stores import HIDDEN, Store, is_url
from sluice.engines.mapreduce.decompression import is_compressed
from sluice.engines.mapreduce.fingerprints import InputVersion
from sluice.engines.mapreduce.splits import Split, cut
from sluice.model.errors import InvalidInput
from sluice.model.job import TASKS_MAX


def input_files(folder: str, patterns: Iterable[str], *, where: str) -> list[InputVersion]:
    """The version of every input file, in the order of the patterns, each file once.

    A pattern names a file, a folder (its regular files by name, without hidden ones), or is a glob
    for such; it is relative to `folder`, or a URL. Raises InvalidInput naming a pattern that
    matches nothing.
    """
    found: dict[str, InputVersion] = {}
    for given in patterns:
        pattern = given.removeprefix("file://")
        if is_url(pattern):
            found |= {one.path: one for one in _versions_at(pattern, where)}
            continue
        paths = list(_matches(str(Path(folder, pattern).absolute())))
        if not paths:
            raise InvalidInput(
                f"input {pattern!r} matches no file",
                where=where,
                hint=f"give files, folders or globs, relative to {folder!r}",
            )
        for path in paths:
            for file in _files_in(path, where) if path.is_dir() else [str(path)]:
                found[file] = _version(file, where)
    return list(found.values())


def _versions_at(pattern: str, where: str) -> list[InputVersion]:
    """The versions of the files that a URL names."""
    try:
        found = Store(pattern).versions()
        if not found:
            raise FileNotFoundError(errno.ENOENT, f"{pattern!r} matches no file")
        return [InputVersion.of(url, version) for url, version in found.items()]
    except OSError as error:
        hint = getattr(error, "hint", "") or "give the URL of a file, of a folder, or a glob"
        raise InvalidInput(f"input {error.strerror}", where=where, hint=hint) from error


def _matches(pattern: str) -> Iterator[Path]:
    # A file of exactly that name comes first, even if the name looks like a glob.
    if os.path.lexists(pattern):
        yield Path(pattern)
    else:
        yield from map(Path, sorted(glob.glob(pattern, recursive=True)))  # noqa: PTH207  # a text


def _files_in(folder: Path, where: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            inside = [entry for entry in entries if not entry.name.startswith(HIDDEN)]
    except OSError as error:
        raise InvalidInput(
            f"input {str(folder)!r} cannot be read: {error.strerror}",
            where=where,
            hint="grant permission to read it",
        ) from error
    files = [entry.path for entry in inside if entry.is_file()]
    if not files and any(entry.is_dir() for entry in inside):
        raise InvalidInput(
            f"input {str(folder)!r} has folders in it, and no file",
            where=where,
            hint=f"give {str(folder / '*')!r} for the files of its folders",
        )
    return sorted(files, key=os.fsencode)


def _version(path: str, where: str) -> InputVersion:
    try:
        found = os.stat(path)  # noqa: PTH116  # a text: there may be many thousands
    except OSError:
        found = None
    if found is None or not stat.S_ISREG(found.st_mode):
        raise InvalidInput(
            f"input {path!r} is not a regular file", where=where, hint="give files of lines"
        )
    if not os.access(path, os.R_OK):
        raise InvalidInput(
            f"input {path!r} cannot be read", where=where, hint="grant permission to read it"
        )
    return InputVersion.of(path, found)


def input_splits(files: list[InputVersion], split_bytes: int, where: str) -> Iterator[Split]:
    """The files in splits of about so many bytes, compressed ones whole.

    Raises InvalidInput for a size below 1, or so small that there would be too many.
    """
    if split_bytes < 1:
        raise InvalidInput(f"split_bytes is {split_bytes}", where=where, hint="give at least 1")
    if sum(_splits_of(file, split_bytes) for file in files) > TASKS_MAX:
        raise InvalidInput(
            f"split_bytes is {split_bytes}, which makes more than {TASKS_MAX} tasks",
            where=where,
            hint="give larger splits",
        )
    for file in files:
        # A compressed file cannot be read from its middle.
        whole = max(1, file.size_bytes) if is_compressed(file.path) else split_bytes
        yield from cut(file, whole)


def _splits_of(file: InputVersion, split_bytes: int) -> int:
    if is_compressed(file.path):
        return min(1, file.size_bytes)
    return -(-file.size_bytes // split_bytes)
