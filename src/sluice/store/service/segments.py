"""The segments of a service's journal: which of them go on from one another.

A journal that grows for months is cut into segments. One that goes on from another begins with an
opening: what all rows before it had led to. So a driver reads the newest segment only, and a reader
who wants the whole story reads a chain of them, from the one that began with nothing.
"""

from __future__ import annotations

from pathlib import Path

from sluice.store.rows import FILE_NAME, header_and_end

PREFIX = "segment-"


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
    """The segment that goes on from this one, if there is one by now. Raises StoreCorrupt."""
    # Asked many times a second, of a year of segments: most are known by their names.
    for later in sorted(one for one in segment.parent.glob(f"{PREFIX}*") if one > segment):
        if (later / FILE_NAME).exists():
            return later if _goes_on_from(later, segment) else None
    return None


def _goes_on_from(segment: Path, before: Path) -> bool:
    header, _ = header_and_end(segment)
    return header.after == before.name
