"""Reads each line from a source that takes a hundredth of a second for it."""

import time
from collections.abc import Iterator


def mapper(line: str) -> Iterator[tuple[str, int]]:
    """Wait for a line."""
    time.sleep(0.01)
    yield "characters", len(line)


def combiner(key: str, counts: Iterator[int]) -> Iterator[tuple[str, int]]:
    """Add up."""
    yield key, sum(counts)


reducer = combiner
