"""One thing for each kind of slot: the only place that names the kinds one by one.

Whatever is kept for each kind is kept in a `ByKind`, so that another kind of slot is one line in
`SlotKind`. The three attributes are a trick for speed: compiled, a look-up in a dict takes about
20 ns, an attribute 2 ns, and each start of a task makes several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from mypy_extensions import mypyc_attr

from sluice.model.slot_kind import SlotKind

# A look-up on the Enum itself is slow enough to show in a simulation.
_MAP: Final = SlotKind.MAP
_REDUCE: Final = SlotKind.REDUCE
_CONTAINER: Final = SlotKind.CONTAINER
KINDS: Final = tuple(SlotKind)

T = TypeVar("T")


@mypyc_attr(allow_interpreted_subclasses=True)
class ByKind(Generic[T]):
    """One thing for each kind of slot. make: called once for each kind.

    >>> names = ByKind(lambda kind: kind.value)
    >>> names.maps, names.of(SlotKind.CONTAINER)
    ('map', 'container')
    """

    __slots__ = ("_of", "containers", "maps", "reduces")

    def __init__(self, make: Callable[[SlotKind], T]) -> None:
        self._of: dict[SlotKind, T] = {kind: make(kind) for kind in KINDS}
        self.maps: T = self._of[_MAP]
        self.reduces: T = self._of[_REDUCE]
        self.containers: T = self._of[_CONTAINER]

    def of(self, kind: SlotKind) -> T:
        """The thing of a kind."""
        if kind is _MAP:
            return self.maps
        if kind is _REDUCE:
            return self.reduces
        return self.containers if kind is _CONTAINER else self._of[kind]  # type: ignore[redundant-expr]  # for a fourth kind
