"""The combinations that advice tries: those that came first in training and fit the history.

Of all combinations of six parts, the lists below were among the best in at least one of twelve
training worlds, which `sluice.reproductions.loop.advice_worlds` makes; so few of them lose under
0.5 % against all. What the features of a history rule out is left out, and each rule says why, so
that a reader can check it. Source: loop spec, section 5, step 2; a portfolio of few members is
chosen as in L. Xu, H. Hoos, K. Leyton-Brown, "Hydra: Automatically Configuring Algorithms for
Portfolio-Based Selection", AAAI 2010.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from sluice.bootstrap.advising.history import Features

STRAGGLERS_MIN = 0.01  # fewer are not worth second copies
BASE = "order=fair"
_RELEASE = {"release=on-demand": ("on-demand.objective=tct",)}
_GUARD = 0.4
_DEFAULTS = ("admission=all", "release=input", "slots=typed", "order=fair", "copies=none",
             "goals=off")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A combination, by its parts that are not the default. text: as `compare` takes it.

    guard: the share of the slots that guarded goals leave to other jobs.
    """

    parts: tuple[str, ...]
    guard: float = _GUARD

    @property
    def text(self) -> str:
        words = list(self.parts)
        if not any(word.startswith("order=") for word in words):
            words.append(BASE)
        settings = ";".join(self._settings())
        return "+".join(words) + (f"[{settings}]" if settings else "")

    @property
    def can_be(self) -> bool:
        """Whether it promises no containers over typed slots, which cannot keep that."""
        has_room = any(part.startswith("slots=") for part in self.parts)
        return has_room or "admission=capacity" not in self.parts

    def without(self, part: str) -> Candidate:
        """Return the same with the default of one axis."""
        return replace(self, parts=tuple(one for one in self.parts if one != part))

    def _settings(self) -> Iterator[str]:
        for part in self.parts:
            yield from _RELEASE.get(part, ())
            if part == "goals=guarded":
                yield f"goals.guard={self.guard:g}"

    def document(self) -> dict[str, object]:
        """As a preset's file has it."""
        found = dict(word.split("=", 1) for word in (*_DEFAULTS, *self.parts))
        settings = dict(pair.split("=", 1) for pair in self._settings())
        number = {key: _plain(value) for key, value in settings.items()}
        return {**found, "data": "none", "machines": "fixed", "settings": number}


def _plain(value: str) -> object:
    try:
        return float(value)
    except ValueError:
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The candidates, *fair* first, then the likeliest. left_out: why others are not tried."""

    candidates: tuple[Candidate, ...]
    left_out: tuple[str, ...] = field(default=())


# The words of a portfolio: a letter for a member, and of guarded goals their guard in percent.
_MEMBERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "A": "admission=capacity",
        "O": "release=on-demand",
        "L": "slots=lent",
        "R": "slots=resources",
        "F": "order=ltrf",
        "D": "order=deadline",
        "S": "copies=late",
        "G25": "goals=guarded",
        "G40": "goals=guarded",
        "G": "goals=first",
    }
)
_OF_DEADLINES = frozenset({"bill_usd", "deadlines_met"})
# By whether tasks slow each other down, and whether deadlines count: the best first.
_PORTFOLIOS: Final[Mapping[tuple[bool, bool], str]] = MappingProxyType(
    {
        (False, True): "DS,GS,DLS,GLS,FG25S,LG40S,FLG25S,LG25S,OFS,S",
        (False, False): "LS,OLS,ALS,AOLS,G40S,LG40S,OS,AOLG40S,FLS,S",
        (True, True): "DRS,GRS,RG25S,RG40S,GS,DS,RS,S",
        (True, False): "RS,RG40S,FRS,RG25S,OS,AOLS,ALS,S",
    }
)
_STEP: Final = re.compile(r"G25|G40|[A-Z]")
_FEWEST: Final = 6  # candidates, however little time there is


def field_for(features: Features, objective: str) -> Field:
    """The combinations to try on a history with these features, for a measure."""
    is_due = objective in _OF_DEADLINES
    rules = tuple(_rules(features))
    names = [
        *_PORTFOLIOS[features.is_contended, is_due].split(","),
        *_PORTFOLIOS[features.is_contended, not is_due].split(","),
    ]
    found = [Candidate(parts=())]
    for name in names:
        candidate = _candidate(name, [letter for letter, _ in rules if letter])
        if candidate is not None and candidate not in found:
            found.append(candidate)
    return Field(candidates=tuple(found), left_out=tuple(why for _, why in rules))


def everyone(*, is_contended: bool) -> tuple[Candidate, ...]:
    """All that advice may choose from, *fair* first, whatever the history is like."""
    names = [
        name for is_due in (True, False) for name in _PORTFOLIOS[is_contended, is_due].split(",")
    ]
    found = [Candidate(parts=()), *(_candidate(name, ()) for name in names)]
    return tuple(dict.fromkeys(one for one in found if one is not None))


def first_of(candidates: Sequence[Candidate], most: int) -> tuple[Candidate, ...]:
    """The likeliest, for which there is time: `most`, but six at least."""
    return tuple(candidates[: max(_FEWEST, most)])


def _candidate(name: str, ruled_out: Sequence[str]) -> Candidate | None:
    """The combination of a portfolio's word; None if the history rules it out.

    Copies are left out by themselves, because everything else is as good without stragglers.
    """
    steps = _STEP.findall(name)
    banned = "".join(ruled_out)
    if any(step[0] in banned.replace("S", "") for step in steps):
        return None
    kept = [step for step in steps if step[0] not in banned]
    guard = next((int(step[1:]) / 100 for step in kept if step[1:]), _GUARD)
    return Candidate(parts=tuple(_MEMBERS[step] for step in kept), guard=guard)


def _rules(features: Features) -> Iterator[tuple[str, str]]:
    """Yield the letters that a history rules out, with the sentence that says why."""
    if not features.deadline_share:
        yield "AGD", "No job has a deadline: no admission, no goals and no order by deadline."
    if features.is_contended:
        why = (
            f"Tasks of a full node demand {features.over_commitment:.1f} times what it has, and"
            " slow each other down: placement by resources is tried before lending."
        )
        yield "", why
    if features.tenants == 1:
        yield "F", "There is one tenant: no long-term order."
    if features.stragglers < STRAGGLERS_MIN:
        yield "S", "Fewer than 1 % of the tasks are stragglers: no second copies."
    if features.known_share < 1:
        yield "AO", "Not all lengths are known: no admission and no release by work."
