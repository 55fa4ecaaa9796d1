"""Word count as Python functions of Sluice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def mapper(line: str) -> list[tuple[str, int]]:
    """Each word of the line, once."""
    return [(word, 1) for word in line.split()]


def combiner(word: str, counts: Iterable[int]) -> Iterator[tuple[str, int]]:
    """How often the word was seen so far."""
    yield word, sum(counts)


reducer = combiner
