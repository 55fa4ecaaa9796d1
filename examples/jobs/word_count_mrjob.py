"""The word count as an mrjob class: it runs here unchanged. Needs the extra `mrjob`."""

import re
from collections.abc import Iterable, Iterator

from mrjob.job import MRJob

NAME = re.compile(r"[A-Za-z_]\w*")


class WordCount(MRJob):  # type: ignore[misc]  # mrjob has no types
    """How often each name occurs in the text."""

    def mapper(self, _: None, line: str) -> Iterator[tuple[str, int]]:
        for name in NAME.findall(line):
            yield name, 1

    def combiner(self, name: str, counts: Iterable[int]) -> Iterator[tuple[str, int]]:
        yield name, sum(counts)

    def reducer(self, name: str, counts: Iterable[int]) -> Iterator[tuple[str, int]]:
        yield name, sum(counts)


if __name__ == "__main__":
    WordCount.run()
