"""The queues of a scheduler's own configuration: `--config`, and `--map` of pools to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sluice.api.options.fields import option
from sluice.api.options.scheduling import Queued
from sluice.cli.tables import Tables
from sluice.model.errors import InvalidInput


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class QueueMap:
    """Queues of pools, for a command without tables."""

    mapping: Sequence[str] = option(
        "Queue of a pool, or of all that match a pattern; repeatable.",
        (), flag="--map", metavar="POOL=QUEUE",
    )  # fmt: skip


def mapping_in(texts: Iterable[str]) -> dict[str, str]:
    """Queues by patterns of pools. Raises InvalidInput for what is not POOL=QUEUE."""
    found: dict[str, str] = {}
    for text in texts:
        pattern, equals, queue = text.rpartition("=")
        if not equals or not pattern or not queue:
            raise InvalidInput(
                "it is not a pool and a queue",
                where=f"--map {text[:80]}",
                hint="write it as POOL=QUEUE",
            )
        found[pattern] = queue
    return found


def queues_of(options: Queued, tables: Tables) -> tuple[dict[str, str], Tables]:
    """Return what `--map` says of queues, and what is left for tables.

    Without a configuration it says nothing of queues. Raises InvalidInput.
    """
    if options.config is None:
        return {}, tables
    return mapping_in(tables.map), tables.without_map()
