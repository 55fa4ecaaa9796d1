"""A file that a command writes is whole, or what was there before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Where to write what `path` is to hold; it takes its place when the block ends well.

    A full disk then leaves the file that was there. Devices and pipes, and files in folders in
    which no other file can be made, are written in place. Raises OSError.
    """
    target = Path(os.path.realpath(path))
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
