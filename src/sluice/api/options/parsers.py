"""Parsers of what users write as the value of an option."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from sluice.model.errors import InvalidInput
from sluice.model.settings import as_number

_CLOCK = re.compile(r"(\d{1,5}):([0-5]\d)(?::([0-5]\d))?")
_AMOUNT = r"(\d{1,12}(?:\.\d{1,12})?)"
_WITH_UNITS = re.compile(
    rf"(?:{_AMOUNT}d ?)?(?:{_AMOUNT}h ?)?(?:{_AMOUNT}m(?:in)? ?)?(?:{_AMOUNT}s)?"
)
_UNITS_S = (86_400.0, 3600.0, 60.0, 1.0)


def whole(flag: str, *, low: int = 0, high: int = 10**6) -> Callable[[object], int]:
    """A parser of whole numbers. It raises InvalidInput, which names the option.

    >>> whole("--nodes", low=1)("3")
    3
    """

    def read(given: object) -> int:
        text = str(given)  # a default is not text
        # int() would also take 1_000 and digits of other scripts; and 5000 digits are too many.
        is_plain = (
            text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20  # noqa: PLR2004  # digits of the largest
        )  # digits of the largest
        number = int(text) if is_plain else None
        if number is None or not low <= number <= high:
            raise InvalidInput(
                f"{text[:80]!r} is not a whole number from {low} to {high}",
                where=flag,
                hint=f"give one, such as {max(low, 1)}",
            )
        return number

    return read


def number(
    flag: str,
    *,
    above: float = -math.inf,
    low: float = -math.inf,
    high: float = math.inf,
    what: str = "a number",
    hint: str = "give a number",
) -> Callable[[object], float]:
    """A parser of finite numbers as people write them. It raises InvalidInput, with the option.

    above: as low, but without the end itself.  what: the thing asked for, after "is not".

    >>> number("--alpha")(".5")
    0.5
    """  # fmt: skip

    def read(given: object) -> float:
        text = str(given)  # a default is not text
        found = as_number(text)
        if found is None or not (low <= found <= high and above < found < math.inf):
            raise InvalidInput(f"{text[:80]!r} is not {what}", where=flag, hint=hint)
        return float(found)

    return read


def instant(
    flag: str, *, high: float = math.inf, hint: str = "give seconds, 0 or more"
) -> Callable[[object], float]:
    """A parser of seconds since the start of the workload, or of a length that may be 0."""
    seconds = number(flag, low=0, high=high, what="a number of seconds", hint=hint)
    return lambda given: seconds(in_seconds(given))


def in_seconds(given: object) -> object:
    """Return what is given; in seconds where it has units of time, as answers print them.

    >>> in_seconds("1h 30m"), in_seconds("2.5min"), in_seconds("90"), in_seconds("5x")
    (5400.0, 150.0, '90', '5x')
    """
    found = _WITH_UNITS.fullmatch(str(given).strip())
    if found is None or not any(found.groups()):
        return given
    parts = zip(found.groups(), _UNITS_S, strict=True)
    return sum(float(part) * unit_s for part, unit_s in parts if part)


def clock_or_seconds(flag: str) -> Callable[[object], float]:
    """A parser of an instant after the start: seconds, units, or hours and minutes (and seconds).

    >>> clock_or_seconds("--by")("90"), clock_or_seconds("--by")("18:00")
    (90.0, 64800.0)
    """
    hint = "give seconds from the start, or a time such as 18:00 or 1h30m"
    seconds = number(flag, above=0, what="an instant", hint=hint)

    def read(given: object) -> float:
        found = _CLOCK.fullmatch(str(given).strip())
        if found is None:
            return seconds(in_seconds(given))
        hours, minutes, rest = (int(part or 0) for part in found.groups())
        return seconds(3600 * hours + 60 * minutes + rest)

    return read


def words(text: str) -> tuple[str, ...]:
    """The words of a list.

    >>> words("tasks, buffers")
    ('tasks', 'buffers')
    """
    return tuple(word.strip() for word in text.split(",") if word.strip())


def stage_slots(text: str) -> int | dict[str, int]:
    """Slots of every stage, or of each by its name.

    >>> stage_slots("2"), stage_slots("scan=4, load=1")
    (2, {'scan': 4, 'load': 1})
    """
    slots = whole("--stage-slots", low=1, high=10**5)
    parts = [part.rpartition("=") for part in words(text)]
    if len(parts) == 1 and not parts[0][1]:
        return slots(parts[0][2])
    if not parts or not all(name.strip() for name, _, _ in parts):
        raise InvalidInput(
            f"{text[:60]!r} is not a number of slots, nor slots by stage",
            where="--stage-slots",
            hint="give 2, or scan=4,load=1",
        )
    return {name.strip(): slots(count.strip()) for name, _, count in parts}
