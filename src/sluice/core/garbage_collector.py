"""Python's collector of cyclic garbage, and when it is of no use."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Reference counting frees what a simulation or a replay drops; a search for cycles among
    millions of finished attempts would find none and take a third of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
