"""Names of applications, and profiles that were renamed or merged."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"


def upgrade() -> None:
    """Add the column of names and the table of aliases."""
    op.add_column("sluice_runs", sa.Column("name", sa.Text))
    op.create_table(
        "sluice_aliases",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("profile", sa.Text, nullable=False),
    )
