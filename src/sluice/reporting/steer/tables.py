"""The tables of `steer`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sluice.reporting.columns import column_table
from sluice.reporting.formatting import shortened
from sluice.reporting.steer.result import VALUE_COLUMNS, SteeringResult

if TYPE_CHECKING:
    from rich.table import Table

_BODY_LETTERS_MAX = 200


def steering_table(result: SteeringResult) -> Table:
    """One row for each value that differed from the plan."""
    has_now = not result.is_dry_run
    return column_table(
        [one for one in VALUE_COLUMNS if has_now or one.name != "after"], result.values
    )


def call_lines(result: SteeringResult) -> list[str]:
    """The calls of a dry run, one to a line."""
    return [
        f"{one.method} {one.path} {shortened(json.dumps(one.body), _BODY_LETTERS_MAX)}"
        for one in result.calls
    ]
