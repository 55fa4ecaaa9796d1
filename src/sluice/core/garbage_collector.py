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
# In a live run, new objects after which they are searched: Python's own number, where a program has
# raised it.
NEW_LIVE = 700
OLDEST = 2  # the generation whose search goes through all
_unsearched = 0
_searched = 0  # objects that a search has left alive, before a live run


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


@contextmanager
def short_collections() -> Iterator[None]:
    """Let a search for cyclic garbage take milliseconds, however much is alive.

    A search through 10,000 jobs and their tasks takes up to a second, in which a live driver would
    decide nothing. So what lives already is not searched, and what survives a search of all that is
    left is not searched again, and such a search comes after few new objects. What is dropped in
    cycles meanwhile is found afterwards.
    """
    if not gc.isenabled():
        yield
        return
    was_frozen = gc.get_freeze_count() > 0
    new, younger, oldest = gc.get_threshold()
    if was_frozen:
        gc.collect()  # what the caller has frozen is never searched; no garbage may join it
    gc.freeze()
    if not was_frozen:
        _search_if_more()
    gc.set_threshold(min(new, NEW_LIVE), younger, 1)
    gc.callbacks.append(_freeze_survivors)
    try:
        yield
    finally:
        gc.callbacks.remove(_freeze_survivors)
        gc.set_threshold(new, younger, oldest)
        if not was_frozen:
            gc.unfreeze()


def _search_if_more() -> None:
    """Search what is frozen if it has grown by a quarter since the last time, as Python does.

    To freeze and unfreeze makes old what Python has not searched, and never counts as new: in a
    program with many runs, what each had dropped in cycles would pile up.
    """
    global _searched  # noqa: PLW0603  # the collector is one for the process, too
    alive = gc.get_freeze_count()
    if alive - _searched > max(NEW_MIN, _searched // 4):
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        _searched = gc.get_freeze_count()


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == OLDEST:
        gc.freeze()


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
