"""The options of commands that take a table in place of a workload file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sluice.api.options.fields import count, option
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.api.tables import TableOptions

_PANEL = "Tables"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tables:
    """Options that say what is in a table."""

    map: Sequence[str] = option(
        "The column of a table that holds a key: tasks=n_tasks.",
        (), metavar="KEY=COLUMN", panel=_PANEL,
    )  # fmt: skip
    containers: int | None = count(
        "Slots of the cluster for a table.", low=1, high=10**7, panel=_PANEL
    )

    def is_given(self) -> bool:
        """Whether any of them is given."""
        return bool(self.map) or self.containers is not None

    def columns(self) -> TableOptions:
        """Return what the options say. Raises InvalidInput for one that is not KEY=COLUMN."""
        from sluice.api.tables import TableOptions

        columns: dict[str, str] = {}
        for text in self.map:
            key, equals, header = text.partition("=")
            if not equals or not key.strip() or not header.strip():
                raise InvalidInput(
                    f"{text[:60]!r} is not KEY=COLUMN",
                    where="--map",
                    hint="write --map tasks=n_tasks",
                )
            columns[key.strip()] = header.strip()
        return TableOptions(columns=columns, containers=self.containers)

    def without_map(self) -> Tables:
        """The options for a command that means queues by `--map`."""
        return replace(self, map=())

    def check_unused(self) -> None:
        """Refuse the options where FILE is not a table. Raises InvalidInput."""
        for name, value in (("--map", self.map), ("--containers", self.containers)):
            if value:
                raise InvalidInput(
                    "it is for tables, and FILE is none", where=name, hint="leave it out"
                )
