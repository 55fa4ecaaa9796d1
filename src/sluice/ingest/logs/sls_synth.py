"""SLS SYNTH: a workload given by distributions, drawn job by job.

A description has workloads with weights; a workload has a queue, classes of jobs with weights, and
the times at which jobs come. A job is drawn so: a workload, an instant, a class, whether it has a
deadline (by the chance of a reservation), then for each kind of task how many and how long each is.

    {"val": 5}                              always 5
    {"val": 5, "std": 1}                    log-normal of this mean and standard deviation
    {"val": 5, "std": 1, "dist": "NORM"}    normal likewise, what falls below 0 is 0
    {"discrete": [1, 2], "weights": [3, 1]} one of these
    mtasks_avg, mtasks_stddev, ...          the older spelling: log-normal

A standard deviation of 0 means a sixth of the mean, as in SLS. Instants fall on whole seconds
of a stretch between two entries of `time_distribution`; the last entry is an instant. Sources of
the meaning: Hadoop's Scheduler Load Simulator page, "SYNTH", and its SynthTraceJobProducer.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from sluice.ingest.logs.hadoop_values import Members, Unreadable, items, members, text
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind

TASKS_DRAWN_MAX = 2_000_000  # each has its own length
_LENGTH_S_MIN = 0.001
_NUMBER_MAX = 1e12
_SPREAD = 1 / 6  # of the mean: the standard deviation where 0 is given

Draw = Callable[[random.Random], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tasks:
    kind: str
    count: Draw
    length: Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class _JobClass:
    name: str
    tasks: tuple[_Tasks, ...]
    duration_s: Draw
    deadline_factor: Draw
    reservation: Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workload:
    queue: str
    classes: tuple[_JobClass, ...]
    pick_class: Draw
    submission_s: Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Synth:
    """A valid description. `synth_of` has reported its missing parts to `skip`."""

    workloads: tuple[_Workload, ...]
    pick_workload: Draw

    def jobs(self, count: int, seed: int, unit_s: float) -> tuple[Job, ...]:
        """So many jobs in the order of their coming, always the same for a seed.

        unit_s: unit of task times.  Jobs that are drawn without a task are left out.
        Raises Unreadable where they have more tasks than can be listed.
        """
        arrivals, contents = random.Random(f"{seed} arrivals"), random.Random(f"{seed} contents")
        drawn = []
        for index in range(count):
            workload = self.workloads[int(self.pick_workload(arrivals))]
            submitted_s = workload.submission_s(arrivals)
            job_class = workload.classes[int(workload.pick_class(arrivals))]
            drawn.append((submitted_s, index, workload.queue, job_class))
        drawn.sort(key=lambda one: one[:2])
        made, left = [], TASKS_DRAWN_MAX
        for rank, (submitted_s, _, queue, job_class) in enumerate(drawn):
            phases = _phases(job_class, contents, unit_s, left)
            left -= sum(phase.tasks for phase in phases)
            deadline_s = _deadline_s(job_class, contents)
            if phases:
                made.append(
                    Job(
                        job_id=JobId(f"{job_class.name}_{rank:06d}"),
                        pool=PoolId(queue),
                        phases=phases,
                        submitted_at_s=submitted_s,
                        deadline_at_s=None if deadline_s is None else submitted_s + deadline_s,
                    )
                )
        return tuple(made)


def _phases(
    job_class: _JobClass, draw: random.Random, unit_s: float, tasks_max: int
) -> tuple[Phase, ...]:
    """Kinds of tasks that are drawn at least once; reduces follow the kinds before them."""
    phases: list[Phase] = []
    for tasks in job_class.tasks:
        count = round(tasks.count(draw))
        tasks_max -= count
        if tasks_max < 0:
            raise Unreadable(f"more than {TASKS_DRAWN_MAX} tasks are drawn")
        lengths = tuple(max(_LENGTH_S_MIN, tasks.length(draw) * unit_s) for _ in range(count))
        is_reduce = tasks.kind == "reduce"
        if lengths:
            phases.append(
                Phase(
                    name=tasks.kind,
                    kind=SlotKind.REDUCE if is_reduce else SlotKind.MAP,
                    tasks=count,
                    lengths=ListedLengths(lengths),
                    after=tuple(range(len(phases))) if is_reduce else (),
                )
            )
    return tuple(phases)


def _deadline_s(job_class: _JobClass, draw: random.Random) -> float | None:
    """Seconds after submission; None for a job without. Draws as often whatever comes out."""
    is_reserved = draw.random() <= job_class.reservation(draw)
    deadline_s = job_class.deadline_factor(draw) * round(job_class.duration_s(draw))
    return deadline_s if is_reserved and deadline_s > 0 else None


def synth_of(description: Members, skip: Callable[[str], None]) -> Synth:
    """The distributions of a description; classes that cannot be drawn are skipped and reported.

    Raises Unreadable where none is left.
    """
    workloads, weights = [], []
    for index, one in enumerate(items(description.get("workloads"))):
        fields = members(one)
        try:
            workloads.append(_workload(fields, skip))
            weights.append(_weight(fields, "workload_weight"))
        except Unreadable as error:
            skip(f"workload {index + 1} {text(fields.get('workload_name'))!r}: {error}")
            workloads = workloads[: len(weights)]
    return Synth(workloads=tuple(workloads), pick_workload=_pick(weights, "workload"))


def _workload(fields: Members, skip: Callable[[str], None]) -> _Workload:
    classes, weights = [], []
    for index, one in enumerate(items(fields.get("job_classes"))):
        job_class = members(one)
        name = text(job_class.get("class_name"))[:100] or f"class_{index + 1}"
        try:
            made = _job_class(job_class, name)
            weights.append(_weight(job_class, "class_weight"))
            classes.append(made)
        except Unreadable as error:
            skip(f"job class {name!r}: {error}")
    return _Workload(
        queue=text(fields.get("queue_name")) or "default",
        classes=tuple(classes),
        pick_class=_pick(weights, "job class"),
        submission_s=_submission_s(fields),
    )


def _job_class(fields: Members, name: str) -> _JobClass:
    if "tasks" not in fields:
        fields = _todays(fields)
    tasks = [members(one) for one in items(fields.get("tasks"))]
    if not tasks:
        raise Unreadable("no tasks")
    return _JobClass(
        name=name,
        tasks=tuple(
            _Tasks(
                kind=text(one.get("type"))[:100] or "map",
                count=_sample(one, "count"),
                length=_sample(one, "time"),
            )
            for one in tasks
        ),
        duration_s=_sample(fields, "duration", 0.0),
        deadline_factor=_sample(fields, "deadline_factor", 0.0),
        reservation=_sample(fields, "reservation", 0.0),
    )


def _todays(fields: Members) -> Members:
    """A class in the older spelling, in today's."""

    def pair(name: str) -> Members:
        return {"val": fields.get(f"{name}_avg", 0), "std": fields.get(f"{name}_stddev", 0)}

    return {
        "duration": pair("dur"),
        "deadline_factor": pair("deadline_factor"),
        "reservation": {"val": fields.get("chance_of_reservation", 0)},
        "tasks": [
            {"type": kind, "count": pair(f"{kind[0]}tasks"), "time": pair(f"{kind[0]}time")}
            for kind in ("map", "reduce")
            if f"{kind[0]}tasks_avg" in fields
        ],
    }


