"""Profiles that lend their errors to forecasts of others, each read when it is its turn.

A store may have thousands of profiles, and each that lends costs reading its runs and fitting them.
So no more are read than an interval needs: with 60 of them `predict` took 3.6 s of CPU, 2.5 s of it
for the lenders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from sluice.estimate.uncertainty import LogTimes, units_needed
from sluice.model.history import PastRun

# That many profiles lend, however many runs each has: jobs differ more than the runs of one job.
LENDERS_ENOUGH = 12
# Their errors must be this many times those that an interval needs at least, else more lend.
UNITS_ENOUGH = 2


class Lenders(NamedTuple):
    """Profiles that are not predicted themselves, in the order in which they lend.

    varied: names of those that may have run with several settings.  names: of all.
    runs: reads the runs of one, oldest first.
    """

    varied: Callable[[], Iterable[str]]
    names: Callable[[], Iterable[str]]
    runs: Callable[[str], Sequence[PastRun]]


def _no_runs(_name: str) -> Sequence[PastRun]:
    return ()


NO_LENDERS = Lenders(tuple, tuple, _no_runs)


class LentNames:
    """The names of lenders, as often as they are asked for.

    read: called with a name and its runs before the name is first given.
    """

    def __init__(self, lenders: Lenders, read: Callable[[str, Sequence[PastRun]], None]) -> None:
        self._lenders = lenders
        self._read = read
        self._known: set[str] = set()

    def each(self, *, known_setting: bool) -> Iterator[str]:
        """Those that may have an error at a setting of this kind."""
        for name in self._lenders.names() if known_setting else self._lenders.varied():
            if name not in self._known:
                self._known.add(name)
                self._read(name, self._lenders.runs(name))
            yield name


def lent_errors(
    given: Sequence[str], lent: Iterable[str], errors: Callable[[str], LogTimes], level: float
) -> Iterator[Sequence[float]]:
    """The errors of the given profiles, and of lent ones until they are enough.

    errors: of a profile, a group for each unit of its history.  level: of the interval.
    """
    units, wanted = 0, UNITS_ENOUGH * units_needed(level)
    for lending, name in enumerate(chain(given, lent), start=1):
        for each in errors(name):
            units += 1
            yield each
        if lending >= max(LENDERS_ENOUGH, len(given)) and units >= wanted:
            return  # before the next one is read
