"""The history behind forecasts of jobs: from the profile store, or from logs.

Only the newest runs of each profile are read. Other profiles lend their errors to those with few
runs, and those with most runs lend best, so at most PROFILES_LENDING of them are read, and only
when a forecast needs them: 60 profiles took 2.5 of the 3.6 s of `sluice predict`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.estimate.forecast import RUNS_JUDGED
from sluice.estimate.job_forecasts import JobForecast, JobForecasts
from sluice.estimate.lenders import Lenders
from sluice.estimate.list_scheduling import concurrent_tasks_max
from sluice.ingest.logs.formats import read_logs
from sluice.ingest.logs.names import printable
from sluice.ingest.logs.options import read_options
from sluice.ingest.logs.registry import AUTO
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.history import PastRun, PastTask
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.history.past_runs import profile_name, unreadable_note
from sluice.reporting.prediction.level_changes import change_text

if TYPE_CHECKING:
    from sluice.store.profiles import Profiles

PROFILES_LENDING = 60

Histories = dict[str, list[PastRun]]


def stored_forecasts(names: Iterable[str], profiles: Profiles) -> JobForecasts:
    """Forecasts for these profiles, from all that the store holds.

    A profile that is not stored is left out. A forecast that needs other profiles opens the store
    again, so it raises what `Profiles` raises.
    """
    unique = dict.fromkeys(names)
    stored = profiles.run_counts(unique)
    wanted = [name for name in unique if name in stored]
    fullest = profiles.fullest(PROFILES_LENDING + len(wanted))
    others = [name for name in fullest if name not in stored]
    lending = _StoredLenders(others[:PROFILES_LENDING], profiles)
    lenders = Lenders(lending.varied, lending.names, lending.runs)
    return JobForecasts(_newest(wanted, profiles), lenders)


class _StoredLenders:
    """Profiles in a store that lend their errors. names: in the order in which they lend."""

    def __init__(self, names: Sequence[str], profiles: Profiles) -> None:
        self._names = names
        self._profiles = profiles

    def names(self) -> Sequence[str]:
        """All of them."""
        return self._names

    def varied(self) -> Iterator[str]:
        """Those that may have run with several settings."""
        return filter(self._is_varied, self._names)

    def _is_varied(self, name: str) -> bool:
        with self._profiles as opened:
            slots = opened.steady_slots([name], RUNS_JUDGED).get(name)
            if slots is None or _is_logged(slots):
                return slots is None
            with closing(opened.newest_timelines(name, RUNS_JUDGED)) as phases:
                return _has_several_slots(phases)

    def runs(self, name: str) -> Sequence[PastRun]:
        """The newest runs of one, oldest first."""
        with self._profiles as opened:
            return _newest([name], opened)[name]


def _has_several_slots(phases: Iterable[tuple[int, Sequence[PastTask]]]) -> bool:
    """Whether the runs of a profile had different numbers of tasks at once in the same phase."""
    first: dict[int, int | None] = {}
    at_once = ((place, concurrent_tasks_max(tasks)) for place, tasks in phases)
    return any(first.setdefault(place, tasks) != tasks for place, tasks in at_once)


def _is_logged(slots: Mapping[str, int]) -> bool:
    """Whether the slots of every phase are known; others are counted in its tasks."""
    return bool(slots.get("container") or (slots.get("map") and slots.get("reduce")))


def _newest(names: Iterable[str], profiles: Profiles) -> Histories:
    """The newest runs of profiles, oldest first."""
    return {name: profiles.newest(name, RUNS_JUDGED)[::-1] for name in names}


def logged_histories(
    paths: Sequence[str | Path], name: str = AUTO, settings: Sequence[str] = ()
) -> Histories:
    """The runs in logs by profile, oldest first. Raises InvalidInput if there are none.

    name: of the format.  settings: options of formats, "key=value".
    """
    options = read_options(settings, "--from-log-set")
    found: Histories = {}
    seen: set[tuple[str, str]] = set()
    for log in read_logs(paths, name, options):
        for run in log.runs:
            if (run.source, run.run_id) not in seen:
                seen.add((run.source, run.run_id))
                found.setdefault(run.profile, []).append(run)
    if not found:
        raise InvalidInput(
            "no run of a job is in it",
            where=", ".join(map(str, paths)),
            hint="give history logs of jobs that have ended",
        )
    return {
        name: sorted(runs, key=_submitted_at_s)[-RUNS_JUDGED:]
        for name, runs in sorted(found.items())
    }


def _submitted_at_s(run: PastRun) -> float:
    return run.submitted_at_s or 0.0


def cluster_slots(cluster: Cluster) -> dict[str, int]:
    """Slots by kind of phase; a cluster of containers has all of them for either kind."""
    kinds = {kind.value: cluster.slots(kind) for kind in (SlotKind.MAP, SlotKind.REDUCE)}
    everything = cluster.slots(SlotKind.CONTAINER)
    if not any(kinds.values()):
        kinds = dict.fromkeys(kinds, everything)
    kinds[SlotKind.CONTAINER.value] = everything
    return {kind: slots for kind, slots in kinds.items() if slots}


def live_forecasts(
    jobs: Iterable[Job], cluster: Cluster, on_message: Callable[[str], None]
) -> dict[JobId, JobForecast]:
    """Forecasts of jobs that are about to run, from the past runs of their profiles.

    A job without past runs has none. on_message: called with a note if the store cannot be read.
    """
    try:
        from sluice.store.profiles import Profiles

        with Profiles.open() as profiles:
            names = {job.job_id: _profile_of(job, profiles) for job in jobs}
            forecasts = stored_forecasts(names.values(), profiles)
        slots = cluster_slots(cluster)
        found = {job_id: forecasts.of(name, slots=slots) for job_id, name in names.items()}
    except SluiceError as error:
        on_message(unreadable_note(error))
        return {}
    return {job_id: one for job_id, one in found.items() if one.predicted_s is not None}


def _profile_of(job: Job, profiles: Profiles) -> str:
    name = profile_name(job)
    return profiles.profile_named(name) or name


class ProfileForecasts:
    """Forecasts of the jobs that name a profile, on any slots. The store is read once."""

    def __init__(self, workload: Workload) -> None:
        self._wanted = {str(job.job_id): str(job.profile) for job in workload.jobs if job.profile}
        self._names: Mapping[str, str] = {}
        self._forecasts = JobForecasts({})
        if not self._wanted:
            return
        from sluice.store.profiles import Profiles

        with Profiles.open() as profiles:
            given = set(self._wanted.values())
            self._names = {one: profiles.profile_named(one) or one for one in given}
            self._forecasts = stored_forecasts(self._names.values(), profiles)

    def on_slots(
        self, job_id: str, map_slots: int, reduce_slots: int, speed: float
    ) -> JobForecast | None:
        """The forecast of a job on these slots; None without a profile, or without runs."""
        if job_id not in self._wanted:
            return None
        found = self._of(self._wanted[job_id], map_slots, reduce_slots, speed)
        return None if found.predicted_s is None else found

    def overhead_s(self, job_id: str) -> float:
        """Seconds outside tasks, with the slots of the newest run; 0 where it is not known."""
        if job_id not in self._wanted:
            return 0.0
        found = self._forecasts.of(self._names[self._wanted[job_id]])
        return max(0.0, found.overhead_s or 0.0)

    def change_notes(self) -> Iterator[str]:
        """A sentence on each job whose runs are at another level since a night, or grow."""
        for job_id, profile in self._wanted.items():
            change = self._forecasts.changes.get(self._names[profile])
            if change is not None:
                yield f"{printable(job_id)}: {change_text(change)}"

    @cache  # noqa: B019  # it lives as long as one answer
    def _of(self, name: str, map_slots: int, reduce_slots: int, speed: float) -> JobForecast:
        slots = {"map": map_slots, "reduce": reduce_slots}
        return self._forecasts.of(self._names[name], slots=slots, speed=speed)
