"""The past of a profile: its newest runs, and those of them that count for jobs to come.

Judging 50 runs takes 0.2 s, and a service asks for each job that is submitted. So what was found is
kept, for a few profiles, until another run of the profile is stored. It is kept without the
timelines of the runs, which may be large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sluice.estimate.forecast import RUNS_JUDGED, usual_runs
from sluice.estimate.length_spread import SIGMA_ASSUMED, LengthSpread, length_spread
from sluice.estimate.level_changes import current_runs
from sluice.estimate.past_phases import as_worked
from sluice.estimate.prediction import comparable
from sluice.estimate.run_setting import timed_runs
from sluice.model.history import PastRun

if TYPE_CHECKING:
    from sluice.store.profiles import Profiles

RUNS_RECALLED = 20  # older ones may no longer be typical
_PROFILES_KEPT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The past of a profile, without timelines. All runs are the newest first.

    newest: all that are judged.  usual: those that count.  spread: how far they differ.
    """

    newest: tuple[PastRun, ...]
    usual: tuple[PastRun, ...]
    spread: LengthSpread


NO_PAST = Past(newest=(), usual=(), spread=LengthSpread(SIGMA_ASSUMED))


def past_of(name: str, profiles: Profiles) -> Past:
    """The past of a profile. profiles: the usual store. Raises what `Profiles` raises."""
    digests = profiles.newest_digests(name, RUNS_JUDGED)
    return _kept(str(profiles.address), name, digests) if digests else NO_PAST


@lru_cache(maxsize=_PROFILES_KEPT)
def _kept(address: str, name: str, digests: Sequence[str]) -> Past:
    """address: of the usual store.  digests: of the runs, so that a new one is judged as well."""
    from sluice.store.profiles import Profiles

    del address, digests
    with Profiles.open() as profiles:
        return judged(profiles.newest(name, RUNS_JUDGED))


def judged(runs: Sequence[PastRun]) -> Past:
    """The past that these runs make. runs: of a profile, the newest first."""
    current, _ = current_runs({"": runs[::-1]})
    return Past(
        newest=tuple(map(as_worked, runs)),
        usual=tuple(map(as_worked, _usual(current[""]))),
        spread=length_spread(comparable(timed_runs(current[""]))),
    )


def usual_runs_of(runs: Sequence[PastRun]) -> list[PastRun]:
    """The runs of a profile at its present level, without outliers. All the newest first."""
    current, _ = current_runs({"": runs[::-1]})
    return _usual(current[""])


def _usual(current: Sequence[PastRun]) -> list[PastRun]:
    return usual_runs(current)[: -RUNS_RECALLED - 1 : -1]
