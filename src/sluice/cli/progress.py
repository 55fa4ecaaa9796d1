"""Progress on stderr: a bar or a spinner on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sluice.cli.answers import console, talk
from sluice.reporting.formatting import count, duration

if TYPE_CHECKING:
    from rich.progress import Progress

    from sluice.simulation.driver import OnProgress

PATIENCE_S = 0.5  # shorter work needs no bar
LINE_S = 10.0  # between lines of progress where there is no terminal


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


@contextmanager
def comparison_bar(what: str) -> Iterator[Callable[[str, int], None] | None]:
    """A callback that shows scheduler and seed; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    progress = _spinner(what)

    def observe(scheduler: str, seed: int) -> None:
        progress.update(progress.task_ids[0], state=f"{scheduler}, seed {seed}")

    try:
        yield observe
    finally:
        progress.stop()


class _LinesOfProgress:
    """A callback that prints at most one line in LINE_S, for stderr that is a file or a pipe."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._printed_s = time.monotonic()

    def __call__(self, state: str) -> None:
        now_s = time.monotonic()
        if now_s - self._printed_s >= LINE_S:
            self._printed_s = now_s
            talk(f"{self._what}: {state}")


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


@contextmanager
def progress_lines(what: str) -> Iterator[Callable[[str], None]]:
    """As `spinner`; without a terminal the callback prints a line now and then."""
    with spinner(what) as on_progress:
        yield on_progress or _LinesOfProgress(what)


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
