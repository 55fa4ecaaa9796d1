"""Signals to the agent, turned into something that can be waited for."""

from __future__ import annotations

import os
import signal
from types import FrameType

END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


class Signals:
    """`fd` can be read when a signal has come; SIGTERM and SIGHUP set `is_told_to_end`.

    Takes over the signals of its process. None is ignored, because a command would inherit that,
    while a handler is dropped when the command takes the place of the forked child.
    """

    def __init__(self) -> None:
        self.is_told_to_end = False
        self._pid = os.getpid()
        self.fd, self._write_fd = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_fd, False)
        signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        # The engine handles Ctrl-C, and a write to a closed pipe is an error where it is written.
        for number in (signal.SIGCHLD, signal.SIGINT, *PYTHON_IGNORES):
            signal.signal(number, lambda *_: None)
        for number in END_SIGNALS:
            signal.signal(number, self._told_to_end)
        # A shell's background job is born ignoring some; its tasks are none of that shell's jobs.
        for number in signal.valid_signals():
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)

    def clear(self) -> None:
        """Take notice."""
        os.read(self.fd, 4096)

    def _told_to_end(self, number: int, _: FrameType | None) -> None:
        if os.getpid() == self._pid:
            self.is_told_to_end = True
        else:  # a child, so young that it is not yet what it will be
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def unhandled() -> None:
    """Put the signals of a forked child back to how a Python program finds them."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, *END_SIGNALS):
        signal.signal(number, signal.SIG_DFL)
    for number in PYTHON_IGNORES:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
