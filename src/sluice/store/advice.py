"""The newest advice, for `--preset auto`: a preset's file in the state folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from sluice.store.database import store_errors
from sluice.store.home import ADVICE_FILE, make_state_folder, state_folder
from sluice.store.private import open_private_file


def advice_file() -> Path:
    """Where it is kept; it need not be there."""
    return state_folder() / ADVICE_FILE


def keep_advice(preset: Mapping[str, object]) -> None:
    """Keep a preset in place of the one before, whole or not at all. Raises StoreUnavailable."""
    path = advice_file()
    draft = path.with_name(f"{path.name}.new")
    with store_errors(path):
        make_state_folder(path.parent)
        with os.fdopen(open_private_file(draft, os.O_WRONLY | os.O_TRUNC), "w") as file:
            file.write(json.dumps(dict(preset), indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
