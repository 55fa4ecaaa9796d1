"""Being asked to stop: Ctrl-C and SIGTERM are one request, answered in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from sluice.model.errors import SluiceError


class RunInterrupted(SluiceError):
    """The run was asked to stop. Nothing of it runs any more, and it can be resumed."""


def terminable() -> AbstractContextManager[None]:
    """Inside, SIGTERM raises KeyboardInterrupt as Ctrl-C does."""
    return _handled(_interrupt, signal.SIGTERM)


def undisturbed() -> AbstractContextManager[None]:
    """Inside, Ctrl-C and SIGTERM do nothing: the run stops already, which takes seconds."""
    return _handled(_ignore, signal.SIGINT, signal.SIGTERM)


@contextmanager
def _handled(
    handler: Callable[[int, FrameType | None], None], *signals: signal.Signals
) -> Iterator[None]:
    """Inside, these signals call the handler.

    Only the main thread may say so; in any other nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Not SIG_IGN, which processes that are started meanwhile would inherit."""


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
