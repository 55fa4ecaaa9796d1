"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sluice.cli.answers import console, talk
from sluice.reporting.formatting import count, duration, share

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_S = 0.5  # shorter work needs no bar
LINE_EVERY_S = 15.0  # without a terminal
_REDRAWN_EVERY_S = 0.2
# From less than both, the time left would be mostly that of the start.
_SHARE_MIN = 0.05
_TOOK_MIN_S = 60.0


class Steps:
    """How far a command is: the share that is done, 0 to 1, and a text on the present step.

    Where the share is not known, as of a search, lines show the time since the start.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._began_s = self._work_began_s = time.monotonic()
        self._fraction: float | None = None
        self._text = ""

    def on_progress(self, *text: object) -> None:
        """Set the text on the present step."""
        self._text = ", ".join(map(str, text))

    def on_simulated(self, now_s: float, ended: int) -> None:
        """Set the text to how far a simulation is."""
        self._text = f"virtual time {duration(now_s)}, {count(ended)} attempts ended"

    def on_fraction(self, fraction: float) -> None:
        """Set the share that is done. A first share of 0 says that the start is over."""
        if fraction == 0 and self._fraction is None:
            self._work_began_s = time.monotonic()
        self._fraction = min(1.0, max(0.0, fraction))

    @property
    def fraction(self) -> float | None:
        """The share that is done; None if it is not known."""
        return self._fraction

    def state(self) -> str:
        """Share, time left at the rate so far, and step: `40 %, about 12 s left, wordcount`."""
        parts = [] if self._fraction is None else [share(self._fraction)]
        if self._fraction is not None and 0 < self._fraction < 1:
            took_s = time.monotonic() - self._work_began_s
            left_s = took_s * (1 - self._fraction) / self._fraction
            if self._fraction >= _SHARE_MIN or took_s >= _TOOK_MIN_S:
                parts.append(f"about {duration(left_s)} left")
        return ", ".join([*parts, *filter(None, [self._text])])

    def line(self) -> str:
        """One line for a log file."""
        so_far = "" if self._fraction is not None else self._so_far()
        return f"{self._what}: {', '.join(filter(None, [so_far, self.state()]))}"

    def _so_far(self) -> str:
        return f"{duration(time.monotonic() - self._began_s)} so far"


@contextmanager
def steps(what: str) -> Iterator[Steps]:
    """Shows the steps of a command: a bar on a terminal, elsewhere a line every 15 seconds.

    A thread draws them, so that a long step shows that it goes on.
    """
    shown, ended = Steps(what), threading.Event()
    draw = _draw_bar if sys.stderr.isatty() else _print_lines
    thread = threading.Thread(target=draw, args=(shown, what, ended), daemon=True)
    thread.start()
    try:
        yield shown
    finally:
        ended.set()
        thread.join()


def _print_lines(shown: Steps, what: str, ended: threading.Event) -> None:  # noqa: ARG001  # as _draw_bar
    while not ended.wait(LINE_EVERY_S):
        talk(shown.line())


def progress_bars() -> Progress:
    """Bars on stderr, gone at the end. A task has a field `text`, which is next to its bar."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[text]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
    )


def _draw_bar(shown: Steps, what: str, ended: threading.Event) -> None:
    if ended.wait(PATIENCE_S):
        return
    with progress_bars() as bars:
        bar = bars.add_task(what, total=None, text="")
        while not ended.wait(_REDRAWN_EVERY_S):
            total = None if shown.fraction is None else 1.0
            bars.update(bar, completed=shown.fraction, total=total, text=shown.state())
