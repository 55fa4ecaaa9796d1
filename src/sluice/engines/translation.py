"""From the reports of an agent to the events of the core."""

from __future__ import annotations

from typing import Any

from sluice.core.events import (
    Event,
    FailureKind,
    TaskFailed,
    TaskFinished,
    TaskProgress,
    TaskStarted,
)
from sluice.model.attempts import AttemptKey, Usage

ENDS = {"finished", "failed"}


def event(report: dict[str, Any], key: AttemptKey, at_s: float, ahead_s: float) -> Event:
    """The event of a report about an attempt, which arrived at `at_s`.

    ahead_s: how far the agent's clock is ahead of the engine's, in seconds.
    """
    match report["report"]:
        case "started":
            return TaskStarted(at_s, key, report["at"] - ahead_s)
        case "progress":
            shuffled_at_s = _minus(report["shuffled_at"], ahead_s)
            return TaskProgress(at_s, key, report["fraction"], shuffled_at_s)
        case "finished":
            return TaskFinished(
                at_s,
                key,
                finished_at_s=report["at"] - ahead_s,
                shuffled_at_s=_minus(report["shuffled_at"], ahead_s),
                usage=_usage(report["usage"]),
                outputs=tuple(report["outputs"]),
            )
        case _:
            return TaskFailed(
                at_s,
                key,
                finished_at_s=report["at"] - ahead_s,
                kind=FailureKind(report["kind"]),
                detail=report["detail"],
                usage=_usage(report["usage"]),
                blames=tuple((phase, task) for phase, task in report["blames"]),
                cause=report.get("cause", ""),
            )


def _minus(instant_s: float | None, ahead_s: float) -> float | None:
    return None if instant_s is None else instant_s - ahead_s


def _usage(measured: dict[str, Any]) -> Usage | None:
    known = {name: measured[name] for name in Usage._fields if name in measured}
    if "fetched" in known:
        known["fetched"] = tuple(sorted(known["fetched"].items()))
    return Usage(**known) if known else None
