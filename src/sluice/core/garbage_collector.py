"""Python's collector of cyclic garbage, and when it is of no use."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Reference counting frees what a simulation or a replay drops; a search for cycles among
    millions of finished attempts would find none and take a third of the time.

    Afterwards all that was made counts as old, or the next object to be made would start a search
    through all of it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()
