"""The result of dividing a capacity among members: document, data frame and chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.planning.sharing.fairness import jain_index
from sluice.planning.sharing.fluid import SharingHistory, plain
from sluice.planning.sharing.misreports import Misreport
from sluice.planning.sharing.problem import Number
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.extras import data_frame
from sluice.reporting.share.chart import share_chart

if TYPE_CHECKING:
    from pandas import DataFrame

_UNITS = ("demand_new", "demand_total", "allocated", "accumulated", "counted", "lent")


@dataclass(frozen=True, slots=True, repr=False)
class ShareResult(NotebookView):
    """Each member's units in each step, and how fair they were.

    misreports: by member, the best report that was found; None if none was sought.
    notes: options without an effect.
    """

    history: SharingHistory
    misreports: tuple[Misreport, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The members, in file order."""
        return self.history.problem.names

    @property
    def fairness(self) -> dict[str, float | None]:
        """The fairness degree of each member at the last step; None without static use."""
        return self._by_name(self.history.steps[-1].fairness)

    @property
    def benefit(self) -> float:
        """Psi at the last step: what members gained from sharing."""
        return float(self.history.steps[-1].benefit)

    @property
    def loss(self) -> float:
        """Omega at the last step: what members lost by sharing, at most 0."""
        return float(self.history.steps[-1].loss)

    @property
    def jain(self) -> float | None:
        """Jain's index of accumulated use by weight."""
        last, weights = self.history.steps[-1], self.history.problem.weights
        pairs = zip(last.accumulated, weights, strict=True)
        return jain_index([float(used / weight) for used, weight in pairs])

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        problem, steps = self.history.problem, self.history.steps
        document: dict[str, object] = {
            "policy": problem.options.policy,
            "capacity": plain(problem.capacity),
            "shares": self._by_name(problem.shares),
            "steps": [self._step(index) for index in range(len(steps))],
            "fairness": self.fairness,
            "fairness_observed": self._by_name(steps[-1].fairness_observed),
            "benefit": self.benefit,
            "loss": self.loss,
            "jain": self.jain,
            "over_steps": {
                "fairness": [self._by_name(step.fairness) for step in steps],
                "benefit": [float(step.benefit) for step in steps],
                "loss": [float(step.loss) for step in steps],
            },
            "exact": problem.is_exact,
        }
        if self.misreports is not None:
            document["misreports"] = {one.name: _misreport(one) for one in self.misreports}
        return document

    def _step(self, index: int) -> dict[str, dict[str, float | None]]:
        step = self.history.steps[index]
        rows: dict[str, dict[str, float | None]] = {}
        for member, name in enumerate(self.names):
            rows[name] = {field: plain(getattr(step, field)[member]) for field in _UNITS}
            rows[name] |= {field: plain(kept[member]) for field, kept in step.memory.items()}
        return rows

    def _by_name(self, values: tuple[Number | None, ...]) -> dict[str, float | None]:
        return {name: plain(value) for name, value in zip(self.names, values, strict=True)}

    def to_frame(self) -> DataFrame:
        """One row for each step and member. Raises MissingExtra without pandas."""
        return data_frame(
            {"step": index, "member": name, **row}
            for index in range(len(self.history.steps))
            for name, row in self._step(index).items()
        )

    def plot(self) -> Chart:
        """Units and fairness degrees over the steps."""
        return share_chart(self.history)


def _misreport(found: Misreport) -> dict[str, object]:
    return {
        "honest": plain(found.honest),
        "best": plain(found.best),
        "gain": plain(found.gain),
        "reports": [plain(units) for units in found.reports],
        "exhaustive": found.is_exhaustive,
    }
