"""Resource vectors: the capacity of a node and the demand of a task, in the same units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from sluice.model.described import in_file
from sluice.model.errors import wrong_value

_PERCENT = "percent of a reference node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Amounts of cpu, io, memory and network, in percent of a reference node or another unit.

    other: further resources by name, such as GPUs, with their names in order. All amounts are
    finite and at least 0. Amounts that are added or compared have the same other names, see
    `with_names`. Source: RAS, spec section 3 (`cap`, `Gamma`, an open list of resources).

    >>> Resources(cpu=30, io=45) + Resources(cpu=25, memory=10)
    Resources(cpu=55, io=45.0, memory=10.0, network=0.0, other=())
    """

    cpu: float = in_file(_PERCENT, 0.0)
    io: float = in_file(_PERCENT, 0.0)
    memory: float = in_file(_PERCENT, 0.0)
    network: float = in_file(_PERCENT, 0.0)
    other: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        for name, amount in zip(self.names, self.amounts(), strict=True):
            if not 0 <= amount < math.inf:
                raise wrong_value(name, amount, name, "give a finite number of at least 0")

    @classmethod
    def named(
        cls, amounts: Mapping[str, float], other: tuple[tuple[str, float], ...] = ()
    ) -> Resources:
        """The amounts by the names in RESOURCE_NAMES; 0 for one that is left out."""
        cpu, io, memory, network = (amounts.get(name, 0.0) for name in RESOURCE_NAMES)
        return cls(cpu=cpu, io=io, memory=memory, network=network, other=other)

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            cpu=self.cpu + other.cpu,
            io=self.io + other.io,
            memory=self.memory + other.memory,
            network=self.network + other.network,
            other=_sums(self.other, other.other),
        )

    def minus(self, other: Resources) -> Resources:
        """Return what is left of each amount; a hair below 0, from rounding, counts as 0."""
        taken = dict(zip(other.names, other.amounts(), strict=True))
        left = {
            name: max(0.0, amount - taken.get(name, 0.0))
            for name, amount in zip(self.names, self.amounts(), strict=True)
        }
        return Resources.named(left, tuple((name, left[name]) for name, _ in self.other))

    def scaled(self, factor: float) -> Resources:
        """Return every amount times `factor` (at least 0)."""
        return Resources(
            cpu=self.cpu * factor,
            io=self.io * factor,
            memory=self.memory * factor,
            network=self.network * factor,
            other=tuple((name, amount * factor) for name, amount in self.other),
        )

    def with_names(self, names: tuple[str, ...]) -> Resources:
        """Return the same amounts with these other names, in order; 0 of those that it lacks."""
        if names == self.other_names:
            return self
        own = dict(self.other)
        return replace(self, other=tuple((name, own.get(name, 0.0)) for name in names))

    @property
    def other_names(self) -> tuple[str, ...]:
        """Names of the other resources."""
        return tuple(name for name, _ in self.other)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all amounts."""
        return RESOURCE_NAMES + self.other_names

    def amounts(self) -> tuple[float, ...]:
        """Return the amounts in the order of `names`."""
        known = (self.cpu, self.io, self.memory, self.network)
        return known if not self.other else (*known, *(amount for _, amount in self.other))

    @property
    def is_zero(self) -> bool:
        """Whether all amounts are 0."""
        return not any(self.amounts())


def _sums(
    one: tuple[tuple[str, float], ...], other: tuple[tuple[str, float], ...]
) -> tuple[tuple[str, float], ...]:
    if not (one and other):
        return one or other
    return tuple(
        (name, amount + more) for (name, amount), (_, more) in zip(one, other, strict=True)
    )


RESOURCE_NAMES: tuple[str, ...] = ("cpu", "io", "memory", "network")
NOTHING = Resources()

assert tuple(field.name for field in fields(Resources)) == (*RESOURCE_NAMES, "other")
