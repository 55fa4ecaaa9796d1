"""The costs of the tasks of a phase apart from their own work."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"


def upgrade() -> None:
    """Add the column of costs."""
    op.add_column("sluice_phases", sa.Column("costs", sa.Text))
