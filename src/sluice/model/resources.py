"""Resource vectors: the capacity of a node and the demand of a task, in the same units."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from sluice.model.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Amounts of cpu, io, memory and network, in percent of a reference node or another unit.

    All amounts are finite and at least 0. Source: RAS, spec section 3 (`cap`, `Gamma`).

    >>> Resources(cpu=30, io=45) + Resources(cpu=25, memory=10)
    Resources(cpu=55, io=45.0, memory=10.0, network=0.0)
    """

    cpu: float = 0.0
    io: float = 0.0
    memory: float = 0.0
    network: float = 0.0

    def __post_init__(self) -> None:
        for name in RESOURCE_NAMES:
            amount = getattr(self, name)
            if not 0 <= amount < math.inf:
                raise InvalidInput(
                    f"{name} is {amount}", where=name, hint="give a finite number of at least 0"
                )

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            cpu=self.cpu + other.cpu,
            io=self.io + other.io,
            memory=self.memory + other.memory,
            network=self.network + other.network,
        )

    def scaled(self, factor: float) -> Resources:
        """Return every amount times `factor` (at least 0)."""
        return Resources(
            cpu=self.cpu * factor,
            io=self.io * factor,
            memory=self.memory * factor,
            network=self.network * factor,
        )

    def amounts(self) -> tuple[float, ...]:
        """Return the amounts in the order of RESOURCE_NAMES."""
        return (self.cpu, self.io, self.memory, self.network)

    @property
    def is_zero(self) -> bool:
        """Whether all amounts are 0."""
        return not any(self.amounts())


RESOURCE_NAMES: tuple[str, ...] = ("cpu", "io", "memory", "network")
NOTHING = Resources()

assert tuple(field.name for field in fields(Resources)) == RESOURCE_NAMES