def _sample(owner: Members, name: str, default: float | None = None) -> Draw:
    if name not in owner and default is not None:
        return lambda _: default
    fields = owner.get(name)
    form = fields if isinstance(fields, dict) else {"val": fields}
    if "discrete" in form:
        return _discrete(form, name)
    mean = _number(form.get("val"), name)
    if form.get("std") is None or mean == 0:
        return lambda _: mean
    std = _number(form["std"], name) or mean * _SPREAD
    if text(form.get("dist")).upper() == "NORM":
        return lambda draw: max(0.0, draw.gauss(mean, std))
    # The logarithm's variance and mean follow from those of the value itself.
    variance = math.log1p((std / mean) ** 2)
    centre, spread = math.log(mean) - variance / 2, math.sqrt(variance)
    return lambda draw: min(_NUMBER_MAX, draw.lognormvariate(centre, spread))


def _discrete(form: Members, name: str) -> Draw:
    values = [_number(one, name) for one in items(form.get("discrete"))]
    weights = items(form.get("weights")) or [1.0] * len(values)
    if len(weights) != len(values):
        raise Unreadable(f"{name} has {len(values)} values and {len(weights)} weights")
    pick = _pick([_number(one, name) for one in weights], name)
    return lambda draw: values[int(pick(draw))]


def _submission_s(fields: Members) -> Draw:
    entries = [members(one) for one in items(fields.get("time_distribution"))]
    starts = [_number(one.get("time"), "time_distribution") for one in entries]
    pick = _pick([_weight(one, "weight") for one in entries], "time_distribution")
    lengths = [max(0, int(b) - int(a)) for a, b in pairwise(starts)] + [0]

    def draw_s(draw: random.Random) -> float:
        index = int(pick(draw))
        return float(int(starts[index]) + int(draw.random() * lengths[index]))

    return draw_s


def _pick(weights: Sequence[float], what: str) -> Draw:
    """The position of one of the weights, each as likely as it weighs."""
    sums = list(accumulate(weights))
    if not sums or not sums[-1] > 0:
        raise Unreadable(f"no {what} with a weight above 0")
    return lambda draw: min(bisect.bisect_right(sums, draw.random() * sums[-1]), len(sums) - 1)


def _weight(owner: Members, name: str) -> float:
    return _number(owner.get(name, 1.0), name)


def _number(value: object, name: str) -> float:
    """A number from 0 to _NUMBER_MAX, also one written as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(f"{name} is not a number")
    if not 0 <= value <= _NUMBER_MAX:
        # JSON has integers of any size, which `:g` cannot format: it makes a float of them first.
        is_huge = isinstance(value, int) and abs(value) > _NUMBER_MAX
        side = "below -" if value < 0 else "above "
        shown = f"{side}{_NUMBER_MAX:g}" if is_huge else f"{value:g}"
        raise Unreadable(f"{name} is {shown}, not from 0 to {_NUMBER_MAX:g}")
    return float(value)
