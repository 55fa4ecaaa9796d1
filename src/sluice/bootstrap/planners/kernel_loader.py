"""Loads compiled search kernels in the background, so that a search in progress need not wait.

A thread imports numba, which takes about half a second. If no machine code is cached, it starts a
process that compiles and caches the kernels, and loads them after that. Compiling in the thread
itself would hold the interpreter lock for ten seconds, and could not be stopped.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Self

from sluice.planning.ordering.compilation import Kernels, compiled_kernels
from sluice.planning.ordering.kernel_loading import are_kept, warm_up
from sluice.planning.ordering.search_context import LOADING_S, KernelUse

_POLL_S = 0.05
# The search needs its core more urgently than the compiler. Arguments: use, then the search path.
_COMPILE = """
import os, sys
os.nice(10)
sys.path[:] = sys.argv[2:]
from sluice.planning.ordering.kernel_loading import compiled_for
from sluice.planning.ordering.search_context import KernelUse
compiled_for(KernelUse[sys.argv[1]], lambda text: None)
"""


class BackgroundLoader:
    """A `KernelLoader`. Use it as a context: at its end nothing is left running.

    seconds: the search ends after this time, counted from here; None for no limit.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._until_s = None if seconds is None else time.monotonic() + seconds
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._kernels: Kernels | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def request(self, use: KernelUse, on_progress: Callable[[str], None]) -> None:
        """Start to load the kernels of a use."""
        self._thread = threading.Thread(target=self._load, args=(use, on_progress), daemon=True)
        self._thread.start()

    def loaded(self, wait_s: float = 0.0) -> Kernels | None:
        """The requested kernels; None while they load, or if there are none."""
        if wait_s > 0 and self._thread is not None:
            self._thread.join(wait_s)
        return self._kernels

    def _load(self, use: KernelUse, on_progress: Callable[[str], None]) -> None:
        # Without numba, with a full disk or a broken cache the search ends as it began: plain.
        try:
            fast = compiled_kernels()
            if fast is None:
                return
            if not are_kept(fast, use):
                on_progress("compiling the search in the background, once")
                self._compile(use)
            if are_kept(fast, use) and self._is_in_time():
                warm_up(fast, use)
                self._kernels = fast
        except Exception:  # noqa: BLE001  # a compiler can raise anything
            return

    def _is_in_time(self) -> bool:
        """Whether there is time to load what is cached."""
        left_s = LOADING_S if self._until_s is None else self._until_s - time.monotonic()
        return left_s >= LOADING_S and not self._stopped.is_set()

    def _compile(self, use: KernelUse) -> None:
        """Compile in a process of its own until it is done or the search ends.

        What it has cached by then is there for the next search.
        """
        with subprocess.Popen(
            [sys.executable, "-P", "-c", _COMPILE, use.name, *sys.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            while process.poll() is None:
                if self._stopped.wait(_POLL_S):
                    process.kill()
