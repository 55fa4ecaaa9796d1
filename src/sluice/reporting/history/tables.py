"""Tables of imported logs, of all stored profiles, and of one profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePath

from sluice.model.history import PastRun
from sluice.reporting.columns import Column, column_table
from sluice.reporting.formatting import NOTHING, count, counted, distinguished, duration_tight, size
from sluice.reporting.history.result import LOG_COLUMNS, Imported, ImportedLog, StoredProfiles
from sluice.reporting.table_style import (
    NameCell,
    RenderableType,
    Table,
    Text,
    left_out,
    name_cell,
    plain_table,
    plain_text,
)
from sluice.store.profiles.rows import StoredRun

ROWS_MAX = 50
SKIPPED_SHOWN = 5
_PHASE_LETTERS = 32
_EPOCH_S_MIN = 10**8  # a smaller number is not a date, but seconds since the start of the log


def imported_views(imported: Imported) -> Iterator[RenderableType]:
    """A row for each log, then notes on assumptions and on skipped lines, each once."""
    yield column_table(LOG_COLUMNS, imported.logs, rows_max=ROWS_MAX)
    for note in dict.fromkeys(note for log in imported.logs for note in log.notes):
        yield plain_text(note, "dim")
    failed = sum(log.failed for log in imported.logs)
    if failed:
        text = f"{counted(failed, 'job')} failed or did not end: not used for predictions"
        yield plain_text(text, "yellow")
    for log in imported.logs:
        if log.skipped_count and log.is_log:
            yield from _skipped_lines(log)
    others = [PurePath(log.path).name for log in imported.logs if not log.is_log]
    if others:
        more = f" and {count(len(others) - ROWS_MAX)} more" if len(others) > ROWS_MAX else ""
        names = ", ".join(others[:ROWS_MAX])
        yield plain_text(f"not recognised as a log: {names}{more}", "yellow")


def _skipped_lines(log: ImportedLog) -> Iterator[Text]:
    yield plain_text(f"{log.path}: {count(log.skipped_count)} skipped", "yellow")
    for skipped in log.skipped[:SKIPPED_SHOWN]:
        place = f"line {skipped.line}: " if skipped.line else ""
        yield plain_text(f"  {place}{skipped.why}")
    more = log.skipped_count - SKIPPED_SHOWN
    if more > 0:
        yield plain_text(f"  and {count(more)} more", "dim")


def profiles_table(profiles: StoredProfiles) -> Table:
    """One row for each profile, with figures of its newest run."""

    def newest_run(
        fact: Callable[[PastRun], object],
    ) -> Callable[[tuple[int, Sequence[StoredRun]]], object]:
        return lambda row: fact(row[1][-1].run) if row[1] else None

    columns: Sequence[Column[tuple[int, Sequence[StoredRun]]]] = (
        Column("", "runs", count, lambda row: row[0]),
        Column("", "newest run", _day, newest_run(lambda run: run.submitted_at_s), is_left=True),
        Column("", "tasks", count, newest_run(lambda run: sum(one.tasks for one in run.phases))),
        Column("", "input", size, newest_run(lambda run: run.input_bytes)),
        Column("", "took", duration_tight, newest_run(lambda run: run.elapsed_s)),
    )
    newest = {name: (profiles.run_counts[name], runs) for name, runs in profiles.profiles.items()}
    return column_table(columns, newest, key="profile", rows_max=ROWS_MAX)


def runs_table(runs: Sequence[StoredRun], runs_total: int) -> Table:
    """One row for each phase of each run of a profile, the newest runs last."""
    shown = runs[-ROWS_MAX:]
    return plain_table(
        left_out(runs_total - len(shown)),
        names=("run", "phase"),
        numbers=("tasks", "mean", "longest", "input", "shuffled"),
        rows=(cells for stored in shown for cells in _run_rows(stored)),
    )


def _run_rows(stored: StoredRun) -> Iterator[Sequence[Text | NameCell]]:
    run = stored.run
    names: list[Text | NameCell] = [name_cell(run.run_id, "bold" if run.succeeded else "red")]
    if run.name is not None:
        names.append(name_cell(run.name, ""))
    if not run.phases:
        yield (names.pop(0), plain_text("no task succeeded", "red"), *[plain_text("")] * 5)
    shown = distinguished([phase.name for phase in run.phases], _PHASE_LETTERS)
    for position, (phase, short) in enumerate(zip(run.phases, shown, strict=True)):
        shuffled_bytes = phase.shuffle_read_bytes or phase.shuffle_write_bytes
        yield (
            names[position] if position < len(names) else plain_text(""),
            name_cell(phase.name, "", short),
            plain_text(count(phase.tasks)),
            plain_text(duration_tight(phase.avg_s)),
            plain_text(duration_tight(phase.max_s)),
            plain_text(size(phase.input_bytes)),
            plain_text(size(shuffled_bytes)),
        )
    yield from ((name, *[plain_text("")] * 6) for name in names[len(run.phases) :])


def about_profile(runs: Sequence[StoredRun]) -> Iterator[Text]:
    """Machine and slots of the newest run, and notes of the logs."""
    newest = runs[-1].run
    if newest.machine_type is not None:
        yield plain_text(f"on {newest.machine_type}")
    if newest.slots:
        slots = ", ".join(f"{count(number)} {kind}" for kind, number in newest.slots.items())
        yield plain_text(f"slots: {slots}")
    yield from _notes(runs)


def _notes(runs: Iterable[StoredRun]) -> Iterator[Text]:
    for note in dict.fromkeys(note for stored in runs for note in stored.run.notes):
        yield plain_text(note, "dim")


def _day(at_s: float | None) -> str:
    """A date, if the log counts from 1970."""
    if at_s is None or not _EPOCH_S_MIN <= at_s < 2**33:
        return NOTHING
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M}"
