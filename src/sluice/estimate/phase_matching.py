"""Which phases of two runs are the same.

Phases match by name and order. Spark numbers its stages as it makes them, so the same stage has
another number when an earlier one was skipped or added; the number is not part of the match. The
line of a shell session is not either, because it counts what was typed before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from sluice.model.history import PastRun

_NUMBER = re.compile(r"stage \d+(?:: )?")
_SHELL_LINE = re.compile(r"(<(?:console|stdin|ipython-input-[^>]*)>):\d+")


def phase_keys(run: PastRun) -> tuple[str, ...]:
    """A name for each phase of a run, equal for the same phase of another run."""
    names = [phase.name for phase in run.phases]
    return numbered(map(stage_name, names)) if run.source == "spark" else tuple(names)


def stage_name(name: str) -> str:
    """The name of a Spark stage without its number.

    >>> stage_name("stage 3: count at <console>:26")
    'count at <console>'
    """
    return _SHELL_LINE.sub(r"\1", _NUMBER.sub("", name, count=1)) or "stage"


def numbered(names: Iterable[str]) -> tuple[str, ...]:
    """The names; the second of equal ones gets "#2".

    >>> numbered(["collect", "count", "collect"])
    ('collect', 'count', 'collect #2')
    """
    counts: Counter[str] = Counter()
    found = []
    for name in names:
        counts[name] += 1
        found.append(name if counts[name] == 1 else f"{name} #{counts[name]}")
    return tuple(found)
