"""Word count: how often each name occurs in the text."""

import re
from collections.abc import Iterable, Iterator

NAME = re.compile(r"[A-Za-z_]\w*")


def mapper(line: str) -> list[tuple[str, int]]:
    """Each name of a line, once for each time that it occurs."""
    return [(name, 1) for name in NAME.findall(line)]


def combiner(name: str, counts: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Counts of one name, added up."""
    yield name, sum(counts)


reducer = combiner
