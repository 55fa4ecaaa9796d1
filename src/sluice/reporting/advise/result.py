"""Advice as a result. Source: loop spec, section 5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.estimate.paired_difference import PairedDifference
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of

Differences = Mapping[str, PairedDifference]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartGain:
    """The gain from a part of the chosen combination next to the others, by measure."""

    part: str
    adds: Differences


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A combination that was tried. days: that it was simulated on.  mean: of the objective."""

    scheduler: str
    days: int
    mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The scheduler of today. difference: of the choice to it; empty if it cannot be simulated."""

    scheduler: str
    difference: Differences


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Advice(NotebookView):
    """Which combination to run for a history.

    preset: by axis, and its settings.  features: of the history.  objective: the measure.
    days: that were simulated, each of `day_hours` hours.  known_days: whole days of the history.
    means, base: of the choice and of *fair*, by measure.
    difference: to *fair*, by measure; nothing where *fair* is advised.
    running: the scheduler of today; None if it is not known.
    regret: what the choice costs over the best of each day: the mean, and 19 of 20 days.
    left_out: what was not tried, and why.  notes: what would change the choice.
    abstained: whether nothing is clearly better than *fair*, or better than today's scheduler.
    keeps_running: whether the advice is to keep the scheduler of today.
    """

    preset: Mapping[str, object]
    scheduler: str
    features: Mapping[str, float | int | None]
    objective: str
    days: int
    day_hours: float
    known_days: int
    means: Mapping[str, float | None]
    base: Mapping[str, float | None]
    difference: Differences
    running: Running | None
    parts: tuple[PartGain, ...]
    regret: tuple[float, float]
    tried: tuple[Tried, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    abstained: bool
    keeps_running: bool = False

    def document(self) -> dict[str, object]:
        """The one JSON document of `advise`."""
        return {
            **document_of(self, "preset scheduler features objective days day_hours means"),
            **document_of(self, "difference running parts"),
            "regret": {"expected": self.regret[0], "high": self.regret[1]},
            **document_of(self, "tried left_out notes abstained keeps_running"),
        }

    def __repr__(self) -> str:
        return f"<Advice: {self.scheduler}>"
