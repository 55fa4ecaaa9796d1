"""The story of an application or a queue of the cluster that a service observes.

It holds the decisions of the service itself, from the record of its steering.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sluice.bootstrap.steering.entries import RECORD_NAME, Entry, entries_with

CLUSTER = "cluster"  # the subject whose story has every decision
LINES_MAX = 1000  # the newest decisions
_OUTCOMES = {
    "done": "",
    "listed": " (listed only)",
    "late": " (not taken up in time)",
    "refused": " (refused)",
}

Row = Mapping[str, Any]


def story_of_others(folder: Path, subject: str, known: Row | None) -> dict[str, Any] | None:
    """The story of an application, a queue or the cluster; None for an unknown subject.

    folder: of the steering.  known: the application as it is observed, if it is. Changes of its
    queue since it was submitted are a part of its story.
    """
    decided = deque(_decided(folder / RECORD_NAME, subject, known), LINES_MAX)
    if known is None and not decided:
        return None
    lines = [_line(one, is_own=one["target"] == subject) for one in decided]
    if known is not None:
        lines += _began(known)
    is_application = subject.startswith("application_")
    kind = "cluster" if subject == CLUSTER else "application" if is_application else "queue"
    return {"id": subject, "kind": kind, "lines": sorted(lines, key=lambda line: line["at"])}


def _decided(path: Path, subject: str, known: Row | None) -> Iterator[Entry]:
    if subject == CLUSTER:
        yield from entries_with(path, "")
        return
    attempts = f"attempt_{subject.removeprefix('application_')}_"
    for one in entries_with(path, subject.removeprefix("application_")):
        if one["target"] == subject or one["target"].startswith(attempts):
            yield one
    if known is not None:
        for one in entries_with(path, known["queue"]):
            if one["target"] == known["queue"] and one["at"] >= known["submitted_at"]:
                yield one


def _line(one: Entry, *, is_own: bool) -> Row:
    because = "; ".join(filter(None, (one["reason"], one["why"])))
    if one["outcome"] == "problem":
        what = f"{one['policy']} changed nothing"
    else:
        setting = one["setting"] if is_own else f"{one['setting']} of {one['target']}"
        change = f"{one['before'] or 'none'} -> {one['wanted'] or 'none'}"
        what = f"{one['policy']}: {setting} {change}{_OUTCOMES.get(one['outcome'], '')}"
    return {"at": _in_utc(one["at"]), "what": what, "why": because}


def _in_utc(at: str) -> str:
    """An instant of the record as the service writes instants, so that they sort as texts."""
    return at.replace("+00:00", "Z")


def _began(known: Row) -> Iterator[Row]:
    by = f"by {known['user']} to {known['queue']}"
    yield {"at": known["submitted_at"], "what": f"submitted {by}", "why": ""}
    if known["state"] == "running":
        yield {"at": known["starts_at"]["expected"], "what": "started", "why": ""}
