"""Recorded runs: found again, and replayed to an instant."""

from __future__ import annotations

from collections.abc import Callable

from sluice.bootstrap.history.profiles import OnMessage
from sluice.bootstrap.live.run_options import RunOptions, check_policy_files, scheduler_part
from sluice.bootstrap.scheduler import live_scheduler
from sluice.bootstrap.settings import settings_of
from sluice.core.events import JobsForgotten
from sluice.core.garbage_collector import paused_collector
from sluice.core.scheduler import Scheduler
from sluice.model.errors import InvalidInput
from sluice.store.rows import prepared_jobs
from sluice.store.run_info import RunInfo, UnreadableRun, silent_s
from sluice.store.runs import Runs
from sluice.store.snapshots import recorded_events

OnStart = Callable[[Scheduler], None]


def recorded(
    run_id: str | None, on_message: OnMessage = lambda _: None, *, where: str = "--run"
) -> RunInfo:
    """A recorded run, by default the newest that can be read.

    on_message: called for each newer run that cannot be read.
    where: what names the run in messages, as the user gives it.
    Raises InvalidInput if there is none; StoreCorrupt or StoreUnavailable if it cannot be read.
    """
    runs = Runs()
    if run_id is None:
        latest = runs.latest(on_message)
        if latest is None:
            _raise_if_unreadable(runs)
            raise InvalidInput(
                "no run is recorded yet", where=where, hint="run a workload first, or give --file"
            )
        return latest
    found = runs.find(run_id)
    if found is None:
        raise InvalidInput(
            f"there is no recorded run {run_id!r}",
            where=where,
            hint="`sluice runs` lists them; leave it out for the newest",
        )
    if isinstance(found, UnreadableRun):
        raise found.unreadable()
    return found


def all_readable(on_message: OnMessage = lambda _: None) -> list[RunInfo]:
    """All recorded runs that can be read, oldest first. on_message: called for each other one."""
    found = []
    for run in Runs().listed():
        if isinstance(run, UnreadableRun):
            on_message(f"Run {run.run_id} is skipped. {run.why}")
        else:
            found.append(run)
    return found


def _raise_if_unreadable(runs: Runs) -> None:
    """Raise the error of the newest run, if there are runs and none can be read."""
    for run in reversed(runs.listed()):
        if isinstance(run, UnreadableRun):
            raise run.unreadable()


def replayed(
    run: RunInfo, *, until_s: float | None = None, on_start: OnStart = lambda _: None
) -> Scheduler:
    """The scheduler of a recorded run at an instant, by default at the end of the journal.

    If the run is driven by a process now, the default is the present instant. The run itself is
    not disturbed.  on_start: called with the scheduler before the first event.
    """
    options, workload = RunOptions.of(run.header), scheduler_part(run.header)
    check_policy_files(run.header, options, run.run_id)
    scheduler = live_scheduler(workload, settings_of(workload, options), options)
    on_start(scheduler)
    records = prepared_jobs(run.folder)
    scheduler.state.to_come = {name: one.get("after", ()) for name, one in records.items()}
    with paused_collector():
        for event in recorded_events(run.folder):
            if until_s is not None and event.at_s > until_s:
                break
            if isinstance(event, JobsForgotten):
                continue  # it changes no decision, and users ask about these jobs
            scheduler.handle(event)
    if until_s is None:
        scheduler.pass_time(scheduler.state.now_s + silent_s(run.folder))
    return scheduler
