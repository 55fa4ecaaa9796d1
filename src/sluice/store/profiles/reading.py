"""Reading runs, in an order that does not depend on the order in which they were added."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, FromClause, RowMapping, Select, func, select, true

from sluice.store.profiles.rows import Row, StoredRun, stored_run
from sluice.store.profiles.tables import PHASES, RUNS

RUNS_AT_ONCE = 500

MadeOf = Callable[[Row, Sequence[Row]], StoredRun]


def profile_names(connection: Connection) -> list[str]:
    """Names of all profiles, sorted as Python sorts text, whatever the database's language."""
    return sorted(connection.execute(select(RUNS.c.profile).distinct()).scalars())


def run_ids(connection: Connection, source: str) -> set[str]:
    """The ids of all runs from logs of a format."""
    return set(connection.execute(select(RUNS.c.run_id).where(RUNS.c.source == source)).scalars())


def run_ids_of(connection: Connection, profile: str) -> set[str]:
    """The ids of the runs of a profile."""
    return set(connection.execute(select(RUNS.c.run_id).where(RUNS.c.profile == profile)).scalars())


def run_counts(connection: Connection) -> dict[str, int]:
    """The number of runs of each profile, by name, sorted."""
    query = select(RUNS.c.profile, func.count()).group_by(RUNS.c.profile)
    return dict(sorted((name, runs) for name, runs in connection.execute(query)))


def stored_runs(connection: Connection, profile: str | None = None) -> list[StoredRun]:
    """The runs of one profile, or of all, oldest first.

    Sorted by submission, with those without one first; then by source and id. Raises ValueError
    if a row is damaged.
    """
    wanted = true() if profile is None else RUNS.c.profile == profile
    found = _matching(connection, wanted)
    return sorted(found, key=_age)


def each_stored_run(connection: Connection, profile: str | None = None) -> Iterator[StoredRun]:
    """The runs of one profile, or of all by name, oldest first, read a chunk at a time.

    A store may have more runs than fit into memory; only the keys of one profile are held at once.
    """
    for name in profile_names(connection) if profile is None else [profile]:
        keys = select(RUNS.c.id, RUNS.c.submitted_at_s, RUNS.c.source, RUNS.c.run_id)
        found = sorted(
            (at_s is not None, at_s or 0.0, source, run_id, row)
            for row, at_s, source, run_id in connection.execute(keys.where(RUNS.c.profile == name))
        )
        for start in range(0, len(found), RUNS_AT_ONCE):
            rows = [key[-1] for key in found[start : start + RUNS_AT_ONCE]]
            yield from sorted(_matching(connection, RUNS.c.id.in_(rows)), key=_age)


def newest_of_each(
    connection: Connection,
    limit: int,
    profiles: Collection[str] | None = None,
    made_of: MadeOf = stored_run,
) -> list[StoredRun]:
    """The last runs of each of these profiles, or of all, oldest first.

    made_of: `stored_summary` leaves out their single tasks.
    """
    wanted = true() if profiles is None else RUNS.c.profile.in_(list(profiles))
    newest = _newest_ids(limit, wanted, of_runs=lambda _: true())
    found = matching_rows(connection, RUNS.c.id.in_(newest))
    return sorted((made_of(run, phases) for run, phases in found), key=_age)


def steady_slots(
    connection: Connection, limit: int, profiles: Collection[str]
) -> dict[str, dict[str, int]]:
    """The slots of those profiles whose last successful runs had the same slots, tasks and input.

    The values are compared in the database, so neither runs nor tasks are unpacked.
    """
    wanted = RUNS.c.profile.in_(list(profiles))
    newest = _newest_ids(limit, wanted, of_runs=lambda runs: runs.c.succeeded)
    alike = (RUNS.c.profile, PHASES.c.position, RUNS.c.slots, RUNS.c.tasks_told)
    phase = (PHASES.c.name, PHASES.c.kind, PHASES.c.tasks, PHASES.c.input_bytes)
    query = select(*alike, *phase).distinct().join(PHASES, PHASES.c.run == RUNS.c.id)
    rows = connection.execute(query.where(RUNS.c.id.in_(newest))).all()
    settings = Counter((row.profile, row.position) for row in rows)
    several = {profile for (profile, _), number in settings.items() if number > 1}
    return {row.profile: orjson.loads(row.slots) for row in rows if row.profile not in several}


