"""The head of a journal: a small synced file with the position of the last acknowledged row.

Theory of operation. SQLite stops at the first damaged frame of its write-ahead log and drops all
that follows, without an error: a flipped bit there takes acknowledged rows away, and the rest is a
sound database. So the number and the chained checksum of the last row are kept outside SQLite too.

* The head is written and synced after each commit, before the rows count as acknowledged. So the
  database is never behind the head, unless rows were lost. It may be ahead by the rows of one
  commit, if a crash came between the two writes.
* Two slots are written in turn, each in a disk block of its own and with a CRC-32. A torn write
  leaves the other slot, which is older by one commit; that is the same as a crash before the write.
* A file without a valid slot is damaged. A missing file is the journal of an older release.

* A third slot follows the rows that are written and not yet synced. It counts only while the
  machine has not restarted, which its boot id shows: until then the kernel keeps both files. After
  a power cut the slot may be ahead of the database, and so it is if the end of the log is cut or
  damaged. That loses nothing that was promised to be on the disk, so the run goes on without these
  rows, as if they had never been written, and says how many there were.

The file is made under another name and renamed, so it never exists without a valid slot.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sluice.model.errors import StoreCorrupt
from sluice.store.private import open_private_file

FILE_NAME = "journal.head"
CHECKSUM_BYTES = 16
SLOT_BYTES = 4096  # at least a disk block, so that one torn write reaches one slot only
_SLOTS = 2
_UNSYNCED_AT = SLOT_BYTES * _SLOTS
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MARK = b"SLUICEH"
_BODY = struct.Struct(">7sBq16s")  # mark, version of the journal's schema, seq, checksum
_CRC = struct.Struct(">I")
SEGMENT_PREFIX = "segment-"  # of folders of a service's journal


def after_damage(folder: Path) -> str:
    """How to go on after damage in the journal of this folder.

    >>> after_damage(Path("runs/7"))
    'Keep the folder as evidence, and run the workload again without --resume.'
    """
    if not folder.name.startswith(SEGMENT_PREFIX):
        return "Keep the folder as evidence, and run the workload again without --resume."
    return (
        f"Keep it as evidence: stop the service, move {folder.parent} away, start the service,"
        " and submit again what had not ended."
    )


class Position(NamedTuple):
    """A row of a journal: its number and chained checksum, and the version of the schema."""

    seq: int
    checksum: bytes
    version: int


class Head:
    """The head of one journal, for its writer. Made by `Head.create` or `Head.opened`."""

    def __init__(self, descriptor: int, slot: int) -> None:
        self._descriptor = descriptor
        self._slot = slot  # the next one to write

    @classmethod
    def create(cls, folder: Path, position: Position) -> Head:
        """Make the file, or replace it. It survives a power cut once the folder is synced."""
        draft, path = folder / f"{FILE_NAME}.new", folder / FILE_NAME
        descriptor = open_private_file(draft, os.O_RDWR | os.O_TRUNC)
        try:
            os.pwrite(descriptor, bytes(SLOT_BYTES * _SLOTS), 0)
            os.pwrite(descriptor, _packed(position), 0)
            os.fsync(descriptor)
            draft.rename(path)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, slot=1)

    @classmethod
    def opened(cls, folder: Path) -> Head | None:
        """The existing head; None if there is none."""
        path = folder / FILE_NAME
        slots = _slots(path)
        if slots is None:
            return None
        newest = max(range(_SLOTS), key=lambda slot: _seq(slots[slot]))
        return cls(os.open(path, os.O_RDWR | os.O_CLOEXEC), slot=(newest + 1) % _SLOTS)

    def write(self, position: Position) -> None:
        """Move the head; it is on the disk when this returns."""
        # The file has its full size, so the sync writes one block and no metadata.
        os.pwrite(self._descriptor, _packed(position), self._slot * SLOT_BYTES)
        os.fdatasync(self._descriptor)
        self._slot = (self._slot + 1) % _SLOTS

    def write_unsynced(self, position: Position) -> None:
        """Record rows that are in the database and not yet synced."""
        packed = _packed(position, _boot_id())
        os.pwrite(self._descriptor, packed, _UNSYNCED_AT)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Heads(NamedTuple):
    """The last row that is on the disk, and the last one that was written."""

    synced: Position
    written: Position


def heads(folder: Path) -> Heads | None:
    """The heads of the journal in this folder; None if it has none.

    Raises StoreCorrupt if no slot of the file is valid.
    """
    path = folder / FILE_NAME
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    newest = max(_slots_in(content), key=_seq)
    if newest is None:
        raise StoreCorrupt(
            f"{path}: both copies of the journal's head are damaged. {after_damage(folder)}"
        )
    unsynced = _unpacked(content[_UNSYNCED_AT:], _boot_id())
    return Heads(newest, max(newest, unsynced or newest, key=_seq))


def forget_unsynced(folder: Path, after: int, on_message: Callable[[str], None]) -> None:
    """Forget rows that were written and not synced, and are lost. Call it before new rows follow.

    after: number of the last row that is there.  on_message: called with a note if any is lost.
    """
    acknowledged = heads(folder)
    if acknowledged is None or acknowledged.written.seq <= after:
        return
    os.truncate(folder / FILE_NAME, _UNSYNCED_AT)
    lost = acknowledged.written.seq - after
    rows = "row of the journal was" if lost == 1 else f"{lost} rows of the journal were"
    on_message(
        f"note: {folder.name}: the last {rows} lost before the disk had synced them. The run goes"
        " on from the row before, and tasks that ended since then run again."
    )


def _slots(path: Path) -> list[Position | None] | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return _slots_in(content)


def _slots_in(content: bytes) -> list[Position | None]:
    return [_unpacked(content[slot * SLOT_BYTES :]) for slot in range(_SLOTS)]


@cache
def _boot_id() -> bytes:
    """Return what is the same until the machine restarts; empty if the kernel does not say."""
    try:
        return _BOOT_ID.read_bytes()
    except OSError:
        return b""


def _seq(position: Position | None) -> int:
    return -1 if position is None else position.seq


def _packed(position: Position, boot_id: bytes = b"") -> bytes:
    body = _BODY.pack(_MARK, position.version, position.seq, position.checksum)
    return body + _CRC.pack(zlib.crc32(body + boot_id))


def _unpacked(content: bytes, boot_id: bytes = b"") -> Position | None:
    body, crc = content[: _BODY.size], content[_BODY.size : _BODY.size + _CRC.size]
    if len(crc) < _CRC.size or _CRC.unpack(crc)[0] != zlib.crc32(body + boot_id):
        return None
    mark, version, seq, checksum = _BODY.unpack(body)
    return Position(seq, checksum, version) if mark == _MARK and seq >= 0 else None
