"""Holding predictions against what happened, for everything in the profile store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sluice.bootstrap.profiles import known_profile, nearest_profile
from sluice.estimate.calibration import LeaveOut, OnProgress, calibration
from sluice.estimate.uncertainty import LEVEL
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun
from sluice.reporting.calibration.result import CalibrationReport
from sluice.store.profiles import Profiles

LEVEL_MAX = 0.999


def calibrate(
    name: str | None = None,
    *,
    store: str | None = None,
    leave_out: str = LeaveOut.RUN.value,
    level: float = LEVEL,
    on_progress: Callable[[str], None] | None = None,
) -> CalibrationReport:
    """Every run in the store, predicted from the others and compared with what it took.

    name: one profile only; the others still lend it their errors where its own are few.
    store: path or URL of the profile store, by default the account's own.
    leave_out: what a prediction may not see: "run", "setting" (all runs at it), or "nothing".
    level: how often the intervals are to hold, above 0 and below 1.
    on_progress: called with a short text before each profile is calibrated.
    Raises InvalidInput for an unknown name or option.
    """
    with Profiles.existing(store) as profiles:
        name = known_profile(name, profiles)
        histories = {known: profiles.runs(known) for known in profiles.names()}
    return calibrate_runs(
        histories, name=name, leave_out=leave_out, level=level, on_progress=on_progress
    )


def calibrate_runs(
    histories: Mapping[str, Iterable[PastRun]],
    *,
    name: str | None = None,
    leave_out: str = LeaveOut.RUN.value,
    level: float = LEVEL,
    on_progress: Callable[[str], None] | None = None,
) -> CalibrationReport:
    """As `calibrate`, of past runs by profile, wherever they come from."""
    if name is not None and name not in histories:
        hint = nearest_profile(name, list(histories))
        raise InvalidInput(f"there is no profile {name[:200]!r}", where="NAME", hint=hint)
    if not 0 < level <= LEVEL_MAX:
        raise InvalidInput(
            f"level is {level}", where="--level", hint=f"give a share above 0, at most {LEVEL_MAX}"
        )
    return CalibrationReport(
        calibration(
            {known: list(runs) for known, runs in histories.items()},
            leave_out=_leave_out(leave_out),
            level=level,
            names=None if name is None else [name],
            on_progress=_worded(on_progress),
        )
    )


def _worded(on_progress: Callable[[str], None] | None) -> OnProgress:
    report = on_progress or (lambda _: None)
    return lambda name, done, wanted: report(f"{done} of {wanted} profiles done, now {name}")


def _leave_out(word: str) -> LeaveOut:
    known = [choice.value for choice in LeaveOut]
    if word not in known:
        raise InvalidInput(
            f"{word[:80]!r} cannot be left out", where="--leave-out", hint=suggestion(word, known)
        )
    return LeaveOut(word)
