"""Values as the commands of Slurm print them."""

from __future__ import annotations

import re
from typing import Final

_SECONDS_MAX: Final = 1e10
_CLOCK = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,9}):(\d{2})(?:\.\d{1,9})?")


def clock_s(text: str) -> float | None:
    """Days, hours, minutes and seconds as `1-02:03:04` or `03:04`; None for words.

    >>> clock_s("1-02:03:04"), clock_s("03:04"), clock_s("UNLIMITED")
    (93784.0, 184.0, None)
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (float(one or 0) for one in found.groups())
    total_s = days * 86_400 + hours * 3600 + minutes * 60 + seconds
    return total_s if total_s <= _SECONDS_MAX else None
