"""The result of capacity planning: document, data frame, chart and scheduler queues."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

from sluice.planning.capacity.plan import CapacityPlan, ClassPlan, UnreachableDeadlines
from sluice.reporting.capacity.chart import capacity_chart
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.exports.capacity_scheduler import QueueShare, capacity_scheduler_xml
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.prediction.result import PredictionReport
from sluice.reporting.run.outcomes import JobReplay

_FORECAST = (
    "profile", "predicted_s", "low_s", "high_s", "level", "runs", "deadline_s",
    "deadline_probability", "why_not",
)  # fmt: skip


_FIGURES = """
    bound integer=is_whole reserved_vms on_demand_vms objective_usd cost_usd rent_usd penalties_usd
    next_vm_usd gap_usd proved_optimal=is_proven rounded_vms
"""  # of a plan, in the order of the document


@dataclass(frozen=True, slots=True, repr=False)
class CapacityResult(NotebookView):
    """How many jobs of each class to accept, and how many VMs to rent.

    replays: by class, the recorded and replayed times of its jobs in logs; None without logs.
    forecasts: of one job of each class that names a profile, with the containers that it gets.
    """

    plan: CapacityPlan
    replays: Mapping[str, Sequence[JobReplay]] | None = None
    forecasts: PredictionReport = field(default_factory=lambda: PredictionReport(jobs=()))

    @property
    def status(self) -> str:
        """All classes can meet their deadlines."""
        return "ok"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes on the numbers."""
        return self.plan.warnings

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        plan = self.plan
        cell = {} if plan.cell is None else {"row": plan.cell.row, "column": plan.cell.column}
        forecasts = {job.job_id: job.document() for job in self.forecasts.jobs}
        return {
            "status": self.status,
            **document_of(plan, _FIGURES),
            "contract": self.contract(),
            "curve": self.curve_document(),
            "two_classes": cell or None,
            "classes": {
                one.class_id: _class_document(one)
                | self._recorded(one.class_id)
                | _part(forecasts.get(one.class_id, {}), _FORECAST)
                for one in plan.classes
            },
            "warnings": list(plan.warnings),
        }

    def _recorded(self, class_id: str) -> dict[str, object]:
        """Medians over the jobs of a class in logs; empty without logs."""
        if self.replays is None:
            return {}
        jobs = self.replays.get(class_id, ())
        return {
            "recorded_s": _median(job.recorded_s for job in jobs),
            "replayed_s": _median(job.replayed_s for job in jobs),
            "replay_error": _median(job.replay_error for job in jobs),
        }

    def contract(self) -> dict[str, float]:
        """How many VMs to reserve: useful_vms save money, more of them do not.

        reserved_vms: the present number.  saved_usd: savings of useful_vms over it, with divisible
        jobs.  next_saves_usd: savings of one more VM.
        """
        plan, curve = self.plan, self.plan.curve
        now_usd = curve.cost_at_usd(plan.rent.reserved_vms)
        useful_usd = curve.cost_at_usd(curve.useful_vms)
        return {
            "reserved_vms": plan.rent.reserved_vms,
            "useful_vms": curve.useful_vms,
            "useful_cost_usd": useful_usd,
            "saved_usd": max(0.0, now_usd - useful_usd),
            "next_saves_usd": max(0.0, plan.next_vm_usd - plan.rent.reserved_usd),
        }

    def curve_document(self) -> list[dict[str, float]]:
        """The corners of the cost by reserved VMs, with divisible jobs."""
        curve = self.plan.curve
        columns = (curve.reserved_vms, curve.cost_usd, curve.next_vm_usd)
        names = ("reserved_vms", "cost_usd", "next_vm_usd")
        return [
            dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True)
        ]

    def to_frame(self) -> DataFrame:
        """One row for each class. Raises MissingExtra without pandas."""
        rows = [{"class": one.class_id, **_flat(_class_document(one))} for one in self.plan.classes]
        return data_frame(rows)

    def plot(self) -> Chart:
        """The cost by reserved VMs, and the jobs of each class."""
        return capacity_chart(self.document())

    def queues(self) -> tuple[QueueShare, ...]:
        """One queue for each class, with its share of the VMs.

        A class may borrow idle capacity of others, and runs at most its planned jobs at once. A
        part of a job counts as one.
        """
        return tuple(
            QueueShare(
                name=one.class_id, share=one.share, jobs_max=max(1, math.ceil(one.jobs - 1e-9))
            )
            for one in self.plan.classes
        )

    def capacity_scheduler(self) -> str:
        """The queues as Hadoop's `capacity-scheduler.xml`. Raises InvalidInput without any."""
        vms = self.plan.reserved_vms + self.plan.on_demand_vms
        comment = f"Made by sluice capacity for {vms:g} VMs: one queue for each class."
        return capacity_scheduler_xml(self.queues(), comment=comment)


@dataclass(frozen=True, slots=True, repr=False)
class UnreachableResult(NotebookView):
    """No capacity meets the deadlines of some classes."""

    answer: UnreachableDeadlines

    @property
    def status(self) -> str:
        """At least one class can never meet its deadline."""
        return "infeasible_deadline"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes on the numbers."""
        return self.answer.warnings

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        return {
            "status": self.status,
            "classes": {
                class_id: {"least_deadline_s": least_s}
                for class_id, least_s in self.answer.least_deadline_s.items()
            },
            "warnings": list(self.answer.warnings),
        }


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _part(document: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    return {name: document[name] for name in names if name in document}


def _class_document(one: ClassPlan) -> dict[str, object]:
    document = asdict(one)
    del document["class_id"]
    return document


def _flat(document: Mapping[str, object]) -> dict[str, object]:
    """Nested fields with the names of both levels: break_even_reserved_usd."""
    flat: dict[str, object] = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}_{inner}": part for inner, part in value.items()}
        else:
            flat[name] = value
    return flat
