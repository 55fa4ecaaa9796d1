"""The decisions about a cluster of others, and what became of them: a file of JSON lines.

A change is on record before it is made (`begun`) and after it, so that a crash in between leaves a
trace. The record also says which values are our own, so that the undo plan can go back to those
that others set.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.bootstrap.steering.entries import BEGUN, Entry
from sluice.engines.yarn.steering.changes import Row
from sluice.engines.yarn.steering.steering import Made
from sluice.store.private import open_private_file

SHOWN = 20  # decisions in an answer
AGAIN_S = 600.0  # a change that was refused is not tried again before
_BYTES_MAX = 8 << 20  # then the file is put aside; the one before it is dropped
_DONE, _LATE, _REFUSED, _LISTED = "done", "late", "refused", "listed"

_Key = tuple[str, str]


class SteeringRecord:
    """The record of one cluster. path: of the file, which need not exist."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.newest: deque[Entry] = deque(maxlen=SHOWN)
        self._latest: dict[_Key, Entry] = {}
        self._own: dict[_Key, set[str]] = {}
        with suppress(FileNotFoundError):
            for line in path.read_text("utf-8", "replace").splitlines():
                with suppress(ValueError, KeyError, TypeError):  # a crash may leave half a line
                    self._take(json.loads(line))

    def is_own(self, row: Row) -> bool | None:
        """Whether the present value is one that was set from here; None if none is known of."""
        own = self._own.get((row.target, row.setting))
        return None if own is None else row.before in own

    def was_refused(self, row: Row) -> bool:
        """Whether the same change was tried in vain just now."""
        found = self._latest.get((row.target, row.setting))
        return (
            found is not None
            and found["outcome"] in {_LATE, _REFUSED}
            and (found["before"], found["wanted"]) == (row.before, row.wanted)
            and time.time() - datetime.fromisoformat(found["at"]).timestamp() < AGAIN_S
        )

    def list_only(self, policy: str, row: Row, reason: str) -> None:
        """A change that is not made."""
        self._append_new(_entry(policy, row, _LISTED, reason))

    def begin(self, policy: str, row: Row, reason: str) -> None:
        """A change that is about to be made."""
        self._append(_entry(policy, row, BEGUN, reason))

    def end(self, policy: str, one: Made, reason: str) -> None:
        """Note how a change ended."""
        outcome = _REFUSED if one.refusal else _DONE if one.is_done else _LATE
        why = one.refusal or ("" if one.is_done else "YARN has not taken it up yet")
        entry = _entry(policy, one.row, outcome, reason)
        self._append(entry | {"after": one.after, "why": why})

    def problem(self, policy: str, why: str) -> None:
        """Why a policy, or a change that it wants, came to nothing."""
        row = Row(target="", setting="", before="", wanted="")
        self._append_new(_entry(policy, row, "problem", "") | {"why": why})

    def _append_new(self, entry: Entry) -> None:
        """Append it unless it was the last about the same."""
        known = self._latest.get(_key(entry))
        if known is None or {**known, "at": ""} != {**entry, "at": ""}:
            self._append(entry)

    def _append(self, entry: Entry) -> None:
        descriptor = open_private_file(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            # The line break comes first: what a crash has cut off cannot spoil the next line.
            os.write(descriptor, b"\n" + json.dumps(entry).encode())
            is_full = os.fstat(descriptor).st_size > _BYTES_MAX
        finally:
            os.close(descriptor)
        if is_full:
            self._path.replace(self._path.with_suffix(".old.jsonl"))
        self._take(entry)

    def _take(self, entry: Entry) -> None:
        key, outcome = _key(entry), str(entry["outcome"])
        wanted = str(entry["wanted"])
        if outcome == BEGUN:
            self._own.setdefault(key, set()).add(wanted)
        elif outcome == _DONE:
            self._own[key] = {wanted}
        elif outcome == _LATE:
            self._own.setdefault(key, set()).update((wanted, str(entry["after"])))
        elif outcome == _REFUSED:
            self._own.get(key, set()).discard(wanted)
            if not self._own.get(key):
                self._own.pop(key, None)
        self._latest[key] = entry
        if outcome != BEGUN:
            self.newest.append(entry)


def _key(entry: Mapping[str, Any]) -> _Key:
    """The key of a record. A problem has its policy, as it has no target."""
    return str(entry["target"] or entry["policy"]), str(entry["setting"])


def _entry(policy: str, row: Row, outcome: str, reason: str) -> Entry:
    return {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "policy": policy, "outcome": outcome, "target": row.target, "setting": row.setting,
        "before": row.before, "wanted": row.wanted, "after": None, "reason": reason, "why": "",
    }  # fmt: skip
