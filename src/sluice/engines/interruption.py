"""Being asked to stop: Ctrl-C and SIGTERM are one request, answered in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sluice.model.errors import SluiceError


class RunInterrupted(SluiceError):
    """The run was asked to stop. Nothing of it runs any more, and it can be resumed."""


@contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM raises KeyboardInterrupt as Ctrl-C does.

    Only the main thread may say so; in any other nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Inside, Ctrl-C and SIGTERM do nothing: the run stops already, which takes seconds.

    Only the main thread may say so; in any other nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _ignore) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Not SIG_IGN, which processes that are started meanwhile would inherit."""


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
