"""The trace of a run: one line of JSON for each attempt of each task, in the order of their end.

An entry of `state.closed` may represent many equal tasks; here each has its own line, with its own
slot. Lines have no wall time, no path and no version, so that a trace identifies the run. Traces of
a million attempts are usual, so text that lines share is formatted once and kept; only numbers are
formatted for each line. The text is what `json.dumps` gives, byte for byte.

`ingest.logs.trace` reads traces.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sluice.core.entries import Attempt
from sluice.core.indexes.free_slots import Interval
from sluice.core.record.attempt_log import AttemptLog
from sluice.model.cluster import Locality
from sluice.store.whole_file import whole_file

_LINES_AT_ONCE = 4096
_NULL = "null"

FIELDS = (
    "job", "phase", "task", "attempt", "node", "slot", "slot_index", "started_at_s",
    "finished_at_s", "shuffled_at_s", "outcome", "locality", "speculative", "reason",
)  # fmt: skip


def lines(attempts: Iterable[Attempt], *, is_totals: bool = False) -> Iterator[str]:
    """One line for each task of each attempt, without line ends.

    attempts: ended ones, in the order of their end.
    is_totals: whether the cluster is given as totals; `node` is null then.
    """
    shared_text = _SharedText(is_totals)
    phases, places, endings = shared_text.phases, shared_text.places, shared_text.endings
    for attempt in attempts:
        phase, node = attempt.phase, attempt.node
        key, tasks, _, kind, slots, locality, is_copy, reason = attempt.launch
        ending = (attempt.state, locality, is_copy, reason[0])
        before = phases.get(phase) or shared_text.phase(attempt)
        place = places.get((node, kind)) or shared_text.place(attempt)
        shuffled_at_s = attempt.shuffled_at_s
        # Only NaN differs from itself; calling math.isnan takes twice as long.
        shuffled = _NULL if shuffled_at_s != shuffled_at_s else repr(shuffled_at_s)  # noqa: PLR0124  # only NaN differs from itself
        between = f',"attempt":{key[3]}{place}'
        after = (
            f',"started_at_s":{attempt.started_at_s!r},"finished_at_s":{attempt.finished_at_s!r}'
            f',"shuffled_at_s":{shuffled}{endings.get(ending) or shared_text.ending(attempt)}'
        )
        if tasks == 1:
            yield f"{before}{key[2]}{between}{slots[0][0]}{after}"
        else:
            for task, slot in enumerate(slot_indexes(slots), key[2]):
                yield f"{before}{task}{between}{slot}{after}"


def slot_indexes(slots: Iterable[Interval]) -> Iterator[int]:
    """The slots of the intervals, in their order.

    >>> list(slot_indexes([(4, 2), (0, 1)]))
    [4, 5, 0]
    """
    for start, length in slots:
        yield from range(start, start + length)


class _SharedText:
    """The parts of lines that many attempts share, each formatted once."""

    def __init__(self, is_totals: bool) -> None:  # noqa: FBT001  # private, one caller
        self._is_totals = is_totals
        self.phases: dict[object, str] = {}
        self.places: dict[object, str] = {}
        self.endings: dict[object, str] = {}

    def phase(self, attempt: Attempt) -> str:
        phase = attempt.phase
        text = f'{{"job":{json.dumps(phase.job_id)},"phase":{json.dumps(phase.name)},"task":'
        self.phases[phase] = text
        return text

    def place(self, attempt: Attempt) -> str:
        node, kind = attempt.node, attempt.launch.slot_kind
        name = _NULL if self._is_totals else json.dumps(node.node_id)
        text = f',"node":{name},"slot":"{kind.value}","slot_index":'
        self.places[node, kind] = text
        return text

    def ending(self, attempt: Attempt) -> str:
        launch = attempt.launch
        shared = {
            "outcome": attempt.state.value,
            "locality": _locality_name(launch.locality),
            "speculative": launch.is_copy,
            "reason": reason_name(attempt),
        }
        text = "," + json.dumps(shared, separators=(",", ":"))[1:]
        self.endings[attempt.state, launch.locality, launch.is_copy, launch.reason.code] = text
        return text


def reason_name(attempt: Attempt) -> str:
    """The reason for the placement of the attempt, as a stable name: `first_in_line`."""
    return attempt.launch.reason.code.name.lower()


def _locality_name(locality: Locality | None) -> str | None:
    return None if locality is None else locality.name.lower()


def records(attempts: Iterable[Attempt], *, is_totals: bool = False) -> Iterator[dict[str, Any]]:
    """The lines as plain dicts. Much slower than `lines`."""
    for attempt in attempts:
        key, launch = attempt.launch.key, attempt.launch
        for task, slot in enumerate(slot_indexes(launch.slots), key.task):
            yield {
                "job": key.job_id,
                "phase": attempt.phase.name,
                "task": task,
                "attempt": key.attempt,
                "node": None if is_totals else attempt.node.node_id,
                "slot": launch.slot_kind.value,
                "slot_index": slot,
                "started_at_s": attempt.started_at_s,
                "finished_at_s": attempt.finished_at_s,
                "shuffled_at_s": known_or_none(attempt.shuffled_at_s),
                "outcome": attempt.state.value,
                "locality": _locality_name(launch.locality),
                "speculative": launch.is_copy,
                "reason": reason_name(attempt),
            }


def known_or_none(number: float) -> float | None:
    """The number, or None for NaN, which means: not known, or not yet."""
    return None if math.isnan(number) else number


# --- digest and file ------------------------------------------------------------------------------


def digest(attempts: AttemptLog, *, is_totals: bool = False) -> str:
    """The digest of a run, "sha256:...": runs with equal traces have equal digests.

    It hashes the record as it is kept, in columns, because to format a line for each attempt takes
    longer than the simulation of it.
    is_totals: whether the cluster is given as totals.
    """
    return f"sha256:{attempts.digest(is_totals=is_totals)}"


def write_trace(path: str | Path, trace: Iterable[str]) -> None:
    """Write the lines to a file, each ended by a newline.

    Raises as `whole_file` does.
    """
    with whole_file(path) as draft, draft.open("wb") as stream:
        stream.writelines(_chunks(trace))


def _chunks(trace: Iterable[str]) -> Iterator[bytes]:
    """The lines, each ended by a newline, several thousand at a time."""
    rest = iter(trace)
    while some := list(islice(rest, _LINES_AT_ONCE)):
        some.append("")
        yield "\n".join(some).encode()
