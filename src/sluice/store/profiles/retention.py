"""Deletes runs, and returns which runs were deleted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, select, true

from sluice.store.profiles.tables import RUNS
from sluice.store.profiles.writing import drop


class Forgotten(NamedTuple):
    """A run that was deleted."""

    profile: str
    source: str
    run_id: str


def forget_but_newest(
    connection: Connection, runs_kept: int, profile: str | None
) -> list[Forgotten]:
    """Keep the newest runs of the profile, or of each; the order is that of reading."""
    by_profile: dict[str, list[RowMapping]] = {}
    for row in _rows(connection, profile):
        by_profile.setdefault(row["profile"], []).append(row)
    return _forget(
        connection,
        [row for rows in by_profile.values() for row in rows[: max(0, len(rows) - runs_kept)]],
    )


def forget_learned_before(
    connection: Connection, at_s: float, profile: str | None
) -> list[Forgotten]:
    """Delete the runs that were learned before an instant of the wall clock."""
    rows = _rows(connection, profile)
    return _forget(connection, [row for row in rows if row["learned_at_s"] < at_s])


def forget_runs(
    connection: Connection, profile: str, run_ids: Iterable[str] | None
) -> list[Forgotten]:
    """Delete runs of a profile by their ids; None for all of them."""
    wanted = None if run_ids is None else set(run_ids)
    rows = _rows(connection, profile)
    return _forget(connection, [row for row in rows if wanted is None or row["run_id"] in wanted])


def _rows(connection: Connection, profile: str | None) -> list[RowMapping]:
    """Identity and age of the runs of the profile, or of all, oldest first."""
    wanted = true() if profile is None else RUNS.c.profile == profile
    columns = ("id", "profile", "source", "run_id", "submitted_at_s", "learned_at_s")
    query = select(*(RUNS.c[name] for name in columns)).where(wanted)
    return sorted(connection.execute(query).mappings(), key=_age)


def _age(row: RowMapping) -> tuple[str, bool, float, str, str]:
    submitted_at_s = row["submitted_at_s"]
    is_known = submitted_at_s is not None
    return row["profile"], is_known, submitted_at_s or 0.0, row["source"], row["run_id"]


def _forget(connection: Connection, rows: Iterable[RowMapping]) -> list[Forgotten]:
    gone = list(rows)
    drop(connection, [row["id"] for row in gone])
    return [Forgotten(row["profile"], row["source"], row["run_id"]) for row in gone]
