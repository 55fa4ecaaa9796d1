"""Where answers go: results to stdout, talk to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def print_document(document: Mapping[str, object], *, indent: int | None = None) -> None:
    """The one JSON document of a verb, numbers unrounded, to stdout."""
    sys.stdout.write(json.dumps(document, allow_nan=False, indent=indent) + "\n")


def console() -> Console:
    """Stdout for people. Ids are printed as they are: no markup, nothing highlighted."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def print_views(*views: RenderableType) -> None:
    """Tables and texts to stdout, one below the other."""
    out = console()
    for view in views:
        out.print(view)


def talk(sentence: str) -> None:
    """A sentence beside the result, to stderr."""
    sys.stderr.write(f"{sentence}\n")
