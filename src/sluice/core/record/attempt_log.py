"""The record of every attempt that has ended, in columns.

A simulation of a day ends millions of attempts, and nothing reads them before its end. As objects
each takes 600 bytes, and the collector walks over all of them. Here an attempt is one packed row of
48 bytes; `Attempt` objects are made again when a row is read.

What few attempts have does not fit a row: divided or scattered slots, measured usage, outputs, an
error. Such attempts are kept as they are, by the number of their row. Of several tasks in a row of
slots, started as one attempt, only their number is kept.

Rows hold numbers in place of names. Phases, nodes and endings are numbered in the order in which
they first end an attempt, which is the order of the trace. So equal traces give equal rows, and
`digest` hashes the rows as they are. What a trace does not show is kept outside of the rows.
"""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Final, overload

from librt.strings import BytesWriter, write_f64_le, write_i64_le
from mypy_extensions import i64

from sluice.core.entries import Attempt, NodeEntry, PhaseEntry
from sluice.core.indexes.free_slots import SlotSpan
from sluice.core.indexes.group_sizes import GroupSizes
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record import packed_rows as packed
from sluice.core.transitions import ATTEMPT_ENDS, AttemptState
from sluice.model.cluster import Locality
from sluice.model.slot_kind import SlotKind

_ROW_BYTES: Final = 48
_CHUNK_ROWS: Final = 512
_CHUNK_BYTES: Final = _CHUNK_ROWS * _ROW_BYTES
# Part of every digest, so that it changes with the columns.
_DIGEST_VERSION: Final = b"columns 1"
_unpack_from: Final = packed.ROW.unpack_from
_Fields = tuple[int, int, int, int, int, int, float, float, float]

_MOOT: Final = 1
_REASON_SHIFT: Final = 1

_DONE: Final = AttemptState.DONE
_NODE: Final = Locality.NODE
_RACK: Final = Locality.RACK
_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_CONTAINER: Final = SlotKind.CONTAINER

# State, kind of slot, locality, whether it is a copy, code of the reason: few combinations.
_Ending = tuple[AttemptState, SlotKind, Locality | None, bool, ReasonCode]


class _UsualEnding:
    """The ending that the last attempt at some distance from its input had, with its number."""

    __slots__ = ("number", "reason", "slot_kind")

    def __init__(self, slot_kind: SlotKind = _MAP) -> None:
        self.reason: Reason | None = None
        self.slot_kind = slot_kind
        self.number: i64 = 0


