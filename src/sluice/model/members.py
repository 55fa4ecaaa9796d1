"""Members of a group that shares a capacity, as `sluice share` reads them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.model.described import in_file
from sluice.model.errors import InvalidInput
from sluice.model.ids import checked_id
from sluice.model.number_checks import check_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member that paid for a share. demands: new units, or tasks, of each step, 0 or more.

    task: what one task takes of each resource, where several are shared; empty with one.
    Source: ltyarn spec, sections 2 and 8.5.
    """

    member_id: str
    weight: float = in_file("a relative share", 1.0, above_zero=True)
    demands: tuple[float, ...]
    task: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"member {self.member_id!r}"
        checked_id(self.member_id, what="member")
        check_numbers(self, where)
        for step, units in enumerate(self.demands):
            if not 0 <= units < math.inf:
                raise InvalidInput(
                    f"demands[{step}] is {units}",
                    where=where,
                    hint="give a finite number of at least 0",
                )
        for name, amount in self.task.items():
            if not 0 <= amount < math.inf:
                raise InvalidInput(
                    f"task.{name} is {amount}", where=where, hint="give a finite number, 0 or more"
                )
        if self.task and not any(self.task.values()):
            raise InvalidInput(
                "task takes nothing", where=where, hint="give an amount above 0 of a resource"
            )
