"""The documents that admins write for a service: quotas of tenants, templates of jobs,
configurations of queues.

A document has a name within its kind, and a version for each time that it was written. None of it
can be made again from anything else.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sluice.model.errors import InvalidInput

DOCUMENTS_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    kind TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, author TEXT NOT NULL,
    made_at_s REAL NOT NULL, content TEXT, PRIMARY KEY (kind, name, version));
"""
VERSION = "If-Match"  # where a refusal says that another version came first


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One version. content: its JSON values.  made_at_s: seconds since 1970."""

    name: str
    version: int
    author: str
    made_at_s: float
    content: Mapping[str, Any]


class Documents:
    """The documents in the database of a service; used by the thread of its `AccessStore`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        transaction: Callable[[], AbstractContextManager[sqlite3.Connection]],
    ) -> None:
        self._connection = connection
        self._transaction = transaction

    def write(
        self,
        kind: str,
        name: str,
        content: Mapping[str, Any] | None,
        author: str,
        after: int | None = None,
    ) -> Document:
        """A new version, with the next number from 1. content: None removes the document.

        after: the version that the author has seen, 0 for none; None if that does not matter.
        Raises InvalidInput if another one came first.
        """
        text = None if content is None else json.dumps(content, sort_keys=True)
        with self._transaction() as connection:
            (last,) = connection.execute(
                "SELECT coalesce(max(version), 0) FROM documents WHERE kind = ? AND name = ?",
                (kind, name),
            ).fetchone()
            if after is not None and after != last:
                raise InvalidInput(
                    f"version {last} of {name!r:.60} is the newest, and not {after}",
                    where=VERSION,
                    hint="look at it again",
                )
            made = Document(
                name=name, version=last + 1, author=author, made_at_s=time.time(),
                content=content or {},
            )  # fmt: skip
            connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)",
                (kind, name, made.version, author, made.made_at_s, text),
            )
        return made

    def find(self, kind: str, name: str, version: int | None = None) -> Document | None:
        """A version, by default the newest; None if there is none, or if it was removed."""
        found = [one for one in self.versions(kind, name) if version in {None, one.version}]
        return found[-1] if found else None

    def versions(self, kind: str, name: str) -> list[Document]:
        """All versions since it was last removed, the oldest first."""
        rows = self._connection.execute(
            "SELECT * FROM documents WHERE kind = ? AND name = ? ORDER BY version", (kind, name)
        ).fetchall()
        gone = max((row["version"] for row in rows if row["content"] is None), default=0)
        return [_document(row) for row in rows if row["version"] > gone]

    def newest(self, kind: str) -> list[Document]:
        """The newest version of each document of a kind, by name."""
        rows = self._connection.execute(
            "SELECT name, max(version) AS version, author, made_at_s, content FROM documents"
            " WHERE kind = ? GROUP BY name ORDER BY name",
            (kind,),
        ).fetchall()
        return [_document(row) for row in rows if row["content"] is not None]


def _document(row: sqlite3.Row) -> Document:
    return Document(
        name=row["name"],
        version=row["version"],
        author=row["author"],
        made_at_s=row["made_at_s"],
        content=json.loads(row["content"]),
    )
