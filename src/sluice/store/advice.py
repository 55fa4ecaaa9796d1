"""The newest advice, for `--preset auto`: a preset's file in the state folder."""

from __future__ import annotations

import hashlib
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


def keep_advice(preset: Mapping[str, object], about: str) -> None:
    """Keep a preset in place of the one before, whole or not at all. Raises StoreUnavailable.

    about: a sentence on where it comes from, for those who use it.
    """
    path = advice_file()
    draft = path.with_name(f"{path.name}.new")
    document = {"preset": dict(preset), "about": about, "digest": preset_digest(preset)}
    with store_errors(path):
        make_state_folder(path.parent)
        with os.fdopen(open_private_file(draft, os.O_WRONLY | os.O_TRUNC), "w") as file:
            file.write(json.dumps(document, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)


def preset_digest(preset: Mapping[str, object]) -> str:
    """A short name of what a preset says, the same for the same preset.

    >>> preset_digest({"slots": "lent", "order": "fair"})
    'f091a84fb070'
    """
    text = json.dumps(dict(preset), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
