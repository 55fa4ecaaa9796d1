"""The combinations that advice tries: all that the features of a history do not rule out.

Each rule names what it leaves out and why, so that a reader can check it. Source: loop spec,
section 5, step 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from sluice.bootstrap.advising.history import Features

STRAGGLERS_MIN = 0.01  # fewer are not worth second copies
BASE = "order=fair"
_SETTINGS = {
    "release=on-demand": ("on-demand.objective=tct",),
    "goals=guarded": ("goals.guard=0.4",),
}
_DEFAULTS = ("admission=all", "release=input", "slots=typed", "order=fair", "copies=none",
             "goals=off")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A combination, by its parts that are not the default. text: as `compare` takes it."""

    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        words = list(self.parts)
        if not any(word.startswith("order=") for word in words):
            words.append(BASE)
        settings = ";".join(pair for word in words for pair in _SETTINGS.get(word, ()))
        return "+".join(words) + (f"[{settings}]" if settings else "")

    def without(self, part: str) -> Candidate:
        """Return the same with the default of one axis."""
        return Candidate(parts=tuple(one for one in self.parts if one != part))

    def document(self) -> dict[str, object]:
        """As a preset's file has it."""
        found = dict(word.split("=", 1) for word in (*_DEFAULTS, *self.parts))
        settings = dict(
            pair.split("=", 1) for word in self.parts for pair in _SETTINGS.get(word, ())
        )
        number = {key: _plain(value) for key, value in settings.items()}
        return {**found, "data": "none", "machines": "fixed", "settings": number}


def _plain(value: str) -> object:
    try:
        return float(value)
    except ValueError:
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The candidates, *fair* first. left_out: sentences on what was ruled out."""

    candidates: tuple[Candidate, ...]
    left_out: tuple[str, ...] = field(default=())


def field_for(features: Features) -> Field:
    """The combinations to try on a history with these features."""
    left_out: list[str] = []
    axes = _axes(features, left_out)
    found = [Candidate(parts=parts) for parts in _combinations(axes)]
    return Field(candidates=tuple(found), left_out=tuple(left_out))


def _axes(features: Features, left_out: list[str]) -> Mapping[str, Sequence[str]]:
    """The members of each axis that are worth trying, the default first."""
    axes = {
        "admission": ["all"],
        "release": ["input"],
        "slots": ["typed"],
        "order": ["fair"],
        "copies": ["none"],
        "goals": ["off"],
    }
    if features.deadline_share:
        axes["goals"] += ["guarded", "first"]
        axes["admission"].append("capacity")
        axes["order"].append("deadline")
    else:
        left_out.append("No job has a deadline: no admission and no goals.")
    if features.is_contended:
        axes["slots"].append("resources")
        left_out.append(
            f"Tasks of a full node demand {features.over_commitment:.1f} times what it has, and"
            " slow each other down: no lending, but placement by resources."
        )
    else:
        axes["slots"].append("lent")
    if features.tenants > 1:
        axes["order"].append("ltrf")
    else:
        left_out.append("There is one tenant: no long-term order.")
    if features.stragglers >= STRAGGLERS_MIN:
        axes["copies"].append("late")
    else:
        left_out.append("Fewer than 1 % of the tasks are stragglers: no second copies.")
    if features.known_share < 1:
        axes["admission"], axes["release"] = ["all"], ["input"]
        left_out.append("Not all lengths are known: no admission and no release by work.")
    else:
        axes["release"].append("on-demand")
    return axes


def _goes_with_resources(chosen: Mapping[str, str]) -> bool:
    """Placement by resources takes ten times as long to simulate: only its likely companions."""
    others = (chosen["admission"], chosen["release"], chosen["order"])
    return others in {("all", "input", "fair"), ("all", "input", "ltrf")}


def _combinations(axes: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Those that can be, the simplest first."""
    found = []
    for members in product(*axes.values()):
        chosen = dict(zip(axes, members, strict=True))
        if chosen["admission"] == "capacity" and chosen["slots"] == "typed":
            continue  # typed slots cannot keep a promise of containers
        if chosen["order"] == "deadline" and chosen["goals"] != "off":
            continue  # goals are an order by deadline already
        if chosen["goals"] == "first" and chosen["order"] != "fair":
            continue  # hardly anything is left to the order
        if chosen["slots"] == "resources" and not _goes_with_resources(chosen):
            continue
        changes = sum(name != axes[axis][0] for axis, name in chosen.items())
        if changes > 1 and chosen["copies"] != axes["copies"][-1]:
            continue  # copies never cost anything, see docs/loop.md: with others they are on
        parts = tuple(f"{axis}={name}" for axis, name in chosen.items() if name != axes[axis][0])
        found.append(parts)
    yield from sorted(found, key=lambda parts: (len(parts), parts))
