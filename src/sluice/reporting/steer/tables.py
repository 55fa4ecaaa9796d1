"""The tables of `steer`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sluice.reporting.formatting import NOTHING, shortened
from sluice.reporting.steer.result import SteeringResult
from sluice.reporting.table_style import NAME_LETTERS_MAX, plain_table, plain_text

if TYPE_CHECKING:
    from rich.table import Table

_BODY_LETTERS_MAX = 200


def steering_table(result: SteeringResult) -> Table:
    """One row for each value that differed from the plan."""
    last = () if result.is_dry_run else ("now",)
    table = plain_table("", names=("of", "value", "before", "wanted", *last))
    for one in result.values:
        row = [one.before or NOTHING, one.wanted or NOTHING]
        if not result.is_dry_run:
            row.append(NOTHING if one.after is None else one.after or NOTHING)
        table.add_row(
            plain_text(shortened(one.target, NAME_LETTERS_MAX), "bold"), one.setting, *row
        )
    return table


def call_lines(result: SteeringResult) -> list[str]:
    """The calls of a dry run, one to a line."""
    return [
        f"{one.method} {one.path} {shortened(json.dumps(one.body), _BODY_LETTERS_MAX)}"
        for one in result.calls
    ]
