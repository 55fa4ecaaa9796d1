"""The tables of the profile store as this release reads and writes them.

The `migrations` make them; a test checks that both agree. Lists and mappings are JSON in text,
written the same way on every database, so that digests agree. All names begin with `sluice_`,
because a PostgreSQL database may have other tables.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

RUNS = Table(
    "sluice_runs",
    METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("source", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("profile", Text, nullable=False),
    Column("succeeded", Boolean, nullable=False),
    Column("submitted_at_s", Double),
    Column("elapsed_s", Double),
    Column("queue", Text),
    Column("machine_type", Text),
    Column("slots", Text, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("tasks_told", BigInteger, nullable=False),  # successful and failed, over all phases
    Column("facts_told", BigInteger, nullable=False),  # the number of other known facts
    Column("digest", Text, nullable=False),  # over the row, its phases and their tasks
    Column("log_digest", Text),  # of the log that it comes from
    Column("learned_at_s", Double, nullable=False),  # wall clock, seconds since 1970
    Column("name", Text),  # of the job or application, where the profile has another name
    UniqueConstraint("source", "run_id", name="sluice_runs_known_by"),
    Index("sluice_runs_by_age", "profile", "submitted_at_s", "id"),
    Index("sluice_runs_by_name", "name"),
    Index("sluice_runs_by_run_id", "run_id"),
)

# Names of profiles that were renamed or merged, and the profiles that have their runs now.
ALIASES = Table(
    "sluice_aliases",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("profile", Text, nullable=False),
)

PHASES = Table(
    "sluice_phases",
    METADATA,
    Column("run", BigInteger, ForeignKey("sluice_runs.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("tasks", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("avg_s", Double, nullable=False),
    Column("max_s", Double, nullable=False),
    Column("input_bytes", BigInteger, nullable=False),
    Column("output_bytes", BigInteger, nullable=False),
    Column("shuffle_read_bytes", BigInteger, nullable=False),
    Column("shuffle_write_bytes", BigInteger, nullable=False),
    Column("input_records", BigInteger, nullable=False),
    Column("output_records", BigInteger, nullable=False),
    Column("cpu_s", Double),
    Column("rss_bytes_max", BigInteger),
    Column("after", Text, nullable=False),
    Column("lengths", Text),  # statistics over the single tasks in the log
    Column("timeline", LargeBinary),  # those tasks, packed; NULL if there are too many
    Column("costs", Text),  # what they spent besides their work, as JSON; NULL if not in the log
)
