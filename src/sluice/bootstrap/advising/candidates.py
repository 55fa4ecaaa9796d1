"""The combinations that advice tries: those that came first in training and fit the history.

Of all combinations of six parts, the lists below were among the best in at least one of twelve
training worlds, which `sluice.reproductions.loop.advice_worlds` makes; so few of them lose under
0.5 % against all. How each of them did there, against *fair*, is what is expected of it before a
history says more. What the features of a history rule out is left out, and each rule says why, so
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
from sluice.bootstrap.compositions import bracketed
from sluice.estimate.paired_difference import ExpectedDifference

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
    expected: its cost against *fair*, in logarithms, by training worlds; None if these do not say.
    row: the text of a scheduler that a user has, in place of parts.
    """

    parts: tuple[str, ...]
    guard: float = _GUARD
    expected: ExpectedDifference | None = field(default=None, compare=False)
    row: str = ""

    @property
    def text(self) -> str:
        if self.row:
            return self.row
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
        """The combination as a preset's file has it."""
        if self.row:
            return _preset_document(self.row)
        found = dict(word.split("=", 1) for word in (*_DEFAULTS, *self.parts))
        settings = dict(pair.split("=", 1) for pair in self._settings())
        number = {key: _plain(value) for key, value in settings.items()}
        return {**found, "data": "none", "machines": "fixed", "settings": number}


def _preset_document(row: str) -> dict[str, object]:
    """A row of a comparison as a preset's file has it; its only word without a key names tasks."""
    text, pairs = bracketed(row)
    words = (word if "=" in word else f"tasks={word}" for word in text.split("+"))
    settings = dict(pair.split("=", 1) for pair in pairs)
    found = dict(word.split("=", 1) for word in words)
    return {**found, "settings": {key: _plain(value) for key, value in settings.items()}}


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
# By whether tasks slow each other down: the mean logarithm of the cost over that of *fair*, for the
# bill, the mean response and the slowdown p95. Over six training worlds each, and two to four days
# of each. `sluice reproduce loop --experiment training` makes them of three days: within 0.07, and
# 0.14 where jobs without deadlines wait (slowdown of DS).
OBJECTIVES_KNOWN: Final = ("bill_usd", "response_s", "slowdown_p95")
_EXPECTED: Final[Mapping[bool, Mapping[str, tuple[float, float, float]]]] = MappingProxyType(
    {
        False: {
            "DS": (-0.94, 0.57, 1.6), "DLS": (-0.91, 0.32, 1.17), "FLG25S": (-0.91, -0.15, 0.0),
            "GLS": (-0.9, 0.04, 0.49), "LG25S": (-0.9, -0.07, 0.16), "GS": (-0.89, 0.21, 0.82),
            "FG25S": (-0.84, -0.07, 0.14), "LG40S": (-0.81, -0.18, -0.16),
            "OLS": (-0.7, -0.18, -0.14), "G40S": (-0.66, -0.12, -0.1), "LS": (-0.59, -0.17, -0.16),
            "FLS": (-0.55, -0.17, -0.12), "OS": (-0.48, -0.12, -0.1), "S": (-0.37, -0.1, -0.1),
            "OFS": (-0.21, -0.1, -0.05), "ALS": (-0.2, -0.22, -0.18),
            "AOLS": (-0.19, -0.22, -0.19), "AOLG40S": (-0.16, -0.22, -0.16),
        },
        True: {
            "GRS": (-0.91, -0.13, 0.21), "DRS": (-0.9, -0.08, 0.4), "RG25S": (-0.82, -0.28, -0.35),
            "RS": (-0.76, -0.31, -0.44), "FRS": (-0.41, -0.28, -0.35), "GS": (-0.38, 0.27, 0.96),
            "RG40S": (-0.36, -0.3, -0.42), "S": (-0.26, -0.11, -0.15), "OS": (-0.24, -0.12, -0.16),
            "DS": (-0.22, 0.82, 1.85), "ALS": (-0.1, -0.08, -0.08), "AOLS": (-0.05, -0.08, -0.08),
        },
    }
)  # fmt: skip
# Between worlds of a kind, and between days of a world: standard deviations of these logarithms.
_SPREADS: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(
    {"bill_usd": (0.5, 0.4), "response_s": (0.15, 0.12), "slowdown_p95": (0.15, 0.12)}
)
COUNT_REFUSED: Final = ("bill_usd", "deadlines_met")  # a refused job costs its penalty
_LIKE: Final[Mapping[str, str]] = MappingProxyType({"deadlines_met": "bill_usd"})
_STEP: Final = re.compile(r"G25|G40|[A-Z]")
_FEWEST: Final = 6  # candidates, however little time there is


