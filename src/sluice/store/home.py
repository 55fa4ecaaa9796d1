"""The folder that holds all state: SLUICE_HOME, or by default the state folder of the XDG rules.

The folder is private (see `private`). A folder that belongs to another user, or that others may
write to, is refused: others could read what is written there, or plant what is read. An older
release made folders that others could read; such a folder is made private once, with a log message.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

from sluice.model.errors import InvalidInput
from sluice.store.database import store_errors
from sluice.store.private import (
    OPEN_TO_OTHERS,
    is_link_of_another,
    make_private,
    make_private_folder,
)

RUNS_FOLDER = "runs"
SERVICE_FOLDER = "service"
ADVICE_FILE = "advice.json"
PROFILES_FILE = "profiles.db"
FITS_FILE = "fits.db"
SIDE_FILES = ("-wal", "-shm", "-journal")
_DATABASES = tuple(name + side for name in (PROFILES_FILE, FITS_FILE) for side in ("", *SIDE_FILES))
_STATE = frozenset({RUNS_FOLDER, SERVICE_FOLDER, ADVICE_FILE, *_DATABASES})
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_HINT = "set SLUICE_HOME to a folder of your own"


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The absolute path of the state folder, which may not exist yet.

    environ: the environment to read, by default that of the process. An empty SLUICE_HOME is
    ignored, and so is an XDG_STATE_HOME that is not absolute, as the XDG rules demand.
    In a SLUICE_HOME that begins with ~/ the ~ is the home folder: not all that set it expand it.
    Raises InvalidInput if the account has no home folder and no folder is named.
    """
    environ = os.environ if environ is None else environ
    if named := environ.get("SLUICE_HOME"):
        if named.startswith("~/") and environ.get("HOME"):
            named = f"{environ['HOME']}{named[1:]}"
        return Path(named).absolute()
    if (states := environ.get("XDG_STATE_HOME", "")).startswith("/"):
        return Path(states) / "sluice"
    if account := environ.get("HOME"):
        return Path(account).absolute() / ".local" / "state" / "sluice"
    raise InvalidInput(
        "this account has no home folder for the state",
        where="SLUICE_HOME",
        hint="set SLUICE_HOME to a folder that you may write to",
    )


def make_state_folder(folder: Path) -> None:
    """Make the state folder, or check the existing one as `check_state_folder` does."""
    make_private_folder(folder)
    check_state_folder(folder)


def check_state_folder(folder: Path) -> None:
    """Refuse a state folder that is unsafe, and make one private that others can read.

    A folder that does not exist yet is fine. Raises InvalidInput if the folder, or its folder of
    runs, belongs to another user or is writable by others, and StoreUnavailable if it is no folder.
    """
    with store_errors(folder):
        if folder.is_dir():
            _check(folder)
        elif os.path.lexists(folder):  # a file, or a link to nowhere
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def _check(folder: Path) -> None:
    mode = _checked_mode(folder)
    if _is_for_state_only(folder, mode):
        _tighten(folder, mode)
        return
    # The folder has other uses too, and keeps its mode. What Sluice keeps in it is private.
    if (runs := folder / RUNS_FOLDER).is_dir():
        _tighten(runs, _checked_mode(runs))
    for name in _DATABASES:
        if (folder / name).is_file():
            _checked_mode(folder / name)
            make_private(folder / name)


def _checked_mode(path: Path) -> int:
    if is_link_of_another(path):
        raise InvalidInput("it is a link that another user made", where=str(path), hint=_HINT)
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise InvalidInput(
            f"it belongs to another user ({_user_name(status.st_uid)}), so no state is kept there",
            where=str(path),
            hint=_HINT,
        )
    mode = stat.S_IMODE(status.st_mode)
    # In a folder with the sticky bit, such as /tmp, others cannot replace what they do not own.
    if mode & _WRITABLE_BY_OTHERS and not mode & stat.S_ISVTX:
        raise InvalidInput(
            f"other users may write to it (mode {mode:04o}), so no state is kept there",
            where=str(path),
            hint=f"check what it holds and run `chmod go= {path}`, or {_HINT}",
        )
    return mode


def _is_for_state_only(folder: Path, mode: int) -> bool:
    is_shared = bool(mode & stat.S_ISVTX)
    return not is_shared and _STATE.issuperset(path.name for path in folder.iterdir())


def _tighten(folder: Path, mode: int) -> None:
    if mode & OPEN_TO_OTHERS:
        import logging  # rarely needed, and start-up counts

        make_private(folder)
        logging.getLogger(__name__).warning(
            "%s was open to other users (mode %04o). It is private now (mode %04o).",
            folder,
            mode,
            mode & ~OPEN_TO_OTHERS,
        )


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
