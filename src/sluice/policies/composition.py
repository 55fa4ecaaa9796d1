"""A scheduler as one answer to each of eight questions, and the presets: combinations with a name.

`Composition` is what users choose, by name; `composing` makes the policy. Source: loop spec,
section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from types import MappingProxyType
from typing import Final

from sluice.policies import members

# The questions about tasks, each with its members; the first is the default. Admission and release
# are policies of their own. Packages and files may add to all of them.
AXES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {axis: members(axis) for axis in ("order", "goals", "slots", "copies", "data", "machines")}
)

# Members of `slots` that start all tasks of a phase together, and for how many jobs they reserve.
RESERVATIONS: Final = {"rigid": 0, "easy": 1, "conservative": 10**9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """One member of each axis.

    order: whose turn it is.  goals: which deadlines are kept first.  slots: where a task may run.
    copies: which tasks get a second attempt.  data: how long a task waits for its input.
    machines: which nodes there are, and whose.
    """

    order: str = "fair"
    goals: str = "off"
    slots: str = "typed"
    copies: str = "none"
    data: str = "none"
    machines: str = "fixed"

    def document(self) -> dict[str, str]:
        """Return the same as plain JSON values, by axis."""
        return asdict(self)

    def with_members(self, members: Mapping[str, str]) -> Composition:
        """Return the same with other members of some axes."""
        return replace(self, **members)

    def differences(self, other: Composition) -> dict[str, str]:
        """The members that another composition does not have, by axis."""
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) != getattr(other, one.name)
        }


PRESETS: Final[Mapping[str, Composition]] = MappingProxyType(
    {
        "fifo": Composition(order="fifo"),
        "fair": Composition(),
        "static": Composition(),
        "dynamicmr": Composition(slots="lent"),
        "yarn-like": Composition(order="fewest", slots="containers"),
        "queue-tree": Composition(order="queues", slots="containers"),
        "mlrf": Composition(order="mlrf", slots="containers"),
        "ltrf": Composition(order="ltrf", slots="containers"),
        "ltyarn": Composition(order="ltyarn", slots="containers"),
        "karma": Composition(order="karma", slots="containers"),
        "decay": Composition(order="decay", slots="containers"),
        "ras": Composition(order="utility", slots="resources"),
        "vm-pools": Composition(order="fifo", machines="vm-pools"),
        "fcfs": Composition(order="fifo", slots="rigid"),
        "easy": Composition(order="fifo", slots="easy"),
        "conservative": Composition(order="fifo", slots="conservative"),
    }
)
