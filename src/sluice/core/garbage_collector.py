"""Python's collector of cyclic garbage, and when it is of no use."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Objects that count as old without having been searched, after which the old are searched too.
UNSEARCHED_MAX = 200_000
# New objects that are left to the collector: to search them takes a few milliseconds. To ask how
# much is frozen takes longer where a program has frozen all that it has loaded.
NEW_MIN = 20_000
_unsearched = 0


@contextmanager
def paused_collector() -> Iterator[None]:
    """Reference counting frees what a simulation or a replay drops; a search for cycles among
    millions of finished attempts would find none and take a third of the time.

    Afterwards what was made counts as old if it is much, or the next object to be made would start
    a search through all of it. What a program has dropped meanwhile is found before its next
    simulation.
    """
    was_on = gc.isenabled()
    if was_on:
        _search_if_due()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            _count_as_old()
            gc.enable()


def _count_as_old() -> None:
    global _unsearched  # noqa: PLW0603  # the collector is one for the process, too
    new = gc.get_count()[0]
    if new >= NEW_MIN and not gc.get_freeze_count():
        _unsearched += new
        gc.freeze()
        gc.unfreeze()  # into the oldest generation


def _search_if_due() -> None:
    global _unsearched  # noqa: PLW0603  # as above
    if _unsearched > UNSEARCHED_MAX:
        gc.collect()
        _unsearched = 0