def field_for(features: Features, objective: str) -> Field:
    """The combinations to try on a history with these features, for a measure."""
    rules = (*_rules(features), *_rules_of(objective, features))
    banned = [letter for letter, _ in rules if letter]
    found = [Candidate(parts=()), *_members(objective, banned, is_contended=features.is_contended)]
    return Field(candidates=tuple(dict.fromkeys(found)), left_out=tuple(why for _, why in rules))


def everyone(*, is_contended: bool) -> tuple[Candidate, ...]:
    """All that advice may choose from, *fair* first, whatever the history is like."""
    return (Candidate(parts=()), *portfolio(is_contended=is_contended).values())


def portfolio(*, is_contended: bool) -> Mapping[str, Candidate]:
    """The members of a portfolio by their letters, without what is expected of them."""
    return {name: _combination(_STEP.findall(name)) for name in _EXPECTED[is_contended]}


def _members(objective: str, banned: Sequence[str], *, is_contended: bool) -> Iterator[Candidate]:
    """Yield the members of a portfolio that nothing rules out, those of least expected cost first.

    Measures that training did not judge take their order from a measure that is like them.
    """
    known = _EXPECTED[is_contended]
    like = objective if objective in OBJECTIVES_KNOWN else _LIKE.get(objective, "response_s")
    column = OBJECTIVES_KNOWN.index(like)
    for name in sorted(known, key=lambda one: (known[one][column], len(one), one)):
        candidate = _candidate(name, banned)
        if candidate is None:
            continue
        if objective != like:
            yield candidate
            continue
        between, within = _SPREADS[objective]
        expected = ExpectedDifference(mean=known[name][column], between=between, within=within)
        yield replace(candidate, expected=expected)


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
    return _combination([step for step in steps if step[0] not in banned])


def _combination(steps: Sequence[str]) -> Candidate:
    guard = next((int(step[1:]) / 100 for step in steps if step[1:]), _GUARD)
    return Candidate(parts=tuple(_MEMBERS[step] for step in steps), guard=guard)


def _rules_of(objective: str, features: Features) -> Iterator[tuple[str, str]]:
    """Yield what an objective rules out. A job that is refused has no response to count."""
    if objective not in COUNT_REFUSED and features.deadline_share:
        yield "A", f"Jobs that are refused would make {objective} look better: no admission."


def _rules(features: Features) -> Iterator[tuple[str, str]]:
    """Yield the letters that a history rules out, with the sentence that says why."""
    if not features.deadline_share:
        yield "AGD", "No job has a deadline: no admission, no goals and no order by deadline."
    if features.is_contended:
        why = (
            f"Tasks of a full node often demand {features.over_commitment:.1f} times what it has,"
            " and slow each other down: placement by resources is tried before lending."
        )
        yield "", why
    if features.tenants == 1:
        yield "F", "There is one tenant: no long-term order."
    if features.stragglers < STRAGGLERS_MIN:
        yield "S", "Fewer than 1 % of the tasks are stragglers: no second copies."
    if features.known_share < 1:
        yield "AO", "Not all lengths are known: no admission and no release by work."