class AttemptLog:
    """Ended attempts in the order of their end; reads like a sequence of `Attempt`.

    A plain attempt is made again at each reading: a change to it changes nothing here. Rows keep
    their numbers, and totals their values, when attempts are forgotten; its length counts them.
    last_end_s: the latest end of an attempt; -inf without any.
    """

    def __init__(self) -> None:
        self._count: i64 = 0
        self._chunks: list[bytes] = []
        self._tail = BytesWriter()  # the rows after the last chunk
        # What no trace shows, the reason and whether it was moot, is mostly that of the row before:
        # the rows at which it changes, and the reason and flag from there on.
        self._note_rows = array("I")
        self._notes = array("I")
        self._last_note: i64 = -1
        self._undone: dict[int, str] = {}  # rows whose output was lost, and why
        self._kept: dict[int, Attempt] = {}  # by row
        self._sizes = GroupSizes()  # of those that are not kept
        self._phases: dict[int, PhaseEntry] = {}  # by number
        self._phase_count: i64 = 0  # with those that were forgotten
        self._nodes: dict[int, NodeEntry] = {}  # by number
        self._node_count: i64 = 0  # with those that were forgotten
        self._endings: dict[_Ending, int] = {}
        self._near, self._in_rack, self._far = _UsualEnding(), _UsualEnding(), _UsualEnding()
        # Of attempts without a distance, by kind of slot.
        self._in_maps, self._in_reduces = _UsualEnding(_MAP), _UsualEnding(_REDUCE)
        self._in_containers = _UsualEnding(_CONTAINER)
        self._ending_list: list[_Ending] = []
        self._reasons: dict[Reason, int] = {}
        self._reason_of: dict[int, Reason] = {}  # by number
        self._reason_count: i64 = 0  # with those that were forgotten
        self._last_reason: Reason | None = None
        self._last_reason_number: i64 = 0
        self._ended: dict[AttemptState, int] = dict.fromkeys(ATTEMPT_ENDS, 0)
        self._done: i64 = 0
        self._map_s = 0.0
        self._reduce_s = 0.0
        self._container_s = 0.0
        self.last_end_s = -math.inf

    # --- writing ----------------------------------------------------------------------------

    def add(self, attempt: Attempt) -> i64:
        """Append an attempt that has ended; returns its row."""
        row = self._count
        self._count = row + 1
        phase, node = attempt.phase, attempt.node
        if phase.log_number < 0:
            phase.log_number = self._phase_count
            self._phases[phase.log_number] = phase
            self._phase_count += 1
        if node.log_number < 0:
            node.log_number = self._node_count
            self._nodes[node.log_number] = node
            self._node_count += 1
        ended_at_s = attempt.finished_at_s
        rows = self._tail
        # The same bytes as by `ROW`, two numbers at a time.
        write_i64_le(rows, _paired(phase.log_number, attempt.task))
        write_i64_le(rows, _paired(attempt.number, node.log_number))
        write_i64_le(rows, _paired(attempt.first_slot, self._ending_of(attempt)))
        write_f64_le(rows, attempt.started_at_s)
        write_f64_le(rows, ended_at_s)
        write_f64_le(rows, attempt.shuffled_at_s)
        if len(rows) == _CHUNK_BYTES:
            self._chunks.append(rows.getvalue())
            rows.truncate(0)
        note = self._reason_number(attempt.reason) << _REASON_SHIFT
        if attempt.is_moot:
            note |= _MOOT
        if note != self._last_note:
            self._last_note = note
            self._note_rows.append(row)
            self._notes.append(note)
        if not _is_plain(attempt):
            self._kept[row] = attempt
        elif attempt.tasks > 1:
            self._sizes.add(row, attempt.tasks)
        if ended_at_s > self.last_end_s:  # noqa: PLR1730  # max() takes longer
            self.last_end_s = ended_at_s
        self._tally(attempt, ended_at_s - attempt.started_at_s)
        return row

    def _ending_of(self, attempt: Attempt) -> i64:
        # Nearly all attempts end alike, but for their slot and their distance from their input.
        if attempt.state is not _DONE or attempt.is_copy:
            return self._numbered_ending(attempt)
        locality, slot_kind = attempt.locality, attempt.slot_kind
        if locality is None:
            usual = self._in_containers
            if slot_kind is _MAP:
                usual = self._in_maps
            elif slot_kind is _REDUCE:
                usual = self._in_reduces
        elif locality is _NODE:
            usual = self._near
        else:
            usual = self._in_rack if locality is _RACK else self._far
        reason = attempt.reason
        if reason is not usual.reason or slot_kind is not usual.slot_kind:
            # Some policies make a reason for each task, with one and the same code.
            if (
                usual.reason is None
                or reason[0] is not usual.reason[0]
                or slot_kind is not usual.slot_kind
            ):
                usual.number = self._numbered_ending(attempt)
            usual.reason, usual.slot_kind = reason, slot_kind
        return usual.number

    def _numbered_ending(self, attempt: Attempt) -> int:
        ending = (
            attempt.state, attempt.slot_kind, attempt.locality, attempt.is_copy, attempt.reason[0],
        )  # fmt: skip
        number = self._endings.get(ending)
        if number is None:
            number = self._endings[ending] = len(self._ending_list)
            self._ending_list.append(ending)
        return number

    def _reason_number(self, reason: Reason) -> i64:
        # Most policies give one and the same reason for thousands of tasks: no hash is needed.
        if reason is self._last_reason:
            return self._last_reason_number
        # Numbers that are made when they are read differ from start to start: none is there twice.
        is_shared = type(reason[1]) is tuple
        number = self._reasons.get(reason) if is_shared else None
        if number is None:
            number = self._reason_count
            self._reason_of[number] = reason
            self._reason_count += 1
            if is_shared:
                self._reasons[reason] = number
        self._last_reason, self._last_reason_number = reason, number
        return number

    def _tally(self, attempt: Attempt, held_s: float) -> None:
        """Count the attempt. Sums are added in the order of the ends, as a later walk would."""
        tasks = attempt.tasks
        if attempt.state is _DONE:
            self._done += tasks
        else:
            self._ended[attempt.state] += tasks
        if held_s > 0:
            # A whole number as a float costs more than the test.
            held_s *= attempt.width if tasks == 1 else tasks * attempt.width
            if attempt.slot_kind is _MAP:
                self._map_s += held_s
            elif attempt.slot_kind is _REDUCE:
                self._reduce_s += held_s
            else:
                self._container_s += held_s

    def undo(self, row: int, why: str) -> None:
        """The output of a done attempt is lost."""
        self._undone[row] = why
        kept = self._kept.get(row)
        if kept is not None:
            kept.undo(why)

    # --- forgetting -------------------------------------------------------------------------

    def forget(self, phases: Iterable[PhaseEntry]) -> None:
        """The attempts of these phases are not read any more. Rows and totals stay as they are."""
        for phase in phases:
            self._phases.pop(phase.log_number, None)

    def lighten(self, rows: Iterable[int]) -> None:
        """Let go of what was measured of these attempts, and of where their outputs are."""
        for row in rows:
            kept = self._kept.get(row)
            if kept is not None:
                kept.drop_measures()
                if kept.tasks == 1 and _is_plain(kept):
                    del self._kept[row]

    def sweep(self) -> int:
        """Give back the memory of what was forgotten; returns how many rows it still holds."""
        filled, nodes, tail = list[int](), set[int](), len(self._chunks)
        for number, chunk in enumerate(self._packed()):
            # A chunk goes when nothing of it is left: one of 24 KB stays for a job that runs on.
            phases = packed.column(chunk, packed.PHASE)
            if number < tail and self._phases.keys().isdisjoint(phases):
                self._chunks[number] = b""
            else:
                filled.append(number)
                nodes.update(packed.column(chunk, packed.NODE_PLACE))
        self._kept = {row: one for row, one in self._kept.items() if self.phase_of(row)}
        self._undone = {row: why for row, why in self._undone.items() if self.phase_of(row)}
        self._nodes = {one: node for one, node in self._nodes.items() if node.is_up or one in nodes}
        spans = [range(one * _CHUNK_ROWS, (one + 1) * _CHUNK_ROWS) for one in filled]
        self._note_rows, self._notes = packed.notes_within(spans, self._note_rows, self._notes)
        self._sizes.keep(spans)
        used = {note >> _REASON_SHIFT for note in self._notes}
        self._reason_of = {one: why for one, why in self._reason_of.items() if one in used}
        self._reasons = {why: one for why, one in self._reasons.items() if one in used}
        return len(filled) * _CHUNK_ROWS

    # --- totals -----------------------------------------------------------------------------

    @property
    def ended(self) -> dict[AttemptState, int]:
        """Ended tasks by outcome."""
        return {**self._ended, _DONE: self._done}

    @property
    def busy_s(self) -> dict[SlotKind, float]:
        """Seconds that slots were held, by their kind."""
        return {_MAP: self._map_s, _REDUCE: self._reduce_s, _CONTAINER: self._container_s}

    # --- reading ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Attempt]:
        row = 0
        while row < self._count:  # rows may be added meanwhile
            if self.phase_of(row) is not None:
                yield self.attempt(row)
            row += 1

    @overload
    def __getitem__(self, index: int) -> Attempt: ...
    @overload
    def __getitem__(self, index: slice) -> list[Attempt]: ...
    def __getitem__(self, index: int | slice) -> Attempt | list[Attempt]:
        if isinstance(index, slice):
            rows = range(*index.indices(self._count))
            return [self.attempt(row) for row in rows if self.phase_of(row)]
        row = index + self._count if index < 0 else index
        if not 0 <= row < self._count:
            raise IndexError(f"there are {self._count} ended attempts, not one at {index}")
        return self.attempt(row)

    def rows_of(self, phase: PhaseEntry) -> list[int]:
        """The rows of a phase's attempts, in order."""
        wanted, rows = phase.log_number, list[int]()
        for number, chunk in enumerate(self._packed()):
            phases = enumerate(packed.column(chunk, packed.PHASE), number * _CHUNK_ROWS)
            rows += [row for row, one in phases if one == wanted]
        return rows

    def phase_of(self, row: int) -> PhaseEntry | None:
        """The phase of the attempt in a row, cheaper than the attempt; None if it is forgotten."""
        chunk = row // _CHUNK_ROWS
        is_gone = chunk < len(self._chunks) and not self._chunks[chunk]
        return None if is_gone else self._phases.get(self._row(row)[0])

    def attempt(self, row: int) -> Attempt:
        """The attempt in a row, from 0 up."""
        kept = self._kept.get(row)
        if kept is not None:
            return kept
        fields = self._row(row)
        phase, node = self._phases[fields[0]], self._nodes[fields[3]]
        state, slot_kind, locality, is_copy, _ = self._ending_list[fields[5]]
        note = self._notes[bisect_right(self._note_rows, row) - 1]
        reason = self._reason_of[note >> _REASON_SHIFT]
        tasks = self._sizes.of(row)
        attempt = Attempt(
            phase, node, fields[6], fields[1], fields[2], tasks, slot_kind,
            SlotSpan(fields[4], tasks), locality, is_copy, reason,
        )  # fmt: skip
        attempt.state = state
        attempt.finished_at_s = fields[7]
        attempt.shuffled_at_s = fields[8]
        attempt.is_moot = note & _MOOT != 0
        if row in self._undone:
            attempt.undo(self._undone[row])
        return attempt

    def _packed(self) -> list[bytes]:
        """The rows in chunks: those of the last one are fewer, those that were swept out none."""
        return [*self._chunks, self._tail.getvalue()]

    def _row(self, row: int) -> _Fields:
        chunk, place = divmod(row, _CHUNK_ROWS)
        rows = self._chunks[chunk] if chunk < len(self._chunks) else self._tail.getvalue()
        fields: _Fields = _unpack_from(rows, place * _ROW_BYTES)
        return fields

    # --- digest -----------------------------------------------------------------------------

    def digest(self, *, is_totals: bool) -> str:
        """SHA-256 over the rows and the names they number, in hexadecimal.

        Equal for equal traces: a row for several tasks is hashed as a row for each.
        is_totals: whether the cluster is given as totals; then no node has a name.
        """
        sha256 = hashlib.sha256(_DIGEST_VERSION)
        ids = [None if is_totals else node.node_id for node in self._nodes.values()]
        names = list(dict.fromkeys(ids))
        places: list[int] = []
        if len(names) < len(ids):
            numbers = {name: number for number, name in enumerate(names)}
            places = [numbers[one] for one in ids]
        kept = (row for row, attempt in self._kept.items() if attempt.tasks > 1)
        groups = merge(kept, self._sizes.rows)
        for chunk in packed.without_groups(self._packed(), groups, self._slots_of):
            sha256.update(packed.with_places(chunk, places) if places else chunk)
        phases = [(phase.job_id, phase.name) for phase in self._phases.values()]
        endings = [
            (state.value, kind.value, None if near is None else near.name, is_copy, code.name)
            for state, kind, near, is_copy, code in self._ending_list
        ]
        sha256.update(json.dumps([self._count > 0, phases, names, endings]).encode())
        return sha256.hexdigest()

    def _slots_of(self, row: int) -> list[int]:
        """The slot of each task of the attempt in a row."""
        kept = self._kept.get(row)
        if kept is None:
            first = self._row(row)[packed.SLOT]
            return list(range(first, first + self._sizes.of(row)))
        return [slot for first, count in kept.launch_slots for slot in range(first, first + count)]


def _paired(low: i64, high: i64) -> i64:
    """Two numbers as one whose eight bytes, the lowest first, are those of both."""
    return (high << 32) | low


def _is_plain(attempt: Attempt) -> bool:
    """Whether a row holds all that is known of an ended attempt."""
    is_together = attempt.tasks == 1 or attempt.span.more is None
    return is_together and not attempt.has_facts and attempt.width == 1.0 and attempt.lent_slot < 0
