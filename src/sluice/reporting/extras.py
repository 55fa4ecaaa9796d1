"""Libraries that are asked for only when they are needed, and named when they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from sluice.model.errors import SluiceError


class MissingExtra(SluiceError):
    """Something was asked for that needs a library which is not installed."""


def required(module: str, *, extra: str, what: str) -> Any:  # noqa: ANN401  # any library's module
    """The module, imported now. Raises MissingExtra, naming the extra, where it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{what} needs {module.split('.', maxsplit=1)[0]}, which is not installed."
            f' Run: pip install "sluice[{extra}]"'
        ) from error
