"""Advice as a result. Source: loop spec, section 5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.estimate.paired_difference import PairedDifference
from sluice.reporting.document_html import NotebookView

Differences = Mapping[str, PairedDifference]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartGain:
    """What a part of the chosen combination adds to the others, by measure."""

    part: str
    adds: Differences


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A combination that was tried. days: that it was simulated on.  mean: of the objective."""

    scheduler: str
    days: int
    mean: float | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Advice(NotebookView):
    """Which combination to run for a history.

    preset: by axis, and its settings.  features: of the history.  objective: the measure.
    difference: to *fair*, by measure; nothing where *fair* is advised.
    regret: what the choice costs over the best of each day: the mean, and 19 of 20 days.
    left_out: what was not tried, and why.  notes: what would change the choice.
    abstained: whether nothing is clearly better than *fair*.
    """

    preset: Mapping[str, object]
    scheduler: str
    features: Mapping[str, float | int | None]
    objective: str
    days: int
    means: Mapping[str, float | None]
    difference: Differences
    parts: tuple[PartGain, ...]
    regret: tuple[float, float]
    tried: tuple[Tried, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    abstained: bool

    def document(self) -> dict[str, object]:
        """The one JSON document of `advise`."""
        return {
            "preset": dict(self.preset),
            "scheduler": self.scheduler,
            "features": dict(self.features),
            "objective": self.objective,
            "days": self.days,
            "means": dict(self.means),
            "difference": {name: one.document() for name, one in self.difference.items()},
            "parts": [
                {
                    "part": each.part,
                    "adds": {name: one.document() for name, one in each.adds.items()},
                }
                for each in self.parts
            ],
            "regret": {"expected": self.regret[0], "high": self.regret[1]},
            "tried": [
                {"scheduler": one.scheduler, "days": one.days, "mean": one.mean}
                for one in self.tried
            ],
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "abstained": self.abstained,
        }

    def __repr__(self) -> str:
        return f"<Advice: {self.scheduler}>"
