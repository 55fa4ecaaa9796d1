"""Who may use a service over the network: tokens, sessions of browsers, and the record of who did
what.

The database holds no secret: of each token a digest keyed by a file of its own. Unlike everything
else in the folder of a service it cannot be made again. Source: service spec, section 11.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sluice.model.errors import InvalidInput
from sluice.store.database import committed_as, connected, store_errors
from sluice.store.private import open_private_file
from sluice.store.service.documents import DOCUMENTS_SCHEMA, Documents
from sluice.store.service.links import Links
from sluice.store.service.places import ServicePlace

TOKEN_PREFIX = "sl_"  # noqa: S105  # what a log filter looks for
SESSION_S = 12 * 3600.0
AUDIT_S = 400 * 86400.0
_KEY_BYTES = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS tokens (
    token_id INTEGER PRIMARY KEY, name TEXT NOT NULL, tenant TEXT NOT NULL, role TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE, made_at_s REAL NOT NULL, used_at_s REAL, revoked_at_s REAL);
CREATE UNIQUE INDEX IF NOT EXISTS tokens_by_name ON tokens (name) WHERE revoked_at_s IS NULL;
CREATE TABLE IF NOT EXISTS sessions (
    digest BLOB PRIMARY KEY, token_id INTEGER, ends_at_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS audit (
    seq INTEGER PRIMARY KEY, at_s REAL NOT NULL, tenant TEXT NOT NULL, who TEXT NOT NULL,
    via TEXT NOT NULL, action TEXT NOT NULL, result INTEGER NOT NULL, request_id TEXT NOT NULL);
"""
_USED_S = 60.0  # how exactly the last use of a token is known


class Role(StrEnum):
    """The rights of a caller; each role may do all that those before it may."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        """Whether this role may do what the other may."""
        return _RANK[self] >= _RANK[other]


_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks. via: token, session, socket or link.  only_job: all that a link shows."""

    tenant: str
    user: str
    role: Role
    via: str
    only_job: str | None = None

    @property
    def sees_only(self) -> str | None:
        """The tenant whose jobs are visible; None for all."""
        return None if self.role.includes(Role.OPERATOR) else self.tenant


