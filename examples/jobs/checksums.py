"""Hashes each line a few thousand times, and counts the first bytes."""

import hashlib
from collections.abc import Iterator


def mapper(line: str) -> Iterator[tuple[str, int]]:
    """Hash a line."""
    digest = line.encode()
    for _ in range(4000):
        digest = hashlib.sha256(digest).digest()
    yield digest[:1].hex(), 1


def combiner(first_byte: str, counts: Iterator[int]) -> Iterator[tuple[str, int]]:
    """Add up."""
    yield first_byte, sum(counts)


reducer = combiner
