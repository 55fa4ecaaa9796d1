"""A file that a command writes is whole, or what was there before.

A path at fault is the user's mistake (InvalidInput); a full disk is the machine's (OSError).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sluice.model.errors import InvalidInput

_FAULTS_OF_PATHS = {
    errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG,
    errno.ELOOP, errno.EROFS, errno.EINVAL, errno.ENXIO, errno.ETXTBSY,
}  # fmt: skip


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Where to write what `path` is to hold; it takes its place when the block ends well.

    A full disk then leaves the file that was there. Devices and pipes, and files in folders in
    which no other file can be made, are written in place.
    Raises InvalidInput if the path is at fault; an OSError of the machine names the path.
    """
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a NUL character
        raise _wrong_path(path, str(error)) from error
    try:
        with _draft_of(target) as draft:
            yield draft
    except OSError as error:
        if error.errno in _FAULTS_OF_PATHS:
            raise _wrong_path(path, error.strerror or str(error)) from error
        if error.errno:
            error.filename = str(path)  # the system does not name it when a write fails
        raise


def _wrong_path(path: str | Path, reason: str) -> InvalidInput:
    return InvalidInput(f"it cannot be written: {reason}", where=str(path), hint="check the path")


@contextmanager
def _draft_of(target: Path) -> Iterator[Path]:
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    if _is_written_in_place(target, draft):
        yield target
        return
    try:
        yield draft
        with suppress(OSError):
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _is_written_in_place(target: Path, draft: Path) -> bool:
    if target.exists() and not target.is_file():
        return True
    try:
        draft.touch()
    except OSError:
        return True  # what is wrong is said when it is written
    return False
