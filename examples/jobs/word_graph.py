"""Names that two texts share: the phases of a graph, one function each."""

import re
from collections.abc import Iterable, Iterator

NAME = re.compile(r"[A-Za-z_]\w*")


def names(line: str) -> list[tuple[str, int]]:
    """Each name of a line, once for every time that it is there."""
    return [(name, 1) for name in NAME.findall(line)]


def shared(name: str, licence: list[int], code: list[int]) -> Iterator[tuple[int, str]]:
    """The lesser of the two counts of a name that is in both texts."""
    if licence and code:
        yield min(len(licence), len(code)), name


def listed(count: int, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """All names of one count, in the order of the alphabet."""
    yield count, " ".join(sorted(names))
