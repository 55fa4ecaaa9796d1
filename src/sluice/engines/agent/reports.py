"""The messages about attempts: start, progress and end."""

from __future__ import annotations

from typing import Any

from sluice.engines.agent.attempts import Ending, Running, tail

MESSAGE_CHARACTERS_MAX = 4096

Report = dict[str, Any]


def started(attempt: Running) -> Report:
    """The attempt runs; `pid` is its leader."""
    return _report("started", attempt.attempt_id, attempt.started_at_s) | {"pid": attempt.pid}


def progress(attempt: Running, fraction: float) -> Report:
    """Its progress, and when all its input was fetched, if it was."""
    return {
        "report": "progress",
        "id": attempt.attempt_id,
        "fraction": fraction,
        "shuffled_at": attempt.shuffled_at_s,
    }


def finished(attempt: Running) -> Report:
    """It ended well."""
    return _report("finished", attempt.attempt_id, attempt.ended_at_s) | {
        "usage": attempt.usage(),
        "outputs": (attempt.result or {}).get("outputs", []),
        "shuffled_at": attempt.shuffled_at_s,
    }


def failed(attempt: Running, why: Ending) -> Report:
    """It failed; the last lines of its log follow the reason."""
    detail = f"{why.detail[:MESSAGE_CHARACTERS_MAX]}\n{tail(attempt.log)}".rstrip()
    return _report("failed", attempt.attempt_id, attempt.ended_at_s) | {
        "kind": why.kind,
        "detail": detail,
        "usage": attempt.usage(),
        "blames": (attempt.failure or {}).get("blames", []),
        "cause": (attempt.failure or {}).get("cause", ""),
    }


def not_started(attempt_id: str, why: Ending, at_s: float) -> Report:
    """It never began."""
    return _report("failed", attempt_id, at_s) | {
        "kind": why.kind,
        "detail": why.detail,
        "usage": {},
        "blames": [],
    }


def _report(name: str, attempt_id: str, at_s: float) -> Report:
    return {"report": name, "id": attempt_id, "at": at_s}
