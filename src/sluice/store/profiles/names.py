"""Names of profiles: other names for them, and moving runs from one profile to another.

A profile that was renamed or merged stays known by its old names. So the next run under an old
name joins the others, and a workload that uses the old name finds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, insert, select, update

from sluice.store.profiles.reading import matching_rows
from sluice.store.profiles.rows import digest_of
from sluice.store.profiles.tables import ALIASES, RUNS


def aliases(connection: Connection) -> Mapping[str, str]:
    """The profile of each old name."""
    return {row.name: row.profile for row in connection.execute(select(ALIASES))}


def profile_named(connection: Connection, name: str) -> str | None:
    """The profile with this name, with this old name, or with a run of this name or id.

    None if there is none, or if runs of several profiles have the name.
    """
    columns = select(RUNS.c.profile).distinct()
    if connection.execute(columns.where(RUNS.c.profile == name).limit(1)).first():
        return name
    renamed = connection.execute(select(ALIASES.c.profile).where(ALIASES.c.name == name)).scalar()
    if renamed is not None:
        return str(renamed)
    wanted = (RUNS.c.name == name) | (RUNS.c.run_id == name)
    found = connection.execute(columns.where(wanted).limit(2)).scalars().all()
    return str(found[0]) if len(found) == 1 else None


def move_runs(connection: Connection, names: Iterable[str], profile: str) -> int:
    """Move all runs of these profiles to another; returns how many runs were moved."""
    moved = 0
    for name in names:
        for run, phases in matching_rows(connection, RUNS.c.profile == name):
            own = run["name"] or name
            values = {"profile": profile, "name": None if own == profile else own}
            values["digest"] = digest_of(run | values, phases)
            connection.execute(update(RUNS).where(RUNS.c.id == run["id"]).values(**values))
            moved += 1
        _add_alias(connection, name, profile)
    return moved


def _add_alias(connection: Connection, name: str, profile: str) -> None:
    """Make `name` an old name of the profile, and so all old names of `name`."""
    connection.execute(update(ALIASES).where(ALIASES.c.profile == name).values(profile=profile))
    connection.execute(delete(ALIASES).where(ALIASES.c.name.in_([name, profile])))
    connection.execute(insert(ALIASES).values(name=name, profile=profile))


def drop_aliases(connection: Connection, profile: str) -> None:
    """Drop the old names of a profile."""
    connection.execute(delete(ALIASES).where(ALIASES.c.profile == profile))
