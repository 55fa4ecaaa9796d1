"""Policies that other packages offer, as entry points of the group `sluice.policies`."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import EntryPoint

from sluice.ingest import entry_points

_GROUP = "sluice.policies"


def offered() -> Collection[EntryPoint]:
    """Policies that packages on the path of modules offer."""
    return entry_points.offered(_GROUP).values()


def offered_names(kind: str) -> list[str]:
    """The names of those of a kind: admission, release, tasks, pools, or an axis."""
    return [one.name.partition(".")[2] for one in offered() if one.name.startswith(f"{kind}.")]
