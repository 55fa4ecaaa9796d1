"""Policies that other packages offer, as entry points of the group `sluice.policies`."""

from __future__ import annotations

import functools
import sys
from importlib import metadata

_GROUP = "sluice.policies"


def offered() -> metadata.EntryPoints:
    """Policies that packages on the path of modules offer."""
    return _offered_on(tuple(sys.path))


def offered_names(kind: str) -> list[str]:
    """The names of those of a kind: admission, release, tasks, pools, or an axis."""
    return [one.name.partition(".")[2] for one in offered() if one.name.startswith(f"{kind}.")]


@functools.cache
def _offered_on(_: tuple[str, ...]) -> metadata.EntryPoints:
    # To find them, the files of each package are read; the path seldom changes.
    return metadata.entry_points(group=_GROUP)
