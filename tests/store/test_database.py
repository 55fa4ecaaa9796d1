"""How what is committed reaches the disk."""

from __future__ import annotations

import sqlite3

import pytest

from sluice.store.database import committed_as

NORMAL, FULL = 1, 2  # of SQLite's `synchronous`


@pytest.mark.parametrize(("is_synced", "level"), [(True, FULL), (False, NORMAL)])
def test_a_commit_is_synced_as_it_was_asked_for(tmp_path, is_synced, level):
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")

    def found():
        return connection.execute("PRAGMA synchronous").fetchone()[0]

    with committed_as(connection, is_synced=is_synced):
        assert found() == level
    assert found() == FULL
