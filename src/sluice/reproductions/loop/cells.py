"""The factors of the ablation, and the cells of its design.

Six factors of two levels each. Admission promises containers, and typed slots cannot keep such a
promise, so that it is only tried over lent slots. The other five are crossed in the half fraction
I = OLFSG: of resolution V, no main effect and no interaction of two is mixed up with another one
of these. The eight cells of it with lent slots come a second time, with admission. *None* is in no
half that has *full*, and is added. Source: loop spec, section 4; G. Box, W. Hunter, J. Hunter,
"Statistics for Experimenters", 1978, chapter 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """One part of a scheduler. on: its words in a scheduler's text, and its settings."""

    letter: str
    name: str
    on: str
    settings: tuple[str, ...] = ()


FACTORS: Final[Sequence[Factor]] = (
    Factor(letter="A", name="admission", on="admission=capacity"),
    Factor(
        letter="O", name="release", on="release=on-demand", settings=("on-demand.objective=tct",)
    ),
    Factor(letter="L", name="slots", on="slots=lent"),
    Factor(letter="F", name="order", on="order=ltrf"),
    Factor(letter="S", name="copies", on="copies=late"),
    Factor(letter="G", name="goals", on="goals=guarded", settings=("goals.guard=0.4",)),
)
NONE: Final = "order=fair"  # the composition with every factor off

# One change of *none*, or of *full*, at a time: other levels of the factors, and other parts.
ONE_BY_ONE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "order=fifo": "order=fifo",
        "order=deadline": "order=deadline",
        "order=ltyarn": "order=ltyarn",
        "order=decay": "order=decay",
        "order=utility": "order=utility",
        "slots=lent-by-pool": "slots=lent-by-pool",
        "slots=containers": "slots=containers",
        "copies=sepb": "copies=sepb",
        "goals=first": "goals=first",
        "guard 0.1": "goals=guarded[goals.guard=0.1]",
        "guard 0.25": "goals=guarded[goals.guard=0.25]",
        "guard 0.6": "goals=guarded[goals.guard=0.6]",
        "release=mrorder": "release=mrorder",
        "mrorder, fixed times": "release=mrorder[mrorder.policy=fti]",
        "mrorder, pending jobs": "release=mrorder[mrorder.policy=pnj]",
        "on-demand, makespan": "release=on-demand",
        "admission, average": "slots=lent+admission=capacity[capacity.bound=avg]",
        "admission, low": "slots=lent+admission=capacity[capacity.bound=low]",
    }
)

# Factor H: the parts that go by profiles, and variants of a world in which these are not the truth.
EXPECTING: Final = ("O", "LG", "AL", "AOLFSG")
EXPECTATIONS: Final = ("predicted", "errors of 30 %", "errors of 70 %")

# Factor P: what is compared with itself under a plan.
PLANNED: Final = ("", "S", "LSG", "AOLFSG")

# Which bound admission goes by, over lent slots with copies. The first one admits every job.
_ADMITTING: Final = f"slots=lent+copies=late+{NONE}"
ADMISSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "every job": _ADMITTING,
        "up": f"admission=capacity+{_ADMITTING}",
        "average": f"admission=capacity+{_ADMITTING}[capacity.bound=avg]",
        "low": f"admission=capacity+{_ADMITTING}[capacity.bound=low]",
        "up, likely": f"admission=capacity+{_ADMITTING}[capacity.without_promise=likely]",
    }
)

# RAS, and factor M: by name, a scheduler and the variant of the world that it runs in.
MACHINES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "resources": (f"{NONE}+slots=resources", ""),
        "ras": ("ras", ""),
        "ras, aim=goals": ("ras[ras.aim=goals]", ""),
        "vm-pools": ("machines=vm-pools+order=fair", "in a pool"),
        "vm-pools, resized": (
            "machines=vm-pools+order=fair[machines.vm_reconfigure=true]",
            "in a pool",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination. on: the letters of the factors that are on."""

    on: frozenset[str]

    @property
    def name(self) -> str:
        """*none*, *full*, or its letters."""
        if len(self.on) == len(FACTORS):
            return "full"
        return "".join(one.letter for one in FACTORS if one.letter in self.on) or "none"

    @property
    def text(self) -> str:
        """The text that `compare` takes."""
        chosen = [one for one in FACTORS if one.letter in self.on]
        settings = [pair for one in chosen for pair in one.settings]
        words = [one.on for one in chosen]
        if not any(word.startswith("order=") for word in words):
            words.append(NONE)
        return "+".join(words) + (f"[{';'.join(settings)}]" if settings else "")

    def sign(self, letters: str) -> int:
        """1 or -1: the product of the signs of these factors in the cell."""
        return -1 if sum(letter not in self.on for letter in letters) % 2 else 1

    def with_part(self, letter: str) -> Cell:
        """Return the same with one factor more."""
        return Cell(on=self.on | {letter})


CROSSED: Final = "OLFSG"  # all but admission
_NEEDS: Final = "L"  # what admission needs


def crossed() -> tuple[Cell, ...]:
    """The half fraction of the factors but admission: 16 cells."""
    levels = product((False, True), repeat=len(CROSSED))
    found = (
        Cell(on=frozenset(name for name, is_on in zip(CROSSED, each, strict=True) if is_on))
        for each in levels
    )
    return tuple(cell for cell in found if cell.sign(CROSSED) == 1)


def design() -> tuple[Cell, ...]:
    """All 25 cells: *none*, the half fraction, and its cells with lent slots under admission."""
    half = crossed()
    promised = (cell.with_part("A") for cell in half if _NEEDS in cell.on)
    return (Cell(on=frozenset()), *half, *promised)


def contrasts() -> dict[str, dict[Cell, float]]:
    """The weight of each cell in each main effect and interaction, by its letters.

    An interaction is half the difference between the effects of the one with and without the other.
    """
    half = crossed()
    names = [*CROSSED, *("".join(pair) for pair in combinations(CROSSED, 2))]
    found = {name: {cell: cell.sign(name) / (len(half) / 2) for cell in half} for name in names}
    pairs = [cell for cell in half if _NEEDS in cell.on]
    for other in ("", *(name for name in CROSSED if name != _NEEDS)):
        weights: dict[Cell, float] = {}
        for cell in pairs:
            weight = cell.sign(other) / len(pairs)
            weights[cell.with_part("A")], weights[cell] = weight, -weight
        found[f"A{other}"] = weights
    return dict(sorted(found.items(), key=lambda pair: (len(pair[0]), _place(pair[0]))))


def _place(letters: str) -> list[int]:
    order = [one.letter for one in FACTORS]
    return [order.index(letter) for letter in letters]