def newest_timelines(
    connection: Connection, limit: int, profile: str
) -> Iterator[tuple[int, bytes | None]]:
    """The place and the packed tasks of each phase of the last successful runs."""
    newest = _newest_ids(limit, RUNS.c.profile == profile, of_runs=lambda runs: runs.c.succeeded)
    query = select(PHASES.c.position, PHASES.c.timeline).join(RUNS, PHASES.c.run == RUNS.c.id)
    for row in connection.execute(query.where(RUNS.c.id.in_(newest))):
        yield row.position, row.timeline


def _newest_ids(
    limit: int, wanted: ColumnElement[bool], *, of_runs: Callable[[FromClause], ColumnElement[bool]]
) -> Select[tuple[int]]:
    """The numbers of the last runs of each profile. of_runs: which of its runs count."""
    each = select(RUNS.c.profile).distinct().where(wanted).subquery()
    of_profile = RUNS.alias()
    # The index has the runs of a profile by age: no other run is read, however many there are.
    last = (
        select(of_profile.c.id)
        .where((of_profile.c.profile == each.c.profile) & of_runs(of_profile))
        .order_by(of_profile.c.submitted_at_s.desc().nulls_last(), of_profile.c.id.desc())
        .limit(limit)
        .correlate(each)
    )
    return select(RUNS.c.id).join(each, RUNS.c.id.in_(last))


def runs_called(connection: Connection, name: str) -> list[StoredRun]:
    """The runs with this id, with an id that begins with it and a slash, or of a job so named."""
    # Not LIKE, which takes capitals for small letters in SQLite.
    begins = func.substr(RUNS.c.run_id, 1, len(name) + 1) == f"{name}/"
    wanted = (RUNS.c.run_id == name) | begins | (RUNS.c.name == name)
    return sorted(_matching(connection, wanted), key=_age)


def newest_runs(connection: Connection, profile: str, limit: int) -> list[StoredRun]:
    """The last runs of a profile that succeeded, newest first."""
    succeeded = (RUNS.c.profile == profile) & RUNS.c.succeeded
    last = (
        select(RUNS.c.id)
        .where(succeeded)
        .order_by(RUNS.c.submitted_at_s.desc().nulls_last(), RUNS.c.id.desc())
        .limit(limit)
    )
    return sorted(_matching(connection, RUNS.c.id.in_(last)), key=_age, reverse=True)


def _age(stored: StoredRun) -> tuple[bool, float, str, str]:
    run = stored.run
    is_known = run.submitted_at_s is not None
    return is_known, run.submitted_at_s or 0.0, run.source, run.run_id


class RunRows(NamedTuple):
    """The row of a run, and the rows of its phases in their order."""

    run: Row
    phases: list[Row]


def matching_rows(connection: Connection, wanted: ColumnElement[bool]) -> list[RunRows]:
    """The rows of all runs that match."""
    runs = [_row(row) for row in connection.execute(RUNS.select().where(wanted)).mappings()]
    numbers = select(RUNS.c.id).where(wanted)
    phases: dict[int, list[Row]] = defaultdict(list)
    query = PHASES.select().where(PHASES.c.run.in_(numbers)).order_by(PHASES.c.position)
    for row in connection.execute(query).mappings():
        phases[row["run"]].append(_row(row))
    return [RunRows(run, phases[run["id"]]) for run in runs]


def _matching(connection: Connection, wanted: ColumnElement[bool]) -> list[StoredRun]:
    return [stored_run(run, phases) for run, phases in matching_rows(connection, wanted)]


def _row(row: RowMapping) -> Row:
    # The names that SQLAlchemy gives are a subclass of str.
    return {str(name): value for name, value in row.items()}
