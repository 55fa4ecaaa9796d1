"""Private folders and files: only their owner can list, read, write or lock them.

All state of Sluice (journals, locks, profiles, scratch folders, logs) is made here. The mode is
part of the call that makes a folder or file, so that no moment exists at which another user can
open it, whatever the umask is. The umask of the process stays as it is, because the tasks inherit
it and the user's outputs must keep the modes that the user wants.

SQLite gives its side files (`-wal`, `-shm`) the mode of the database file, so a database that is
private when it is made has private side files.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OPEN_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private_folder(path: Path) -> None:
    """Make the folder and its missing parents with mode 0700; an existing folder stays as it is.

    Raises OSError, also where nothing can be made although the parent exists, as in /proc.
    """
    # The parents first: /proc reports "no such file" for a new folder, as if a parent was missing.
    if not path.parent.exists():
        make_private_folder(path.parent)
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    else:
        # A umask of 0277 must not lock the owner out.
        path.chmod(FOLDER_MODE)


def make_private_file(path: Path) -> None:
    """Make an empty file with mode 0600; an existing file is not even opened.

    Closing any descriptor of a file ends all POSIX locks that the process holds on it, and SQLite
    relies on such locks. So this opens a database file only if it makes it. Raises PermissionError
    for a link of another user.
    """
    if is_link_of_another(path):
        raise PermissionError(errno.EPERM, "it is a link that another user made", str(path))
    # A link to a file that is not there: what would follow it makes that file, open to others.
    target = path if not path.is_symlink() or path.exists() else path.resolve()
    with suppress(FileExistsError):
        os.close(_made(target, os.O_WRONLY | os.O_EXCL))


def open_private_file(path: Path, flags: int) -> int:
    """A descriptor of a file that others cannot open; the file is made if it is missing.

    flags: as for `os.open`. A file that an older release left open to others is made private. Where
    others may write to the folder, what bears the name may be a link that one of them made: it is
    not followed, and a file of another owner, or with another name too, is left as it is. Raises
    OSError for these.
    """
    return _made(path, flags)


def is_link_of_another(path: Path) -> bool:
    """Whether the path is a link that another user put there, so that it may lead anywhere.

    The owner of the folder may make links in it, as Linux has it for folders that all may write to
    (proc(5), fs.protected_symlinks).
    """
    with suppress(FileNotFoundError):
        found = path.lstat()
        trusted = {os.geteuid(), path.parent.stat().st_uid}
        return stat.S_ISLNK(found.st_mode) and found.st_uid not in trusted
    return False


def make_private(path: Path) -> None:
    """Take away all rights of other users to a folder or file; a missing one is ignored."""
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & OPEN_TO_OTHERS:
            path.chmod(mode & ~OPEN_TO_OTHERS)


def _made(path: Path, flags: int) -> int:
    # Truncated only once it is known to be ours.
    made = os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, (flags & ~os.O_TRUNC) | made, FILE_MODE)
    try:
        found = os.fstat(descriptor)
        _check_own(found, path)
        if stat.S_IMODE(found.st_mode) != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_own(found: os.stat_result, path: Path) -> None:
    """Raise PermissionError unless it is a file of this user, under this name alone."""
    if found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        what = "it is another user's, or a link to another file"
        raise PermissionError(errno.EPERM, what, str(path))
