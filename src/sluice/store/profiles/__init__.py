"""The profile store: what every run of a job took, kept so that the next one can be foretold.

Theory of operation. A run is one row, its phases are rows below it, and the tasks of a phase are
packed into one more, where there are not too many. Rows are only ever written whole: a run with all
that hangs on it in one transaction, so that a crash leaves it there or not, and never half of it.

Writers come one at a time (SQLite has it so, PostgreSQL is asked for it by a lock of its own), so
that "is it known?" and "then add it" cannot be torn apart by another. A run is known by its source
and its id in that source. If it is added again unchanged, nothing happens; if it differs, the
version with more content stays. So a log may be read twice, by two at once, or first cut short.

Nothing is dropped unless it is asked for.
"""

from __future__ import annotations

from sluice.store.profiles.repository import Profiles
from sluice.store.profiles.retention import Forgotten
from sluice.store.profiles.rows import StoredRun
from sluice.store.profiles.writing import Added

__all__ = ["Added", "Forgotten", "Profiles", "StoredRun"]
