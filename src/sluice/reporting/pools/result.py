"""The result of scheduling on VM pools: document, data frame and chart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sluice.estimate.job_forecasts import JobForecast
from sluice.planning.pools.deadline_prices import EarlierDeadline
from sluice.planning.pools.least_servers import LeastServers
from sluice.planning.pools.prices import Price, falling_prices
from sluice.planning.pools.problem import PoolProblem
from sluice.planning.pools.schedule import PoolOutcome, PoolSchedule
from sluice.reporting.charts.chart import Chart
from sluice.reporting.columns import Column, column_document
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.formatting import count, hundredths, tenths
from sluice.reporting.pools.chart import pools_chart
from sluice.reporting.pools.deadlines import earlier_document
from sluice.reporting.run.outcomes import ResponseForecast

_INTERVAL = ("low_s", "high_s", "deadline_probability")


@dataclass(frozen=True, slots=True, repr=False)
class PoolsResult(NotebookView):
    """Which VMs each job gets and when, and what that costs.

    forecasts: of jobs that were predicted from the past runs of their profile, by job, and by VM
    type and number of VMs.  earlier: jobs that are better planned for an earlier deadline.
    """

    schedule: PoolSchedule
    forecasts: Mapping[str, Mapping[tuple[str, int], JobForecast]] = field(default_factory=dict)
    earlier: Sequence[EarlierDeadline] = ()

    @property
    def total_cost_server_s(self) -> float:
        """Server-seconds of all jobs that ran."""
        return self.schedule.total_cost_server_s

    @property
    def missed(self) -> tuple[str, ...]:
        """Ids of jobs that never ran or ended late."""
        return self.schedule.missed

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        schedule = self.schedule
        names = [one.type_id for one in schedule.problem.types]
        return {
            **document_of(schedule, "policy total_cost_server_s missed"),
            "refused": [one.job.job_id for one in schedule.outcomes if one.is_refused],
            **document_of(schedule, "servers mean_response_s cost_per_job_server_s"),
            "effective_utilisation": schedule.effective_utilisation,
            "pools": {
                one.type_id: {"units": one.units, "vms": vms}
                for one, vms in zip(schedule.problem.types, schedule.problem.sizes, strict=True)
            },
            "windows": [
                {"vm_type": names[pool], "from_s": from_s, "to_s": to_s, "decided_by": job}
                for pool, from_s, to_s, job in schedule.windows
            ],
            "vms_peak": dict(zip(names, schedule.peak_vms(), strict=True)),
            "jobs": {one.job.job_id: self._job(one) for one in schedule.outcomes},
            "reconfigurations": [one.document() for one in schedule.changes],
            **({} if schedule.power is None else {"power": schedule.power._asdict()}),
            "earlier_deadlines": earlier_document(self.earlier),
        }

    def columns(self) -> Sequence[Column[PoolOutcome]]:
        """The columns of a job, with the VMs that it got if it ran."""
        types = self.schedule.problem.types
        return (
            Column(
                "vm_type", "VM type", is_left=True,
                of=lambda one: None if one.option is None else self.type_of(one),
            ),
            Column("vms", "VMs", count, lambda one: one.option and one.option.vms),
            Column(
                "configuration",
                of=lambda one: one.option and types[one.option.pool].configuration,
            ),
            Column("submitted_at_s", of=lambda one: one.job.submitted_at_s),
            Column("started_at_s", "start s", tenths),
            Column("finished_at_s", "end s", tenths),
            Column(
                "deadline_at_s", "deadline s", tenths, lambda one: finite(one.job.deadline_at_s)
            ),
            Column("start_by_s", of=lambda one: finite(one.job.start_by_s)),
            Column("cost_server_s"),
            Column("", "server-s", hundredths, lambda one: one.option and one.cost_server_s),
            Column("predicted_s", of=lambda one: one.option and one.option.predicted_s),
            Column(
                "margin",
                of=lambda one: one.option and one.option.run_s / one.option.predicted_s - 1,
            ),
            Column("met"),
            Column("", "deadline", of=_state, style=lambda one: "" if one.met else "red",
                   is_left=True),
            Column("why"),
            Column("least_deadline_at_s"),
            Column("prices", of=lambda one: [price._asdict() for price in _prices(one)]),
        )  # fmt: skip

    def _job(self, one: PoolOutcome) -> dict[str, object]:
        found = self.forecast(one)
        interval = {} if found is None else {name: getattr(found, name) for name in _INTERVAL}
        return column_document(self.columns(), one) | interval

    def forecast(self, one: PoolOutcome) -> ResponseForecast | None:
        """When a job may end, on the VMs that it got; None if it never ran, or gave its times."""
        cells = self.forecasts.get(one.job.job_id)
        if cells is None or one.option is None:
            return None
        submitted_at_s = one.job.submitted_at_s
        deadline_at_s = finite(one.job.deadline_at_s)
        return ResponseForecast.of(
            cells[self.type_of(one), one.option.vms],
            one.response_s,
            None if deadline_at_s is None else deadline_at_s - submitted_at_s,
        )

    def type_of(self, one: PoolOutcome) -> str:
        """The name of the VM type that a job ran on; "" if it never ran."""
        if one.option is None:
            return ""
        return self.schedule.problem.types[one.option.pool].type_id

    def to_frame(self) -> DataFrame:
        """One row for each job. Raises MissingExtra without pandas."""
        return data_frame(
            [{"job": one.job.job_id, **self._job(one)} for one in self.schedule.outcomes]
        )

    def plot(self) -> Chart:
        """The pools over time: the VMs of each job, reservation windows and changes of size."""
        return pools_chart(self.document())


@dataclass(frozen=True, slots=True, repr=False)
class LeastServersResult(NotebookView):
    """How many servers the jobs need, and what fewer servers miss."""

    answer: LeastServers
    problem: PoolProblem

    @property
    def servers(self) -> int | None:
        """The least number of servers; None if no number meets all deadlines."""
        return self.answer.servers

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        names = [one.type_id for one in self.problem.types]
        bound = self.answer.bound
        below = range(1, 1 if bound is None else bound.servers)
        return {
            "least_servers": self.answer.servers,
            "vms": dict(zip(names, self.answer.sizes, strict=False)),
            "bound": None if bound is None else bound._asdict(),
            "smaller": [
                *({"servers": servers, "missed": None} for servers in below),
                *({"servers": servers, "missed": job} for servers, job in self.answer.smaller),
            ],
        }


def _state(one: PoolOutcome) -> str:
    return "met" if one.met else "refused" if one.is_refused else "missed"


def finite(at_s: float) -> float | None:
    """The instant; None for a job without this limit."""
    return at_s if at_s < math.inf else None


def _prices(one: PoolOutcome) -> list[Price]:
    """Return what the job costs by its deadline after its submission, on pools that are idle."""
    waits_s = one.job.arrives_at_s - one.job.submitted_at_s
    return falling_prices(
        (waits_s + option.length_s, option.cost_server_s) for option in one.job.options
    )
