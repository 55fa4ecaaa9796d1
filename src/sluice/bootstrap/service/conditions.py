"""The reasons why a service cannot run jobs, in words: a full disk, or no node that works.

Rows of plain JSON values: `code`, `text`, and `since_at` where it is known.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sluice.bootstrap.service.futures import instant
from sluice.core.faults.node_faults import faults_text
from sluice.core.state import ClusterState
from sluice.store.database import StoreUnavailable
from sluice.store.service.places import ServicePlace

Row = dict[str, Any]
NO_DRIVER: Row = {
    "code": "no_driver",
    "text": "the driver starts again: what was acknowledged is kept, and nothing new starts until"
    " then",
    "since_at": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Why nothing can be journaled, and since when; seconds since 1970."""

    why: str
    since_s: float


def full_disk(place: ServicePlace, percent_max: float) -> str | None:
    """Why no jobs are taken; None while the disk has room for what those that are open write."""
    with suppress(StoreUnavailable):  # the next row of the journal says it
        percent = place.disk_percent
        if percent >= percent_max:
            return (
                f"the disk of {str(place.folder)!r} is {percent:.0f} % full, and no jobs are taken"
                f" from {percent_max:g} % on (service.disk_percent_max)"
            )
    return None


def conditions_of(state: ClusterState, paused: Paused | None, full: str | None) -> list[Row]:
    """All that holds now, the worst first; nothing if jobs can run. full: as of `full_disk`."""
    found: list[Row] = []
    if paused is not None:
        text = f"the service is paused, and goes on when there is room: {paused.why}"
        found.append({"code": "paused", "text": text, "since_at": instant(paused.since_s)})
    elif full is not None:
        found.append({"code": "disk", "text": full, "since_at": None})
    nodes = list(state.nodes.values())
    up = [node for node in nodes if node.is_up]
    if not up:
        text = "no node is up: jobs wait until one comes"
        found.append({"code": "no_nodes", "text": text, "since_at": None})
    elif all(node.cordon or node.is_set_aside for node in up):
        aside = [node for node in up if node.is_set_aside]
        text = "each node that is up is cordoned: jobs wait until one gets work again"
        if aside:
            last = max(aside, key=lambda node: (node.fault_at_s, node.node_id))
            text = (
                f"no node is left to work: {last.node_id!r} was set aside {faults_text(last)};"
                " it gets another chance after a while"
            )
        found.append({"code": "no_nodes", "text": text, "since_at": None})
    return found
