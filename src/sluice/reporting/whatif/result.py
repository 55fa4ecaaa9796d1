"""The effect that other queues would have had on a history: figures by queue, and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sluice.estimate.paired_difference import PairedDifference
from sluice.model.queue_tree import QueueTree
from sluice.reporting.charts.chart import Chart
from sluice.reporting.compare.result import MeasureSpread, spreads_document
from sluice.reporting.compare.run_summary import RunSummary, tails
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.run.figures import RunFigures
from sluice.reporting.whatif.chart import whatif_chart

QueueFigures = Mapping[str, float | None]
DECISIVE = ("wait_s_p95", "slowdown_p95")  # who wins and who loses


def queue_figures(
    run: RunFigures, summary: RunSummary, containers: Mapping[str, tuple[float, float]]
) -> dict[str, QueueFigures]:
    """The figures of each queue with jobs, in one run.

    containers: guarantee and maximum of each queue.  utilisation: containers in use, on average
    over the makespan, as a share of the guarantee; above 1 where the queue borrowed, and None where
    the guarantee is less than one container.
    """
    pools = {job.job_id: str(job.pool) for job in run.jobs}
    busy_s: dict[str, float] = {}
    for attempt in run.attempts:
        pool = pools[attempt.phase.job_id]
        held_s = attempt.tasks * (attempt.finished_at_s - attempt.started_at_s)
        busy_s[pool] = busy_s.get(pool, 0.0) + held_s
    met: dict[str, int] = {}
    due: dict[str, int] = {}
    for job in run.jobs:
        due[job.pool] = due.get(job.pool, 0) + (job.deadline_at_s is not None)
        met[job.pool] = met.get(job.pool, 0) + (job.deadline_met is True)
    found: dict[str, QueueFigures] = {}
    for name, jobs in summary.by_pool().items():
        guarantee = containers[name][0]
        room_s = guarantee * (run.makespan_s or 0.0) if guarantee >= 1 else 0.0
        found[str(name)] = {
            "jobs": len(jobs),
            **tails(jobs),
            "deadlines": due[name],
            "deadlines_met": met[name],
            "utilisation": busy_s.get(str(name), 0.0) / room_s if room_s else None,
        }
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEffect:
    """One queue. old, new: spreads over seeds by measure; None where it has no jobs.

    differences: new minus old, paired by seed; empty where one of them is missing.
    """

    old: Mapping[str, MeasureSpread | None] | None
    new: Mapping[str, MeasureSpread | None] | None
    differences: Mapping[str, PairedDifference | None] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        return {
            "old": None if self.old is None else spreads_document(self.old),
            "new": None if self.new is None else spreads_document(self.new),
            "difference": {
                name: None if one is None else one.document()
                for name, one in self.differences.items()
            },
        }

    @property
    def verdict(self) -> str:
        """wins, loses, mixed, or "" where neither measure that decides clearly differs."""
        clear = [one for name in DECISIVE if (one := self.differences.get(name)) and one.is_clear]
        found = {"wins" if one.mean < 0 else "loses" for one in clear}
        return "mixed" if len(found) > 1 else next(iter(found), "")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WhatIf(NotebookView):
    """The answer of `whatif`. containers: of the cluster.  seeds: simulations of each tree.

    is_resampled: whether seeds resampled the history.  unknown_keys: of the files.
    suggestion: goal, whether it is met, and its value, where a goal was given.
    trees: the new and the old tree that were simulated.
    """

    queues: Mapping[str, QueueEffect]
    containers: int
    seeds: int
    is_resampled: bool
    unknown_keys: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    suggestion: Mapping[str, object] | None = None
    trees: tuple[QueueTree | None, QueueTree | None] = (None, None)

    @property
    def winners(self) -> list[str]:
        """Queues that clearly wait less or are slowed down less, and not more of the other."""
        return [name for name, queue in self.queues.items() if queue.verdict == "wins"]

    @property
    def losers(self) -> list[str]:
        """Queues that clearly wait longer or are slowed down more, and not less of the other."""
        return [name for name, queue in self.queues.items() if queue.verdict == "loses"]

    def document(self) -> dict[str, object]:
        """The one JSON document of `whatif`."""
        names = "queues winners losers containers seeds is_resampled unknown_keys remarks=notes"
        document = document_of(self, names)
        return document if self.suggestion is None else document | {"suggestion": self.suggestion}

    def plot(self) -> Chart:
        """The waits of each queue, and how much they differ from the old ones."""
        return whatif_chart(self.document())

    def to_frame(self) -> DataFrame:
        """A pandas frame, one row for each queue and tree. Needs the extra `frame`."""
        return data_frame(
            [
                {"queue": name, "tree": tree}
                | {measure: one and one.mean for measure, one in spreads.items()}
                for name, queue in self.queues.items()
                for tree, spreads in (("old", queue.old), ("new", queue.new))
                if spreads is not None
            ]
        )


def queue_effects(
    old: Sequence[Mapping[str, QueueFigures]],
    new: Sequence[Mapping[str, QueueFigures]],
    *,
    is_resampled: bool,
) -> dict[str, QueueEffect]:
    """The effect on each queue, from the figures of each seed. old: empty without an old tree."""
    names = list(dict.fromkeys(name for runs in (new, old) for run in runs for name in run))
    return {name: _effect(name, old, new, is_resampled=is_resampled) for name in names}


def _effect(
    name: str,
    old: Sequence[Mapping[str, QueueFigures]],
    new: Sequence[Mapping[str, QueueFigures]],
    *,
    is_resampled: bool,
) -> QueueEffect:
    before = [run[name] for run in old if name in run]
    after = [run[name] for run in new if name in run]
    # A resample may have no job of a small queue; then only the other seeds are compared.
    pairs = [(a[name], b[name]) for a, b in zip(old, new, strict=False) if name in a and name in b]
    measures = [one for one in (pairs[0][0] if pairs else ()) if one not in {"jobs", "deadlines"}]
    return QueueEffect(
        old=_spreads(before) if before else None,
        new=_spreads(after) if after else None,
        differences={
            measure: PairedDifference.of(
                [a[measure] for a, _ in pairs],
                [b[measure] for _, b in pairs],
                is_resampled=is_resampled,
            )
            for measure in measures
        },
    )


def _spreads(figures: Sequence[QueueFigures]) -> dict[str, MeasureSpread | None]:
    return {name: MeasureSpread.of([one[name] for one in figures]) for name in figures[0]}
