"""Reading runs, in an order that does not depend on the order in which they were added."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import orjson
from sqlalchemy import ColumnElement, Connection, FromClause, RowMapping, Select, func, select, true

from sluice.store.profiles.rows import Row, StoredRun, stored_run, stored_summary
from sluice.store.profiles.tables import PHASES, RUNS

# Of which rows are in memory: a run may have 1.5 MB of tasks, and a statement few values.
RUNS_AT_ONCE = 100
_NAMES_AT_ONCE = 500

One = TypeVar("One")
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


def run_counts(connection: Connection, profiles: Collection[str] | None = None) -> dict[str, int]:
    """The number of runs of each of these profiles, or of all, by name, sorted."""
    query = select(RUNS.c.profile, func.count()).group_by(RUNS.c.profile)
    return dict(
        sorted(
            (name, runs)
            for wanted in _named(profiles)
            for name, runs in connection.execute(query.where(wanted))
        )
    )


def fullest_profiles(connection: Connection, limit: int) -> list[str]:
    """The names of the profiles with most runs; of equals, the first by name.

    The database counts: with 100,000 profiles, their names alone cost 0.3 s to read.
    """
    # Sorted as Python sorts text; SQLite does so anyway.
    by_name = RUNS.c.profile.collate("C") if _is_server(connection) else RUNS.c.profile
    query = select(RUNS.c.profile).group_by(RUNS.c.profile)
    return list(
        connection.execute(query.order_by(func.count().desc(), by_name).limit(limit)).scalars()
    )


def _is_server(connection: Connection) -> bool:
    return connection.dialect.name != "sqlite"


def _named(profiles: Collection[str] | None) -> Iterator[ColumnElement[bool]]:
    """Conditions for these profiles, or all; a statement takes a limited number of values."""
    if profiles is None:
        yield true()
    else:
        yield from (RUNS.c.profile.in_(some) for some in _pieces(list(profiles), _NAMES_AT_ONCE))


def _pieces(values: Sequence[One], most: int) -> Iterator[Sequence[One]]:
    return (values[start : start + most] for start in range(0, len(values), most))


def stored_runs(connection: Connection, profile: str | None = None) -> list[StoredRun]:
    """The runs of one profile, or of all, oldest first.

    Sorted by submission, with those without one first; then by source and id. Raises ValueError
    if a row is damaged.
    """
    wanted = true() if profile is None else RUNS.c.profile == profile
    found = _matching(connection, wanted)
    return sorted(found, key=_age)


def each_summary(connection: Connection, profile: str | None = None) -> Iterator[StoredRun]:
    """The runs of one profile, or of all by name, oldest first, without their single tasks.

    A store may have more runs than fit into memory: a few are read at a time. Only the keys of one
    profile, or of a few that are small, are held at once.
    """
    for names in _together(run_counts(connection, None if profile is None else [profile])):
        columns = (RUNS.c.profile, RUNS.c.submitted_at_s, RUNS.c.source, RUNS.c.run_id, RUNS.c.id)
        keys = connection.execute(select(*columns).where(RUNS.c.profile.in_(names)))
        found = sorted(
            (name, at_s is not None, at_s or 0.0, source, run_id, row)
            for name, at_s, source, run_id, row in keys
        )
        yield from _each(connection, [key[-1] for key in found], stored_summary)


def _together(runs: Mapping[str, int]) -> Iterator[list[str]]:
    """The names in groups with few runs; a profile with many is alone. runs: of each, by name."""
    group: list[str] = []
    room = RUNS_AT_ONCE
    for name, number in runs.items():
        if group and number > room:
            yield group
            group, room = [], RUNS_AT_ONCE
        group.append(name)
        room -= number
    if group:
        yield group


def _each(connection: Connection, numbers: Sequence[int], made_of: MadeOf) -> Iterator[StoredRun]:
    """The runs with these numbers, in their order; the rows of a few are in memory at once."""
    for some in _pieces(numbers, RUNS_AT_ONCE):
        rows = {each.run["id"]: each for each in matching_rows(connection, RUNS.c.id.in_(some))}
        yield from (made_of(*rows[number]) for number in some)


def newest_of_each(
    connection: Connection,
    limit: int,
    profiles: Collection[str] | None = None,
    made_of: MadeOf = stored_run,
) -> list[StoredRun]:
    """The last runs of each of these profiles, or of all, oldest first.

    made_of: `stored_summary` leaves out their single tasks.
    """
    newest = [
        row.id
        for wanted in _named(profiles)
        for row in connection.execute(_newest_ids(limit, wanted, of_runs=lambda _: true()))
    ]
    return sorted(_each(connection, newest, made_of), key=_age)


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
    last = _newest(select(RUNS.c.id), profile, limit)
    return sorted(_matching(connection, RUNS.c.id.in_(last)), key=_age, reverse=True)


def newest_digests(connection: Connection, profile: str, limit: int) -> tuple[str, ...]:
    """The digests of the last runs of a profile that succeeded, newest first."""
    rows = connection.execute(_newest(select(RUNS.c.digest), profile, limit))
    return tuple(str(digest) for (digest,) in rows)


def _newest(wanted: Select[tuple[One]], profile: str, limit: int) -> Select[tuple[One]]:
    return (
        wanted.where((RUNS.c.profile == profile) & RUNS.c.succeeded)
        .order_by(RUNS.c.submitted_at_s.desc().nulls_last(), RUNS.c.id.desc())
        .limit(limit)
    )


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
