"""Values as the commands of Slurm print them."""

from __future__ import annotations

import re
from typing import Final

from sluice.ingest.logs.report import Unreadable

# Slurm takes any; the first that is in the header separates, for the others are rarer in it.
SEPARATORS: Final = "|;\t,"
_SECONDS_MAX: Final = 1e10
_CLOCK = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,9}):(\d{2})(?:\.\d{1,9})?")
_COUNT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([KM]?)(?:\+|-\d{1,9}[KM]?)?")
_THOUSANDS: Final = {"": 1, "K": 1024, "M": 1024**2}
_NODES_MAX: Final = 100_000
_LIST_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_BRACKET = re.compile(r"([^\[\]]*)(?:\[([^\[\]]*)\])?")
_NUMBERS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


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


def count_in(text: str) -> int | None:
    """A number of processors or nodes, the first of a range; Slurm prints 2048 as `2K`.

    >>> count_in("2048"), count_in("2K"), count_in("1.5K"), count_in("4-8"), count_in("many")
    (2048, 2048, 1536, 4, None)
    """
    found = _COUNT.fullmatch(text)
    return None if found is None else int(float(found[1]) * _THOUSANDS[found[2]])


def json_number(value: object) -> float | None:
    """A number; Slurm 23 and later write `{"set": true, "infinite": false, "number": 60}`."""
    if isinstance(value, dict):
        is_number = value.get("set") is True and value.get("infinite") is not True
        value = value.get("number") if is_number else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _SECONDS_MAX else None


def expanded_nodes(text: str) -> list[str]:
    """The names in a list of nodes. Raises Unreadable for one that is cut off, or too long.

    >>> expanded_nodes("n[08-10,12],login"), expanded_nodes("r[1-2]n[1-2]")
    (['n08', 'n09', 'n10', 'n12', 'login'], ['r1n1', 'r1n2', 'r2n1', 'r2n2'])
    """
    names: list[str] = []
    for part in _LIST_PART.findall(text) if text else ():
        names += _expanded(part)
        if len(names) > _NODES_MAX:
            raise Unreadable(f"a list of more than {_NODES_MAX} nodes")
    if text.count("[") != text.count("]"):
        raise Unreadable(f"{text[:40]!r} is a list of nodes that is cut off")
    return names


def _expanded(part: str) -> list[str]:
    """The names of one part of a list: of every bracket, each number."""
    names = [""]
    for fixed, ranges in _BRACKET.findall(part):
        numbers = [one for item in ranges.split(",") for one in _numbers(item)] if ranges else [""]
        if len(names) * len(numbers) > _NODES_MAX:
            raise Unreadable(f"a list of more than {_NODES_MAX} nodes")
        names = [f"{name}{fixed}{number}" for name in names for number in numbers]
    return names


def _numbers(item: str) -> list[str]:
    """The numbers of a range, with the zeros in front that its first one has."""
    found = _NUMBERS.fullmatch(item)
    if found is None:
        raise Unreadable(f"{item[:40]!r} is not a range of nodes")
    first, last = int(found[1]), int(found[2] or found[1])
    if last - first >= _NODES_MAX:
        raise Unreadable(f"a list of more than {_NODES_MAX} nodes")
    return [str(number).zfill(len(found[1])) for number in range(first, last + 1)]
