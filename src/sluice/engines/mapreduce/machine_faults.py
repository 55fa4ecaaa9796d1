"""Whether the machine made a command fail: a command says so only in its own words, if at all.

A full disk is seen on the disk, or in the last words of the command. Too few descriptors count only
where the limit is low: a command that leaks them fails under any limit, and so on any machine.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

FREE_BYTES_MIN = 1 << 20  # a disk with less is full
FILES_MIN = 256  # a lower limit is a fault of the machine
_TAIL_BYTES = 2048
_FULL = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT))
_FILES = os.strerror(errno.EMFILE)
_STDERR = 2


def is_full(place: Path) -> bool:
    """Whether the disk of a folder has no room left."""
    try:
        return shutil.disk_usage(place).free < FREE_BYTES_MIN
    except OSError:
        return False


def fault_behind(places: Iterable[Path]) -> str | None:
    """Return what is wrong with the machine after a command has failed; None if nothing is known.

    places: where the attempt writes. Called before its unfinished files are removed.
    """
    full = next(filter(is_full, places), None)
    if full is not None:
        return f"the disk is full: no room is left in {str(full)!r}"
    said = _last_words()
    if any(words in said for words in _FULL):
        return "a disk is full, as the command says"
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _FILES in said and files < FILES_MIN:
        return f"only {files} files may be open here (ulimit -n)"
    return None


def _last_words() -> str:
    """The end of what the attempt has written to its log."""
    if not stat.S_ISREG(os.fstat(_STDERR).st_mode):
        return ""
    try:
        with Path(f"/proc/self/fd/{_STDERR}").open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
            return log.read(_TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
