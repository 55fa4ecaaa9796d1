"""List, show and remove recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from sluice.api.options.calls import called_with
from sluice.api.options.history import CleanOptions
from sluice.bootstrap.engines.registry import end_cluster, end_lost_clusters
from sluice.bootstrap.history.recorded_runs import described, detailed
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput, SluiceError
from sluice.reporting.recorded_runs.result import CleanedRuns, RecordedRuns
from sluice.store.leftovers import leftovers, remove_leftover, remove_run
from sluice.store.run_info import RunInfo, UnreadableRun
from sluice.store.runs import Runs


def runs() -> RecordedRuns:
    """All recorded runs, oldest first, and what was left on the disk that no resume needs."""
    found = Runs()
    return RecordedRuns(runs=tuple(map(described, found.listed())), leftovers=leftovers(found))


@checked_arguments
def show_run(run_id: str) -> RecordedRuns:
    """One recorded run with its jobs, outputs, policies and settings.

    run_id: the id, or its number as the id writes it, such as "run-000042".
    Raises InvalidInput if there is no such run.
    """
    return RecordedRuns(runs=(detailed(_found(Runs(), run_id)),))


@dataclass(frozen=True)
class CleanCall(CleanOptions):
    """Arguments of `clean_runs`."""

    run_ids: Sequence[str] = ()


@called_with(CleanCall)
def clean_runs(given: CleanCall) -> CleanedRuns:
    """Remove these runs with everything that they left; without any, what no resume needs.

    finished: remove all finished runs, also those with failed jobs.
    dry_run: report what would be removed, and remove nothing.
    Outputs are never removed, and neither is a run that another process drives.
    Raises InvalidInput, having removed nothing, if there is no run of an id.
    """
    found = Runs()
    chosen = [_found(found, run_id) for run_id in given.run_ids]
    if given.finished:
        chosen += [run for run in found.all() if run.is_finished]
    if given.run_ids or given.finished:
        return _clean_runs({run.run_id: run for run in chosen}.values(), dry_run=given.dry_run)
    return _clean_leftovers(found, dry_run=given.dry_run)


def _found(found: Runs, run_id: str) -> RunInfo | UnreadableRun:
    run = found.find(run_id)
    if run is None:
        raise InvalidInput(
            f"there is no recorded run {run_id!r}",
            where="sluice runs",
            hint="`sluice runs list` shows all",
        )
    return run


def _clean_runs(chosen: Iterable[RunInfo | UnreadableRun], *, dry_run: bool) -> CleanedRuns:
    removed, kept = [], []
    for run in chosen:
        about = described(run)
        why = None
        if about.process is not None:
            why = f"process {about.process} drives it"
        elif not dry_run:
            end_cluster(run.folder)
            why = _failure(partial(remove_run, run))
        if why is None:
            removed.append(about)
        else:
            kept.append((run.run_id, why))
    return CleanedRuns(
        runs=tuple(removed),
        leftovers=(),
        bytes=sum(run.bytes for run in removed),
        kept=tuple(kept),
        is_dry_run=dry_run,
    )


def _clean_leftovers(found: Runs, *, dry_run: bool) -> CleanedRuns:
    removed, kept, total_bytes = [], [], 0
    if not dry_run:
        end_lost_clusters(found)
    for one in leftovers(found):
        document, size_bytes = one.document(), one.bytes
        why = None if dry_run else _failure(partial(remove_leftover, found, one))
        if why is None:
            removed.append(document)
            total_bytes += size_bytes
        else:
            kept.append((str(one.path), why))
    return CleanedRuns(
        runs=(), leftovers=tuple(removed), bytes=total_bytes, kept=tuple(kept), is_dry_run=dry_run
    )


def _failure(remove: Callable[[], None]) -> str | None:
    """Why it could not be removed; None if it could."""
    try:
        remove()
    except SluiceError as error:
        return str(error)
    return None
