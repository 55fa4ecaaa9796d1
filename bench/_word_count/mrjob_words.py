"""Word count as an mrjob class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mrjob.job import MRJob


class WordCount(MRJob):  # type: ignore[misc]  # mrjob has no types
    """The same map, combine and reduce as everybody's."""

    def mapper(self, _: None, line: str) -> Iterator[tuple[str, int]]:
        """Each word of the line, once."""
        for word in line.split():
            yield word, 1

    def combiner(self, word: str, counts: Iterable[int]) -> Iterator[tuple[str, int]]:
        """How often the word was seen so far."""
        yield word, sum(counts)

    reducer = combiner


if __name__ == "__main__":
    WordCount.run()
