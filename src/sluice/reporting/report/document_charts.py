"""The charts of a document, as far as its figures allow.

The document of a run has the times of its jobs but not of its tasks: `--plot FILE.json` saves a
chart with them, which a report can include.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sluice.estimate.job_forecasts import JobForecast
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, PoolId
from sluice.model.limits import PlanLimits
from sluice.planning.sharing.ledger import Ledger, LedgerPeriod, TenantPeriod
from sluice.reporting.calibration.chart import calibration_chart
from sluice.reporting.capacity.chart import capacity_chart
from sluice.reporting.charts import theme
from sluice.reporting.charts.chart import Chart
from sluice.reporting.charts.theme import TimeAxis
from sluice.reporting.compare.chart import schedulers_chart
from sluice.reporting.compare.result import ComparedScheduler, MeasureSpread, SchedulerComparison
from sluice.reporting.compare.run_summary import PERCENTILES
from sluice.reporting.explain.chart import diagnosis_chart
from sluice.reporting.fairness.chart import fairness_chart
from sluice.reporting.formatting import counted, duration
from sluice.reporting.order.chart import order_chart
from sluice.reporting.plan.chart import DrawnPlan, JobShare, Region, drawn_places, pareto_chart
from sluice.reporting.pools.chart import pools_chart
from sluice.reporting.prediction.chart import predictions_chart
from sluice.reporting.run.chart import run_overview
from sluice.reporting.run.curves import waiting_view
from sluice.reporting.run.jobs_gantt import jobs_view
from sluice.reporting.run.outcomes import JobOutcome
from sluice.reporting.share.chart import share_chart
from sluice.reporting.size.chart import size_chart
from sluice.reporting.whatif.chart import whatif_chart

Document = Mapping[str, Any]


def charts_of(document: Document, where: str) -> list[Chart]:
    """The charts of a document. where: its name, for messages.

    Raises InvalidInput if the document has the fields of a result, but not their types.
    """
    for kind in _KINDS:
        if kind.key in document and all(
            _rows_have(document, field, names) for field, names in kind.rows.items()
        ):
            try:
                return [kind.draw(document)]
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise InvalidInput(
                    f"its figures cannot be drawn ({type(error).__name__}: {error})",
                    where=where,
                    hint="give a document as --json prints it",
                ) from error
    return []


def _rows_have(document: Document, field: str, names: Sequence[str]) -> bool:
    """Whether a field is a list or mapping of rows that have these names."""
    held = document.get(field)
    rows = list(held.values()) if isinstance(held, Mapping) else held
    return (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(row, Mapping) and all(name in row for name in names) for row in rows)
    )


# --- a run ----------------------------------------------------------------------------------------


def _run_chart(document: Document) -> Chart:
    jobs = [_outcome(name, row) for name, row in document["jobs"].items()]
    ends = [job.finished_at_s for job in jobs if job.finished_at_s is not None]
    starts_at_s = min(job.submitted_at_s for job in jobs)
    axis = TimeAxis(starts_at_s=starts_at_s, ends_at_s=max(ends, default=starts_at_s))
    spans = {
        str(job.job_id): [("running", job.started_at_s, job.finished_at_s)]
        for job in jobs
        if job.started_at_s is not None and job.finished_at_s is not None
    }
    title = f"{counted(len(jobs), 'job')} in {duration(document['makespan_s'])}"
    spec = theme.finished(
        theme.stacked(
            theme.heading(title, []),
            [jobs_view(jobs, spans, replace(axis, is_named=False)), waiting_view(jobs, axis)],
            spacing=26,
            resolve={"scale": {"color": "independent"}},
        )
    )
    return Chart(run_overview(spec, jobs, axis))


def _outcome(name: str, row: Document) -> JobOutcome:
    return JobOutcome(
        job_id=JobId(name),
        pool=PoolId(str(row.get("pool", name))),
        tasks=int(row.get("tasks", 0)),
        submitted_at_s=float(row["submitted_at_s"]),
        started_at_s=_number(row["started_at_s"]),
        finished_at_s=_number(row["finished_at_s"]),
        deadline_at_s=_number(row.get("deadline_at_s")),
        deadline_met=row.get("deadline_met"),
        state=str(row["state"]),
        reason=str(row.get("reason", "")),
    )


def _number(value: Any) -> float | None:  # noqa: ANN401  # any JSON value
    return None if value is None else float(value)


# --- the other kinds ------------------------------------------------------------------------------


def _comparison_chart(document: Document) -> Chart:
    rows = tuple(
        ComparedScheduler(
            scheduler=str(row["scheduler"]),
            runs=int(row.get("runs", 1)),
            spreads={name: _spread(row, name) for name in _MEASURES},
            waits_s=tuple(row.get("wait_s_by_percent", ())),
        )
        for row in document["rows"]
    )
    deadlines = int(document.get("deadlines", 0))
    return schedulers_chart(SchedulerComparison(rows=rows, deadlines=deadlines))


_MEASURES = (
    "makespan_s", "mean_response_s", "wait_s_p95", "slowdown_p95", "deadlines_met", "cost_usd",
)  # fmt: skip


def _spread(row: Document, measure: str) -> MeasureSpread | None:
    """The spread of a measure; percentiles are nested: `wait_s_min: {"p95": ..}`."""
    name, _, percentile = measure.rpartition("_")
    if percentile in PERCENTILES:
        values = [row.get(f"{name}{part}", {}).get(percentile) for part in _PARTS]
    else:
        values = [row.get(f"{measure}{part}") for part in _PARTS]
    if any(value is None for value in values):
        return None
    mean, sd, least, most = map(float, values)
    return MeasureSpread(mean=mean, sd=sd, least=least, most=most)


_PARTS = ("", "_sd", "_min", "_max")


def _plan_chart(document: Document) -> Chart:
    plans, knee = document["plans"], document.get("knee")
    places = list(drawn_places(len(plans), int(knee or 1) - 1))
    drawn = [_drawn_plan(place + 1, plans[place], is_knee=place + 1 == knee) for place in places]
    jobs = max(len(plan["jobs"] or ()) for plan in plans)
    return pareto_chart(drawn, len(plans), jobs, PlanLimits())


def _drawn_plan(number: int, plan: Document, *, is_knee: bool) -> DrawnPlan:
    shares = [
        JobShare(
            str(name), int(got["vms"]), int(got.get("map_slots") or 0),
            int(got.get("reduce_slots") or 0), int(got.get("containers") or 0),
        )
        for name, got in (plan["jobs"] or {}).items()
    ]  # fmt: skip
    return DrawnPlan(
        makespan_s=float(plan["makespan_s"]),
        budget_usd=float(plan["budget_usd"]),
        vms=sum(one.vms for one in shares),
        hour_saved_usd=_number(plan["hour_saved_usd"]),
        number=number,
        region=Region.WITHIN,
        is_knee=is_knee,
        jobs=shares[:8],
    )


def _prediction_chart(document: Document) -> Chart:
    forecasts = [
        (
            str(name),
            JobForecast(
                profile=str(name),
                level=float(row["level"]),
                predicted_s=_number(row["predicted_s"]),
                low_s=_number(row["low_s"]),
                high_s=_number(row["high_s"]),
                runs=int(row["runs"]),
            ),
        )
        for name, row in document["jobs"].items()
        if row["predicted_s"] is not None
    ]
    return predictions_chart(forecasts)


def _fairness_chart(document: Document) -> Chart:
    periods = tuple(_period(one) for one in document["periods"])
    last = periods[-1]
    total = replace(
        last, started_at_s=0.0, benefit=float(document["benefit"]), loss=float(document["loss"])
    )
    ledger = Ledger(
        shares={name: float(row["share"]) for name, row in document["tenants"].items()},
        capacity=float(document["containers"]),
        periods=periods,
        total=total,
        jain=_number(document["jain"]),
        lorenz=tuple(document["lorenz"]),
    )
    return fairness_chart(ledger, str(document["scheduler"]))


def _period(row: Document) -> LedgerPeriod:
    tenants = {name: TenantPeriod(**held) for name, held in row["tenants"].items()}
    return LedgerPeriod(**{**row, "tenants": tenants})


class _Kind(NamedTuple):
    """Documents of one kind. key: a field of theirs.  rows: names that the rows of a field have."""

    key: str
    rows: Mapping[str, Sequence[str]]
    draw: Callable[[Document], Chart]


_RUN_NAMES = ("submitted_at_s", "started_at_s", "finished_at_s", "state")
_FORECAST_NAMES = ("predicted_s", "low_s", "high_s", "level", "runs")
_KINDS = (
    _Kind("digest", {"jobs": _RUN_NAMES}, _run_chart),
    _Kind("rows", {"rows": ("scheduler", "makespan_s", "makespan_s_min")}, _comparison_chart),
    _Kind(
        "probability_wanted",
        {"curve": ("nodes", "probability", "low", "high")},
        lambda document: size_chart(
            document["curve"], float(document["probability_wanted"]), answer=document.get("nodes")
        ),
    ),
    _Kind("plans", {"plans": ("makespan_s", "budget_usd", "jobs")}, _plan_chart),
    _Kind("jobs", {"jobs": _FORECAST_NAMES}, _prediction_chart),
    _Kind(
        "curve",
        {"curve": ("reserved_vms", "cost_usd"), "classes": ("jobs", "rejected")},
        capacity_chart,
    ),
    _Kind("total_cost_server_s", {"pools": ("units", "vms")}, pools_chart),
    _Kind("order", {"schedule": ()}, order_chart),
    _Kind("lorenz", {"periods": ("ended_at_s", "tenants")}, _fairness_chart),
    _Kind("advice", {"what_if": ("slots", "efficiency")}, diagnosis_chart),
    _Kind("winners", {"queues": ("old", "new", "difference")}, whatif_chart),
    _Kind("over_steps", {"steps": ()}, share_chart),
    _Kind("leave_out", {"profiles": ("runs", "outliers")}, calibration_chart),
)
