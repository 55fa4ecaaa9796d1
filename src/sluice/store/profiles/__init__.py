"""The profile store: measurements of past runs, from which the next runs are predicted.

Theory of operation. A run is one row, and each of its phases is a row. The tasks of a phase are
packed into one value, unless there are too many. A run is written with its phases in one
transaction, so after a crash it is in the store as a whole or not at all.

There is one writer at a time: SQLite works this way, and PostgreSQL gets an advisory lock. So no
other process can write between the question whether a run is known and its insertion. A run is
identified by the kind of its job and its id. If it is added again unchanged, nothing happens. If it
differs, the more complete record stays. So a log may be read twice, by two processes at once, or
while its job still runs.

Files: `address` (where the store is), `database` (connections and their errors), `schema`,
`tables` and `migrations` (its tables), `rows` (runs as rows), `reading`, `writing`, `retention`
and `names` (the statements), `repository` (the class for users).

Nothing is deleted unless the user asks for it.
"""

from __future__ import annotations

from sluice.store.profiles.repository import Profiles
from sluice.store.profiles.retention import Forgotten
from sluice.store.profiles.rows import StoredRun
from sluice.store.profiles.writing import Added

__all__ = ["Added", "Forgotten", "Profiles", "StoredRun"]
