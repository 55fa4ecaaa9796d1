"""Tables of the commands of Slurm: any columns, separated as `SEPARATORS` says, or by blanks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Report
from sluice.ingest.logs.slurm_values import SEPARATORS

_HEAD_LINES: Final = 4  # the header comes behind a date (`-l`) or the name of a cluster (`-M`)

IsHeader = Callable[[Sequence[str]], bool]  # of the cells of a line


def is_table(head: bytes, is_header: IsHeader) -> bool:
    """Whether one of the first lines is the header."""
    lines = head.decode("utf-8", "replace").split("\n")[:_HEAD_LINES]
    return any(_header(line, is_header) is not None for line in lines)


def table_rows(
    path: Path, report: Report, limits: Limits, is_header: IsHeader
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The cells of each row by the names of their columns, with the number of the line.

    report: receives rows with more or fewer cells than there are columns.
    """
    names: list[str] = []
    separator: str | None = None
    for position, line in log_lines(path, report, limits):
        text = line.decode("utf-8", "backslashreplace").strip("\r ")
        if (found := _header(text, is_header)) is not None:  # once for each cluster of -M
            separator, names = found
        elif not names and position > _HEAD_LINES:
            break
        elif names and text and not text.startswith("CLUSTER:"):
            cells = _cells(text, separator, len(names))
            if len(cells) == len(names):
                yield position, dict(zip(names, cells, strict=True))
            else:
                report.skip(position, f"{len(cells)} cells, not {len(names)}")


def _header(line: str, is_header: IsHeader) -> tuple[str | None, list[str]] | None:
    """The separator of a table and the names of its columns; None if a line is not its header."""
    for separator in (*(one for one in SEPARATORS if one in line), None):
        names = _cells(line, separator)
        if is_header(names):
            return separator, names
    return None


def _cells(line: str, separator: str | None, columns: int = 0) -> list[str]:
    """The cells of a line; with blanks between them, the last of `columns` may hold blanks."""
    if separator is None:
        return line.split(None, columns - 1) if columns else line.split()
    return [cell.strip() for cell in line.split(separator)]
