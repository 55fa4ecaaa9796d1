"""The result of planning: plans to choose from, and exports of a chosen plan.

Plans are made when they are asked for: the search keeps the points of its frontier, and a plan with
the shares of all jobs is a walk over them. So a document lists the jobs of only as many plans as
were asked for. A chosen plan leaves as a workload, as its file with the plan applied, or as the
queues of a scheduler of Hadoop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice, repeat
from typing import Any, NamedTuple

from sluice.estimate.job_forecasts import JobForecast
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.lengths import ConstantLengths, ListedLengths
from sluice.model.workload import Workload
from sluice.planning.pareto.frontier import Frontier, Plan
from sluice.planning.pareto.hadoop_buffers import HadoopBuffer
from sluice.planning.pareto.plan_search import (
    ParetoResult,
    PlanSearch,
    PlanStatus,
    late_in_each,
    late_jobs,
)
from sluice.planning.pareto.pricing import PlanEntry
from sluice.planning.pareto.problem import ParetoProblem, PlannedJob, TaskTuning
from sluice.planning.pareto.tradeoff import hour_saved_usd, knee
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.exports.capacity_scheduler import QueueShare, capacity_scheduler_xml
from sluice.reporting.exports.chosen_workload import chosen_document, chosen_workload
from sluice.reporting.exports.fair_scheduler import SlotQueue, fair_scheduler_xml
from sluice.reporting.exports.mapreduce_options import TunedJob, mapreduce_options
from sluice.reporting.exports.workload_document import workload_document
from sluice.reporting.extras import DataFrame, data_frame
from sluice.reporting.formatting import counted, duration, money
from sluice.reporting.plan.chart import (
    JOBS_SHOWN_MAX,
    DrawnPlan,
    JobShare,
    Region,
    drawn_places,
    pareto_chart,
)
from sluice.reporting.run.outcomes import JobReplay, ResponseForecast, replay_document

# A document with more allocations (plans times jobs) would fill the memory.
ALLOCATIONS_MAX = 3_000_000


class Off(NamedTuple):
    """The error of the last prediction of a job, as a share of its measured time."""

    job: str
    predicted_s: float
    measured_s: float
    error: float


def _is_blind_to_counts(job: PlannedJob) -> bool:
    """Whether the task count of a phase may change, but its profile has only an average."""
    return any(
        phase.tasks_max > 1
        and all(isinstance(part, ConstantLengths | ListedLengths) for part in phase.parts)
        for phase in (job.maps, job.reduces)
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanResult(NotebookView):
    """Plans, the fastest first, numbered from 1: first those within the limits, then cheaper plans.

    raw: the document that the workload was read from; None if it was not read.
    off: for jobs that ran before, the error of their last prediction.
    forecast_on_slots: from a job, its map slots, its reduce slots and the speed of its VMs to its
    forecast; None for a job that names no profile.
    replays: by job, for a workload made from logs, recorded and replayed times; else None.
    """

    problem: ParetoProblem
    answer: ParetoResult
    search: PlanSearch
    workload: Workload
    raw: Mapping[str, Any] | None = None
    off: tuple[Off, ...] = field(default=())
    forecast_on_slots: Callable[[str, int, int, float], JobForecast | None] = field(
        default=lambda _job, _maps, _reduces, _speed: None
    )
    replays: Mapping[JobId, JobReplay] | None = None

    def __len__(self) -> int:
        return len(self.answer.plans) + len(self.answer.below_budget_min)

    @property
    def status(self) -> PlanStatus:
        """Whether there is a plan within the limits, and if not, why."""
        return self.answer.status

    @property
    def is_no(self) -> bool:
        """Whether no plan meets the limits."""
        return self.status not in (PlanStatus.OK, PlanStatus.BELOW_BUDGET_MIN)

    @property
    def warnings(self) -> list[str]:
        """Warnings about the input."""
        if self.problem.options.tasks is TaskTuning.FIXED:
            return []
        fixed = [job for job in self.problem.jobs if _is_blind_to_counts(job)]
        if not fixed:
            return []
        more = f" and {counted(len(fixed) - 1, 'more job')}" if len(fixed) > 1 else ""
        why = "task length does not depend on the number of tasks, so fewer always look better"
        return [f"{fixed[0].job_id}{more}: {why}; give fixed_s and work_s, or rows, to tune them"]

    @cached_property
    def knee(self) -> int | None:
        """Number of the plan beyond which a higher budget saves little time; None for few plans."""
        within = self.answer.plans or self.answer.below_budget_min
        place = knee(list(within.points()))
        return None if place is None else place + 1

    def plan(self, number: int) -> Plan:
        """The plan of that number, from 1. Raises InvalidInput if it does not exist."""
        if not 1 <= number <= len(self):
            there = "there is no plan" if not len(self) else f"there are plans 1 to {len(self)}"
            raise InvalidInput(
                f"plan {number} does not exist: {there}",
                where="--choose",
                hint="see `sluice plan FILE`" if len(self) else "loosen the limits",
            )
        within = len(self.answer.plans)
        if number <= within:
            return self.answer.plans.plan(number - 1)
        return self.answer.below_budget_min.plan(number - 1 - within)

    def misses(self, plan: Plan) -> list[str]:
        """The jobs that end after their own deadlines in a plan."""
        if not self._deadlines_s:
            return []
        return [str(job.job_id) for job in late_jobs(self.problem, plan)]

    # --- documents --------------------------------------------------------------------------------

    def document(self, plans: int | None = None) -> dict[str, object]:
        """The one JSON document of `plan`. plans: how many of them list their jobs; None for all.

        Raises InvalidInput if the document would not fit into memory.
        """
        answer = self.answer
        self._check_size(plans)
        return {
            "status": answer.status.value,
            "search": self.search.value,
            "fastest_makespan_s": answer.fastest_makespan_s,
            "least_budget_usd": answer.least_budget_usd,
            "knee": self.knee,
            "search_missed": answer.missed,
            "plans": self._documents(answer.plans, 1, plans),
            "below_budget_min": self._documents(
                answer.below_budget_min, 1 + len(answer.plans), plans
            ),
            "predictions_off": {one.job: one.error for one in self.off},
        }

    def _check_size(self, plans: int | None) -> None:
        listed = len(self) if plans is None else min(plans, len(self))
        jobs = len(self.problem.jobs)
        if listed * jobs > ALLOCATIONS_MAX:
            raise InvalidInput(
                f"the allocations of {listed} plans of {jobs} jobs are too large for one document",
                where="--plans",
                hint="give --plans none, or a number",
            )

    def _documents(
        self, frontier: Frontier, first: int, plans: int | None
    ) -> list[dict[str, object]]:
        slopes = hour_saved_usd(list(frontier.points()))
        listed = len(frontier) if plans is None else plans
        found: list[dict[str, object]] = []
        late = late_in_each(self.problem, frontier) if self._deadlines_s else repeat(())
        points = zip(frontier.points(), late, strict=False)
        for place, ((makespan_s, budget_usd), misses) in enumerate(points):
            found.append(
                {
                    "number": first + place,
                    "makespan_s": makespan_s,
                    "budget_usd": budget_usd,
                    "hour_saved_usd": slopes[place],
                    "misses": [str(job.job_id) for job in misses],
                    "jobs": self._jobs(frontier.plan(place)) if place < listed else None,
                }
            )
        return found

    def _jobs(self, plan: Plan) -> dict[str, object]:
        waves = {job: wave for wave, jobs in enumerate(plan.waves or ()) for job in jobs}
        starts_s = plan.starts_s()
        return {
            str(job.job_id): self._job(entry, waves.get(place))
            | ({"starts_at_s": starts_s[place]} if plan.precedence else {})
            | self._forecast_document(job, entry)
            | replay_document(self.replays, job.job_id)
            for place, (job, entry) in enumerate(zip(self.problem.jobs, plan.entries, strict=True))
        }

    def _forecast_document(self, job: PlannedJob, entry: PlanEntry) -> dict[str, object]:
        found = self.forecast(job, entry)
        return {} if found is None else asdict(found)

    def forecast(self, job: PlannedJob, entry: PlanEntry) -> ResponseForecast | None:
        """Return what the estimator expects on these slots; None for a job without a profile."""
        choice = entry.choice
        maps, reduces = choice.map_slots, choice.reduce_slots
        if choice.containers:
            maps = reduces = choice.containers
        found = self.forecast_on_slots(str(job.job_id), maps, reduces, choice.offer.speed)
        if found is None:
            return None
        return ResponseForecast.of(found, None, self._deadlines_s.get(str(job.job_id)))

    @cached_property
    def _deadlines_s(self) -> Mapping[str, float]:
        """Deadlines of single jobs, after their submission."""
        return {
            str(job.job_id): job.deadline_at_s - job.submitted_at_s
            for job in self.workload.jobs
            if job.deadline_at_s is not None
        }

    def _job(self, entry: PlanEntry, wave: int | None) -> dict[str, object]:
        choice, setting = entry.choice, entry.choice.buffer
        document: dict[str, object] = {
            "map_slots": choice.map_slots or None,
            "reduce_slots": choice.reduce_slots or None,
            "vms": entry.vms,
            "map_tasks": choice.map_tasks or None,
            "reduce_tasks": choice.reduce_tasks or None,
            "time_s": entry.time_s,
            "cost_usd": entry.vm_usd,
            "io_usd": entry.io_usd,
            "buffer": None if setting is None else asdict(setting),
        }
        if choice.containers:
            document["containers"] = choice.containers
        if self.problem.has_types:
            document |= {"vm_type": choice.offer.vm_type, "rent": choice.offer.rent.value}
        return document if wave is None else {**document, "wave": wave + 1}

    def to_frame(self) -> DataFrame:
        """One row for each job of each plan. Raises MissingExtra without pandas."""
        return data_frame(self._rows())

    def _rows(self) -> Iterator[dict[str, object]]:
        for number in range(1, len(self) + 1):
            plan = self.plan(number)
            for job, document in self._jobs(plan).items():
                assert isinstance(document, dict)
                setting = document.pop("buffer") or {}
                yield {
                    "plan": number,
                    "makespan_s": plan.makespan_s,
                    "budget_usd": plan.budget_usd,
                    "job": job,
                    **document,
                    **{f"buffer_{name}": value for name, value in setting.items()},
                }

    def plot(self) -> Chart:
        """The plans by makespan and budget, with the limits and the knee."""
        problem = self.problem
        total = len(self.answer.frontier)
        return pareto_chart(list(self._drawn()), total, len(problem.jobs), problem.limits)

    def _drawn(self) -> Iterator[DrawnPlan]:
        """The plans of the chart, also those beyond the limits, which have no number."""
        answer, frontier = self.answer, self.answer.frontier
        places = {makespan_s: place for place, makespan_s in enumerate(frontier.makespans_s)}
        listed = (*answer.plans.makespans_s, *answer.below_budget_min.makespans_s)
        numbers = {places[makespan_s]: number for number, makespan_s in enumerate(listed, start=1)}
        knee = next((place for place, number in numbers.items() if number == self.knee), 0)
        slopes = hour_saved_usd(list(frontier.points()))
        for place in drawn_places(len(frontier), knee):
            plan, number = frontier.plan(place), numbers.get(place)
            yield DrawnPlan(
                makespan_s=plan.makespan_s,
                budget_usd=plan.budget_usd,
                vms=plan.vms,
                hour_saved_usd=slopes[place],
                number=number,
                region=self._region(number),
                is_knee=number is not None and number == self.knee,
                jobs=[
                    JobShare(
                        str(job.job_id),
                        entry.vms,
                        entry.choice.map_slots,
                        entry.choice.reduce_slots,
                        entry.choice.containers,
                    )
                    for job, entry in islice(
                        zip(self.problem.jobs, plan.entries, strict=True), JOBS_SHOWN_MAX
                    )
                ],
            )

    def _region(self, number: int | None) -> Region:
        if number is None:
            return Region.BEYOND
        return Region.WITHIN if number <= len(self.answer.plans) else Region.BELOW

    # --- a chosen plan ----------------------------------------------------------------------------

    def chosen(self, number: int) -> Workload:
        """The workload with this plan applied, to be simulated under `fair`."""
        return chosen_workload(self.workload, self.plan(number))

    def chosen_document(self, number: int) -> dict[str, Any]:
        """The document of the workload file with this plan applied; other keys do not change.

        Raises InvalidInput if it was not read from a file and a file cannot express it.
        """
        raw = workload_document(self.workload) if self.raw is None else self.raw
        return chosen_document(raw, self.workload, self.plan(number))

    def fair_scheduler(self, number: int) -> str:
        """`fair-scheduler.xml` for the plan of that number."""
        plan = self.plan(number)
        queues = [
            SlotQueue(
                name=str(job.job_id),
                map_slots=entry.choice.map_slots,
                reduce_slots=entry.choice.reduce_slots,
                stage_slots=entry.choice.containers,
                vms=entry.vms,
            )
            for job, entry in zip(self.problem.jobs, plan.entries, strict=True)
        ]
        return fair_scheduler_xml(queues, comment=self.title(number))

    def capacity_scheduler(self, number: int) -> str:
        """`capacity-scheduler.xml` for the plan of that number."""
        plan = self.plan(number)
        rented = sum(entry.vms for entry in plan.entries)
        queues = [
            QueueShare(
                name=str(job.job_id), share=entry.vms, share_max=entry.vms / rented, jobs_max=1
            )
            for job, entry in zip(self.problem.jobs, plan.entries, strict=True)
        ]
        return capacity_scheduler_xml(queues, comment=self.title(number))

    def mapreduce_options(self, number: int) -> str:
        """Options of `hadoop jar` with the tuned buffers of the plan of that number.

        Raises InvalidInput if no job has a tuned buffer.
        """
        tuned = []
        for job, entry in zip(self.problem.jobs, self.plan(number).entries, strict=True):
            choice = entry.choice
            if choice.buffer is None or job.output is None or not self.problem.tunes_buffers:
                continue
            buffer, maps = HadoopBuffer.of(choice.buffer), choice.map_tasks or job.map_tasks
            predicted = buffer.spills(job.output, maps)
            tuned.append(
                TunedJob(name=str(job.job_id), maps=maps, buffer=buffer, predicted=predicted)
            )
        return mapreduce_options(tuned, comment=self.title(number))

    def title(self, number: int) -> str:
        """A one-line summary of the plan."""
        plan = self.plan(number)
        return (
            f"plan {number} of {self.workload.source}: {counted(len(plan.entries), 'job')} in"
            f" {duration(plan.makespan_s)} for {money(plan.budget_usd)}"
        )

    def __repr__(self) -> str:
        return f"<PlanResult: {self.status.value}, {len(self)} plans>"
