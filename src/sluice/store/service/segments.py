"""The segments of a service's journal: which of them go on from one another.

A journal that grows for months is cut into segments. One that goes on from another begins with an
opening: what all rows before it had led to. So a driver reads the newest segment only, and a reader
who wants the whole story reads a chain of them, from the one that began with nothing.

After a year the oldest are removed, and a chain begins with an opening. The folder of its first
segment stays, without its journal: attempts that run on know their files by its name.
"""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from sluice.store.database import StoreUnavailable, store_errors
from sluice.store.head import SEGMENT_PREFIX
from sluice.store.private import open_private_file
from sluice.store.rows import FILE_NAME, RunHeader, header_and_end, opening_row

PREFIX = SEGMENT_PREFIX
_ORIGIN = "origin"  # of a segment: the name of the first of its chain, if that was removed
_AT_ONCE_MAX = 10  # segments that are removed while the driver waits; there is a new one each day


def segments_in(journal: Path) -> list[Path]:
    """The folders of all segments, oldest first. One that has no rows yet is none."""
    return sorted(one.parent for one in journal.glob(f"{PREFIX}*/{FILE_NAME}"))


def chains(journal: Path) -> list[list[Path]]:
    """All segments, oldest first; those that go on from one another are together.

    Raises StoreCorrupt.
    """
    found: list[list[Path]] = []
    for segment in segments_in(journal):
        if found and _goes_on_from(segment, found[-1][-1]):
            found[-1].append(segment)
        else:
            found.append([segment])
    return found


def chain_of(segment: Path) -> list[Path]:
    """The segments that lead to this one, oldest first, and itself. Raises StoreCorrupt."""
    found = [segment]
    for before in reversed(segments_in(segment.parent)):
        if before.name < segment.name:
            if not _goes_on_from(found[0], before):
                break
            found.insert(0, before)
    return found


def following(segment: Path) -> Path | None:
    """The segment that goes on from this one, if there is one by now.

    Raises StoreCorrupt; StoreUnavailable if it was removed.
    """
    # Asked many times a second, of a year of segments: most are known by their names.
    for later in sorted(one for one in segment.parent.glob(f"{PREFIX}*") if one > segment):
        if (later / FILE_NAME).exists():
            after = header_and_end(later)[0].after
            if after > segment.name:
                raise StoreUnavailable(f"the segment after {segment.name} was removed as too old")
            return later if after == segment.name else None
    return None


def origin_of(segment: Path) -> Path:
    """The folder of the first segment of its chain. segment: the first that is left."""
    origin = segment / _ORIGIN
    with store_errors(origin):
        return segment.with_name(origin.read_text("ascii")) if origin.exists() else segment


def kept_from_s(segment: Path) -> float | None:
    """The instant from which on the history is kept, seconds since 1970.

    segment: the first that is left.  None: nothing before it was removed.
    """
    header, _ = header_and_end(segment)
    return _began_s(header) if header.after else None


def drop_old_segments(journal: Path, before_s: float) -> None:
    """Remove the oldest segments, whose rows are all older than this instant, seconds since 1970.

    What is left begins with an opening. The newest two stay. Raises StoreCorrupt, StoreUnavailable.
    """
    segments = segments_in(journal)
    first = _first_kept(segments, before_s)
    if first == segments[0]:
        return
    origin, later = origin_of(chain_of(segments[-1])[0]), dict(pairwise(segments))
    for folder in sorted(journal.glob(f"{PREFIX}*")):  # also those that a crash left
        if folder >= first:
            break
        with store_errors(folder):
            if folder in later and _goes_on_from(later[folder], folder):
                _keep_origin(later[folder], origin_of(folder))
            _remove(folder, is_origin=folder == origin)


def _first_kept(segments: list[Path], before_s: float) -> Path:
    found = 0
    for number, segment in enumerate(segments[:-1]):
        header, _ = header_and_end(segment)
        if _began_s(header) > before_s:
            break
        if opening_row(segment) is not None:
            found = number
    return segments[min(found, _AT_ONCE_MAX)]


def _began_s(header: RunHeader) -> float:
    return datetime.fromisoformat(header.started_at).timestamp()


def _keep_origin(segment: Path, origin: Path) -> None:
    with os.fdopen(open_private_file(segment / _ORIGIN, os.O_WRONLY | os.O_TRUNC), "w") as file:
        file.write(origin.name)
        file.flush()
        os.fsync(file.fileno())


def _remove(folder: Path, *, is_origin: bool) -> None:
    (folder / FILE_NAME).unlink(missing_ok=True)  # first: without it the folder is no segment
    if not is_origin:
        shutil.rmtree(folder)
        return
    for path in folder.glob(f"{Path(FILE_NAME).stem}*"):
        path.unlink()


def _goes_on_from(segment: Path, before: Path) -> bool:
    header, _ = header_and_end(segment)
    return header.after == before.name