class AccessStore:
    """The tokens of a service. Made with its files if they are missing. Used by one thread."""

    def __init__(self, place: ServicePlace) -> None:
        place.make()
        self._path = place.folder / "access.db"
        self._key = _key(place)
        self._connection = connected(self._path)
        self._connection.text_factory = str
        self._connection.row_factory = sqlite3.Row
        with store_errors(self._path):
            self._connection.executescript(_SCHEMA + DOCUMENTS_SCHEMA)
        self.documents = Documents(self._connection, self._transaction)
        self.links = Links(self._key, self.documents)

    def close(self) -> None:
        """The store is not used any more."""
        self._connection.close()

    # --- tokens -------------------------------------------------------------------------------

    def create(self, name: str, tenant: str, role: str) -> str:
        """A new token, which nothing can show again. Raises InvalidInput."""
        check_name(name, "NAME")
        check_name(tenant, "--tenant")
        if role not in _ROLES:
            raise InvalidInput(
                f"unknown role {role!r:.40}", where="--role", hint=f"use {', '.join(_ROLES)}"
            )
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        row = (name, tenant, role, self._digest(token), time.time())
        with self._transaction() as connection:
            if any(known["name"] == name for known in self.tokens()):
                raise InvalidInput(
                    f"a token {name!r} exists",
                    where="NAME",
                    hint=f"choose another name, or revoke it: sluice serve tokens revoke {name}",
                )
            connection.execute(
                "INSERT INTO tokens (name, tenant, role, digest, made_at_s) VALUES (?, ?, ?, ?, ?)",
                row,
            )
        return token

    def tokens(self) -> list[dict[str, Any]]:
        """All that were not revoked, by name; without their secrets."""
        with store_errors(self._path):
            rows = self._connection.execute(
                "SELECT name, tenant, role, made_at_s, used_at_s FROM tokens"
                " WHERE revoked_at_s IS NULL ORDER BY name"
            )
            return [dict(row) for row in rows]

    def tenants(self) -> list[str]:
        """The tenants that may submit jobs."""
        return sorted({row["tenant"] for row in self.tokens() if row["role"] != Role.VIEWER.value})

    def revoke(self, name: str) -> None:
        """The token and its sessions are worth nothing from now on. Raises InvalidInput."""
        with self._transaction() as connection:
            found = connection.execute(
                "UPDATE tokens SET revoked_at_s = ? WHERE name = ? AND revoked_at_s IS NULL",
                (time.time(), name),
            )
        if not found.rowcount:
            raise InvalidInput(
                f"there is no token {name!r:.60}",
                where="NAME",
                hint="`sluice serve tokens list` lists them",
            )

    def principal_of(self, token: str) -> Principal | None:
        """Whose token it is; None for one that is unknown or revoked."""
        row = self._one(
            "SELECT * FROM tokens WHERE digest = ? AND revoked_at_s IS NULL", self._digest(token)
        )
        if row is None:
            return None
        now_s = time.time()
        if row["used_at_s"] is None or now_s - row["used_at_s"] > _USED_S:
            with self._transaction(is_synced=False) as connection:
                connection.execute(
                    "UPDATE tokens SET used_at_s = ? WHERE token_id = ?", (now_s, row["token_id"])
                )
        return _principal(row, "token")

    def principal_of_link(self, text: str) -> Principal | None:
        """Who comes with a link: a viewer of its job; None for a link that is worth nothing."""
        link = self.links.read(text)
        if link is None:
            return None
        user = f"link of {link.maker}"
        return Principal(
            tenant=link.tenant, user=user, role=Role.VIEWER, via="link", only_job=link.job_id
        )

    # --- sessions of browsers -----------------------------------------------------------------

    def open_session(self, token: str | None) -> str | None:
        """The secret of a new session, for the cookie; None if the token is worth nothing.

        token: None for the account that runs the service, which a login link has proved.
        """
        token_id = None
        if token is not None:
            row = self._one(
                "SELECT token_id FROM tokens WHERE digest = ? AND revoked_at_s IS NULL",
                self._digest(token),
            )
            if row is None:
                return None
            token_id = row["token_id"]
        secret, now_s = secrets.token_urlsafe(32), time.time()
        with self._transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE ends_at_s < ?", (now_s,))
            connection.execute(
                "INSERT INTO sessions (digest, token_id, ends_at_s) VALUES (?, ?, ?)",
                (self._digest(secret), token_id, now_s + SESSION_S),
            )
        return secret

    def session(self, secret: str, owner: Principal) -> Principal | None:
        """Whose session it is; None for one that has ended. owner: of a login link."""
        row = self._one(
            "SELECT s.token_id AS of_token, t.* FROM sessions s LEFT JOIN tokens t USING (token_id)"
            " WHERE s.digest = ? AND s.ends_at_s > ?",
            self._digest(secret),
            time.time(),
        )
        if row is None:
            return None
        if row["of_token"] is None:
            return owner
        return None if row["revoked_at_s"] is not None else _principal(row, "session")

    def close_session(self, secret: str) -> None:
        """The session ends now."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE digest = ?", (self._digest(secret),))

    # --- audit --------------------------------------------------------------------------------

    def note(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the record: tenant, who, via, action, result, request_id.

        No request waits for the disk because of it.
        """
        with self._transaction(is_synced=False) as connection:
            connection.execute(
                "INSERT INTO audit (at_s, tenant, who, via, action, result, request_id)"
                " VALUES (:at_s, :tenant, :who, :via, :action, :result, :request_id)",
                {"at_s": time.time(), **entry},
            )

    def audit(self, before: int | None, limit: int) -> list[dict[str, Any]]:
        """The newest lines of the record, from before this one on."""
        with store_errors(self._path):
            rows = self._connection.execute(
                "SELECT * FROM audit WHERE seq < ? ORDER BY seq DESC LIMIT ?",
                (before if before is not None else 2**62, limit),
            )
            return [dict(row) for row in rows]

    def drop_old(self) -> None:
        """Leave out of the record what is older than 400 days."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM audit WHERE at_s < ?", (time.time() - AUDIT_S,))

    def signature(self, content: bytes) -> str:
        """Return what only this service can have written under these bytes."""
        return hashlib.blake2b(content, key=self._key, digest_size=12, person=b"cursor").hexdigest()

    # --- parts --------------------------------------------------------------------------------

    def _digest(self, secret: str) -> bytes:
        # 256 random bits need no slow hash, which would only help to exhaust the service.
        text = secret.encode("utf-8", "replace")
        return hashlib.blake2b(text, key=self._key, digest_size=32).digest()

    def _one(self, sql: str, *values: object) -> sqlite3.Row | None:
        with store_errors(self._path):
            row: sqlite3.Row | None = self._connection.execute(sql, values).fetchone()
            return row

    @contextmanager
    def _transaction(self, *, is_synced: bool = True) -> Iterator[sqlite3.Connection]:
        with store_errors(self._path), committed_as(self._connection, is_synced=is_synced):
            yield self._connection


_ROLES = tuple(role.value for role in Role)


def _principal(row: sqlite3.Row, via: str) -> Principal:
    return Principal(tenant=row["tenant"], user=row["name"], role=Role(row["role"]), via=via)


def check_name(name: str, where: str) -> None:
    """Raise InvalidInput for what cannot name a token, a tenant or a template."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name[:40]!r} cannot be a name",
            where=where,
            hint="use 1 to 64 letters, digits and . _ @ -, the first of them a letter or digit",
        )


def _key(place: ServicePlace) -> bytes:
    """The key of the digests, made at the first use."""
    path = place.folder / "service.key"
    with store_errors(path):
        descriptor = open_private_file(path, os.O_RDWR)
        with os.fdopen(descriptor, "r+b") as file:
            os.lockf(file.fileno(), os.F_LOCK, 0)
            found = file.read()
            if len(found) != _KEY_BYTES:
                found = secrets.token_bytes(_KEY_BYTES)
                file.seek(0)
                file.write(found)
                file.truncate()  # else a file that was too long gets another key each time
                file.flush()
                os.fsync(file.fileno())
            return found
