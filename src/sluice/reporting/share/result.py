"""The result of dividing a capacity among members: document, data frame and chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sluice.planning.sharing.fairness import jain_index
from sluice.planning.sharing.fluid import SharingHistory, plain
from sluice.planning.sharing.misreports import Misreport
from sluice.planning.sharing.problem import Number
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.share.chart import share_chart

_DEMANDED = (
    "demand_new",
    "demand_total",
    "allocated",
    "accumulated",
)  # tasks, if they need several
_SHARED = ("counted", "lent")  # dominant shares, if there are several resources


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

    @property
    def utilization(self) -> dict[str, float]:
        """The mean part of each resource that was held; empty with one resource."""
        problem, steps = self.history.problem, self.history.steps
        return {
            name: sum(
                float(units * need[resource])
                for units, need in zip(steps[-1].accumulated, problem.needs, strict=True)
            )
            / len(steps)
            for resource, name in enumerate(problem.capacities)
        }

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        problem, steps = self.history.problem, self.history.steps
        document: dict[str, object] = {
            "policy": problem.options.policy,
            **self._resources(),
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
            sizes = zip(self.misreports, problem.task_units, strict=True)
            document["misreports"] = {one.name: _misreport(one, size) for one, size in sizes}
        return document

    def _resources(self) -> dict[str, object]:
        """Return what was shared.

        With several resources also what a task takes, and the mean use.
        """
        problem = self.history.problem
        if not problem.tasks:
            return {"capacity": plain(problem.capacity)}
        names = list(problem.capacities)
        return {
            "capacities": dict(problem.capacities),
            "tasks": {
                member: dict(zip(names, self._amounts(index, 1), strict=True))
                for index, member in enumerate(self.names)
            },
            "utilization": self.utilization,
        }

    def _amounts(self, member: int, tasks: float) -> list[float]:
        """Return what tasks of a member take of each resource, in the units of the file."""
        problem = self.history.problem
        parts = zip(problem.tasks[member], problem.room, strict=True)
        totals = problem.capacities.values()
        return [
            tasks * total * need / room for (need, room), total in zip(parts, totals, strict=True)
        ]

    def _step(self, index: int) -> dict[str, dict[str, Any]]:
        step, problem = self.history.steps[index], self.history.problem
        rows: dict[str, dict[str, Any]] = {}
        for member, (name, size) in enumerate(zip(self.names, problem.task_units, strict=True)):
            row: dict[str, Any] = {
                field: plain(getattr(step, field)[member] / size) for field in _DEMANDED
            }
            row |= {field: plain(getattr(step, field)[member]) for field in _SHARED}
            if problem.tasks:
                held = self._amounts(member, row["allocated"])
                row["dominant"] = plain(step.allocated[member])
                row["resources"] = dict(zip(problem.capacities, held, strict=True))
            rows[name] = row | {field: plain(kept[member]) for field, kept in step.memory.items()}
        return rows

    def _by_name(self, values: tuple[Number | None, ...]) -> dict[str, float | None]:
        return {name: plain(value) for name, value in zip(self.names, values, strict=True)}

    def to_frame(self) -> DataFrame:
        """One row for each step and member. Raises MissingExtra without pandas."""
        return data_frame(
            {"step": index, "member": name, **_flat(row)}
            for index in range(len(self.history.steps))
            for name, row in self._step(index).items()
        )

    def plot(self) -> Chart:
        """Units and fairness degrees over the steps."""
        return share_chart(self.document())


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    held = row.pop("resources", {})
    return row | {f"resources.{name}": amount for name, amount in held.items()}


def _misreport(found: Misreport, size: Number) -> dict[str, object]:
    """size: units of one task, so that reports and gains are those of the file."""
    return {
        "honest": plain(found.honest / size),
        "best": plain(found.best / size),
        "gain": plain(found.gain / size),
        "reports": [plain(units / size) for units in found.reports],
        "exhaustive": found.is_exhaustive,
    }
