"""Indexes, so that a store of a hundred thousand runs need not be read as a whole."""

from __future__ import annotations

from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"


def upgrade() -> None:
    """Add the indexes by age, name and id. The first one replaces that by profile."""
    op.create_index("sluice_runs_by_age", "sluice_runs", ["profile", "submitted_at_s", "id"])
    op.create_index("sluice_runs_by_name", "sluice_runs", ["name"])
    op.create_index("sluice_runs_by_run_id", "sluice_runs", ["run_id"])
    op.drop_index("ix_sluice_runs_profile", "sluice_runs")
