"""Members of a group that shares a capacity, as `sluice share` reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.model.ids import checked_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member that paid for a share. demands: new units of each step, 0 or more.

    Source: ltyarn spec, section 2.
    """

    member_id: str
    weight: float = 1.0
    demands: tuple[float, ...]

    def __post_init__(self) -> None:
        where = f"member {self.member_id!r}"
        checked_id(self.member_id, what="member")
        if not 0 < self.weight < math.inf:
            raise InvalidInput(
                f"weight is {self.weight}", where=where, hint="give a finite number above 0"
            )
        for step, units in enumerate(self.demands):
            if not 0 <= units < math.inf:
                raise InvalidInput(
                    f"demands[{step}] is {units}",
                    where=where,
                    hint="give a finite number of at least 0",
                )
