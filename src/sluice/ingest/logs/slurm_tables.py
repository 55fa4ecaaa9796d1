"""Tables as the commands of Slurm print them: any columns, separated by `|`, or else by blanks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Report

_BAR: Final = "|"
_HEAD_LINES: Final = 4  # the header comes behind a date (`-l`) or the name of a cluster (`-M`)

IsHeader = Callable[[Sequence[str]], bool]  # of the cells of a line


def is_table(head: bytes, is_header: IsHeader) -> bool:
    """Whether one of the first lines is the header."""
    lines = head.decode("utf-8", "replace").split("\n")[:_HEAD_LINES]
    return any(is_header(_cells(line)) for line in lines)


def table_rows(
    path: Path, report: Report, limits: Limits, is_header: IsHeader
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The cells of each row by the names of their columns, with the number of the line.

    report: receives rows with more or fewer cells than there are columns.
    """
    names: list[str] = []
    for position, line in log_lines(path, report, limits):
        text = line.decode("utf-8", "backslashreplace").strip()
        if is_header(_cells(text)):  # once for each cluster of -M
            names = _cells(text)
        elif not names and position > _HEAD_LINES:
            break
        elif names and text and not text.startswith("CLUSTER:"):
            cells = _cells(text, len(names))
            if len(cells) == len(names):
                yield position, dict(zip(names, cells, strict=True))
            else:
                report.skip(position, f"{len(cells)} cells, not {len(names)}")


def _cells(line: str, columns: int = 0) -> list[str]:
    """The cells of a line; with blanks between them, the last of `columns` may hold blanks."""
    if _BAR in line:
        return [cell.strip() for cell in line.split(_BAR)]
    return line.split(None, columns - 1) if columns else line.split()
