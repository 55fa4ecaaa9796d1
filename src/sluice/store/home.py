"""Where Sluice keeps its state: SLUICE_HOME, by default the state folder of the XDG rules."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sluice.model.errors import InvalidInput


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of all state, absolute; it need not exist yet.

    environ: the environment to read, by default the process's own. An empty SLUICE_HOME counts
    as none, and so does an XDG_STATE_HOME that is not absolute, as the XDG rules ask for.
    Raises InvalidInput where the account has no home folder and none was named.
    """
    environ = os.environ if environ is None else environ
    if named := environ.get("SLUICE_HOME"):
        return Path(named).absolute()
    if (states := environ.get("XDG_STATE_HOME", "")).startswith("/"):
        return Path(states) / "sluice"
    if account := environ.get("HOME"):
        return Path(account).absolute() / ".local" / "state" / "sluice"
    raise InvalidInput(
        "this account has no home folder to keep state in",
        where="SLUICE_HOME",
        hint="set SLUICE_HOME to a folder that may be written",
    )
