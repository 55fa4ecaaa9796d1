"""The results of the four jobs of the demo, read from their part files."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from pathlib import Path

from sluice.reporting.formatting import count


def findings(out: Path) -> Iterator[tuple[str, str]]:
    """(job, a sentence on its output) for each job of standard_library.yaml."""
    yield "word-count", _most_frequent_names(out / "word-count")
    yield "inverted-index", _widespread_names(out / "inverted-index")
    yield "phrases", _repeated_lines(out / "phrases")
    yield "grep", f"{count(sum(1 for _ in lines(out / 'grep')))} lines repeat six letters or more"


def lines(output: Path) -> Iterator[str]:
    """All lines of a job's part files."""
    for part in sorted(output.glob("part-*")):
        with part.open(encoding="utf-8", newline="\n") as file:
            yield from (line.removesuffix("\n") for line in file)


def _most_frequent_names(output: Path) -> str:
    counts = {name: int(times) for name, times in (line.split("\t") for line in lines(output))}
    top = nlargest(3, counts.items(), key=lambda item: item[1])
    most = ", ".join(f"{name} {count(times)}" for name, times in top)
    return f"{count(len(counts))} names; most often {most}"


def _widespread_names(output: Path) -> str:
    volumes = [line.partition("\t")[2].split() for line in lines(output)]
    most = max(map(len, volumes), default=0)
    everywhere = sum(len(files) == most for files in volumes)
    return f"{count(everywhere)} names are in all {most} files"


def _repeated_lines(output: Path) -> str:
    counted = [line.strip().partition(" ") for line in lines(output)]
    known = [(int(times), line.strip()) for times, _, line in counted if line.strip()]
    times, line = max(known, default=(0, ""))
    return f"{count(len(counted))} different phrases; {line!r} alone {count(times)} times"
