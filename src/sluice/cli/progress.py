"""Progress on stderr: a bar or a spinner on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sluice.cli.answers import console, talk
from sluice.reporting.formatting import count, duration, share

if TYPE_CHECKING:
    from rich.progress import Progress

    from sluice.simulation.driver import OnProgress

PATIENCE_S = 0.5  # shorter work needs no bar
LINE_EVERY_S = 15.0  # without a terminal
_REDRAWN_EVERY_S = 0.2


class _SimulationBar:
    """A callback for the simulator. The bar appears after PATIENCE_S."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._progress: Progress | None = None

    def __call__(self, now_s: float, ended: int) -> None:
        if self._progress is None:
            if time.monotonic() - self._began_s < PATIENCE_S:
                return
            self._progress = _spinner("simulating")
        state = f"virtual time {duration(now_s)}, {count(ended)} attempts ended"
        self._progress.update(self._progress.task_ids[0], state=state)

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()


@contextmanager
def simulation_bar() -> Iterator[OnProgress | None]:
    """A callback that shows virtual time; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _SimulationBar()
    try:
        yield bar
    finally:
        bar.stop()


class Steps:
    """How far a command is: the share that is done, 0 to 1, and a text on the present step."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began_s = time.monotonic()
        self._fraction = 0.0
        self._text = ""

    def on_progress(self, *text: object) -> None:
        """Set the text on the present step."""
        self._text = ", ".join(map(str, text))

    def on_fraction(self, fraction: float) -> None:
        """Set the share that is done."""
        self._fraction = min(1.0, max(0.0, fraction))

    @property
    def fraction(self) -> float:
        """The share that is done."""
        return self._fraction

    def state(self) -> str:
        """Share, time left at the rate so far, and step: `40 %, about 12 s left, wordcount`."""
        parts = [share(self._fraction)]
        if 0 < self._fraction < 1:
            took_s = time.monotonic() - self._began_s
            left_s = took_s * (1 - self._fraction) / self._fraction
            parts.append(f"about {duration(left_s)} left")
        return ", ".join([*parts, *filter(None, [self._text])])

    def line(self) -> str:
        """One line for a log file."""
        return f"{self._what}: {self.state()}"


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


def _draw_bar(shown: Steps, what: str, ended: threading.Event) -> None:
    if ended.wait(PATIENCE_S):
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[state]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
    ) as bars:
        bar = bars.add_task(what, total=1.0, state="")
        while not ended.wait(_REDRAWN_EVERY_S):
            bars.update(bar, completed=shown.fraction, state=shown.state())


@contextmanager
def spinner(what: str) -> Iterator[Callable[[str], None] | None]:
    """A callback that shows a short text; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    progress = _spinner(what)
    try:
        yield lambda state: progress.update(progress.task_ids[0], state=state)
    finally:
        progress.stop()


def _spinner(what: str) -> Progress:
    """A started spinner line. It disappears when it stops."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[state]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
    )
    progress.add_task(what, total=None, state="")
    progress.start()
    return progress
