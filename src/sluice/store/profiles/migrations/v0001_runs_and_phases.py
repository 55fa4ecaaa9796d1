"""Runs and their phases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None


def upgrade() -> None:
    """Make the tables of the first version."""
    op.create_table(
        "sluice_runs",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("profile", sa.Text, nullable=False),
        sa.Column("succeeded", sa.Boolean, nullable=False),
        sa.Column("submitted_at_s", sa.Double),
        sa.Column("elapsed_s", sa.Double),
        sa.Column("queue", sa.Text),
        sa.Column("machine_type", sa.Text),
        sa.Column("slots", sa.Text, nullable=False),
        sa.Column("configuration", sa.Text, nullable=False),
        sa.Column("notes", sa.Text, nullable=False),
        sa.Column("tasks_told", sa.BigInteger, nullable=False),
        sa.Column("facts_told", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("log_digest", sa.Text),
        sa.Column("learned_at_s", sa.Double, nullable=False),
        sa.UniqueConstraint("source", "run_id", name="sluice_runs_known_by"),
    )
    op.create_index("ix_sluice_runs_profile", "sluice_runs", ["profile"])
    op.create_table(
        "sluice_phases",
        sa.Column("run", sa.BigInteger, sa.ForeignKey("sluice_runs.id", ondelete="CASCADE")),
        sa.Column("position", sa.Integer, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("tasks", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("avg_s", sa.Double, nullable=False),
        sa.Column("max_s", sa.Double, nullable=False),
        sa.Column("input_bytes", sa.BigInteger, nullable=False),
        sa.Column("output_bytes", sa.BigInteger, nullable=False),
        sa.Column("shuffle_read_bytes", sa.BigInteger, nullable=False),
        sa.Column("shuffle_write_bytes", sa.BigInteger, nullable=False),
        sa.Column("input_records", sa.BigInteger, nullable=False),
        sa.Column("output_records", sa.BigInteger, nullable=False),
        sa.Column("cpu_s", sa.Double),
        sa.Column("rss_bytes_max", sa.BigInteger),
        sa.Column("after", sa.Text, nullable=False),
        sa.Column("lengths", sa.Text),
        sa.Column("timeline", sa.LargeBinary),
        sa.PrimaryKeyConstraint("run", "position"),
    )
