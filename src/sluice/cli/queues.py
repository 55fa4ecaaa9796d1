"""The queues of a scheduler's own configuration: `--config`, and `--map` of pools to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from sluice.cli.options import option
from sluice.cli.tables import maps_taken
from sluice.model.errors import InvalidInput

Config = Annotated[
    str | None,
    option(
        "A scheduler's own configuration, as whatif reads it, in place of --tasks; --map POOL=QUEUE"
        " then names the queue of a pool.",
        "--config",
        metavar="FILE",
    ),
]


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


def mapping_for(config: str | None) -> dict[str, str]:
    """Return what `--map` says of queues: nothing without a configuration.

    Call it before FILE is read.

    Raises InvalidInput.
    """
    return {} if config is None else mapping_in(maps_taken())
