"""Inverted index: the files that contain each name. The engine gives a map the name of its file."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

NAME = re.compile(r"[A-Za-z_]\w*")


def mapper(line: str) -> list[tuple[str, str]]:
    """Each name of a line, with the file that contains it."""
    file = Path(os.environ["mapreduce_map_input_file"]).stem  # noqa: SIM112  # Hadoop's own name
    return [(name, file) for name in set(NAME.findall(line))]


def combiner(name: str, files: Iterable[str]) -> list[tuple[str, str]]:
    """Each file once."""
    return [(name, file) for file in set(files)]


def reducer(name: str, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """All files of a name, in order."""
    yield name, " ".join(sorted(set(files)))
