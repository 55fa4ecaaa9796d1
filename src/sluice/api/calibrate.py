"""Holding predictions against what happened, for everything in the profile store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from sluice import estimate
from sluice.api.options.calls import called_with
from sluice.api.options.history import CalibrateOptions
from sluice.bootstrap.forecasts.job_forecasts import PROFILES_LENDING
from sluice.bootstrap.history.profiles import known_profile, nearest_profile
from sluice.estimate.calibration import LeaveOut, calibration
from sluice.estimate.fit_memory import FitMemory, FitRecords
from sluice.estimate.uncertainty import LEVEL, check_level
from sluice.ingest.suggestions import known_choice
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.history import PastRun
from sluice.model.name_types import LeaveOutName
from sluice.reporting.calibration.result import CalibrationReport
from sluice.store.fit_store import FitStore
from sluice.store.profiles import Profiles

# Where no number is given: runs in all, and of each profile. The time of a calibration grows faster
# than the runs of a profile, and old runs say little about the predictions of today.
RUNS_COMPARED = 5000
RUNS_OF_PROFILE_MIN = 10
RUNS_OF_PROFILE_MAX = 500
# Those with most runs: a store may have thousands of profiles, each of which costs its fits.
PROFILES_COMPARED_MAX = 500


@dataclass(frozen=True)
class CalibrateCall(CalibrateOptions):
    """Arguments of `calibrate`."""

    name: str | None = None
    _: KW_ONLY
    on_progress: Callable[[str], None] | None = None
    on_fraction: Callable[[float], None] | None = None


@called_with(CalibrateCall)
def calibrate(given: CalibrateCall) -> CalibrationReport:
    """The runs in the store, each predicted from the others and compared with what it took.

    name: one profile only; the others still lend it their errors where its own are few.
    newest: the most runs to read of each profile; by default as many as make 5,000 together, but
        at least 10 and at most 500; 500 of the named profile. `runs_total` counts all runs.
        Without `name`, at most 500 profiles are compared: those with most runs.
    store: path or URL of the profile store, by default the account's own.
    leave_out: what a prediction may not see: "run", "setting" (all runs at it), or "nothing".
    level: how often the intervals are to hold, above 0 and below 1.
    on_progress: called with a short text before each profile is calibrated.
    on_fraction: called with the share of runs that were compared, 0 to 1.
    The state folder keeps the fits, so that another call costs only those of new runs.
    Raises InvalidInput for an unknown name or option, or for `newest` < 1.
    """
    newest = given.newest
    if newest is not None and newest < 1:
        raise wrong_value("newest", newest, "--newest", "give at least 1")
    with Profiles.existing(given.store) as profiles:
        name = known_profile(given.name, profiles)
        counts = profiles.run_counts()
        share = max(RUNS_OF_PROFILE_MIN, RUNS_COMPARED // max(1, len(counts)))
        limit = newest or min(RUNS_OF_PROFILE_MAX, share)
        # One profile borrows the errors of a few others only, as in a prediction.
        most = PROFILES_COMPARED_MAX if name is None else PROFILES_LENDING
        histories: dict[str, list[PastRun]] = {known: [] for known in _fullest(counts, most)}
        for stored in profiles.newest_of_each(limit, histories):
            histories[stored.run.profile].append(stored.run)
        if name is not None:
            own = profiles.newest_of_each(newest or RUNS_OF_PROFILE_MAX, [name])
            histories[name] = [stored.run for stored in own]
    with FitStore(Path(estimate.__file__).parent) as fits:
        report = calibrate_runs(
            histories,
            name=name,
            leave_out=given.leave_out,
            level=given.level,
            fits=fits,
            on_progress=given.on_progress,
            on_fraction=given.on_fraction,
        )
    return replace(report, run_counts=counts)


def _fullest(counts: Mapping[str, int], most: int) -> list[str]:
    """The names of at most this many profiles: those with most runs, in the order of their names.

    >>> _fullest({"a": 1, "b": 3, "c": 2}, 2)
    ['b', 'c']
    """
    return sorted(sorted(counts, key=lambda name: (-counts[name], name))[:most])


def calibrate_runs(
    histories: Mapping[str, Iterable[PastRun]],
    *,
    name: str | None = None,
    leave_out: LeaveOutName | str = LeaveOut.RUN.value,
    level: float = LEVEL,
    fits: FitRecords | None = None,
    on_progress: Callable[[str], None] | None = None,
    on_fraction: Callable[[float], None] | None = None,
) -> CalibrationReport:
    """Do what `calibrate` does, for past runs by profile, wherever they come from.

    fits: keeps the fits for later calls; by default nothing is kept.
    """
    if name is not None and name not in histories:
        hint = nearest_profile(name, list(histories))
        raise InvalidInput(f"there is no profile {name[:200]!r}", where="NAME", hint=hint)
    check_level(level)
    lists = {known: list(runs) for known, runs in histories.items()}
    chosen = list(lists) if name is None else [name]
    runs_done = 0
    runs_total = max(1, sum(len(lists[one]) for one in chosen))

    def report(present: str, done: int, wanted: int) -> None:
        nonlocal runs_done
        if on_progress is not None:
            on_progress(f"{done} of {wanted} profiles done, now {present}")
        if on_fraction is not None:
            on_fraction(runs_done / runs_total)
        runs_done += len(lists[present])

    return CalibrationReport(
        calibration(
            lists,
            leave_out=known_choice("--leave-out", leave_out, LeaveOut),
            level=level,
            names=chosen,
            fits=FitMemory(fits),
            on_progress=report,
        ),
        run_counts={known: len(lists[known]) for known in chosen},
    )
