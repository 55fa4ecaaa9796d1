"""Jobs of a workload as a flow shop: each phase at the stage of its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.planning.flow_shops.flow_shop import FlowShop
from sluice.planning.stages.problem import TASKS_MAX, check_job, in_units, lengths_s_of, unit_of

_HINT = "leave --stage-slots out: all stages then share the containers"


@dataclass(frozen=True, kw_only=True)
class FlowProblem:
    """shop: the jobs; times are in 1 / unit of a second.  columns: the names of its stages.

    jobs: their names.  stages: `job/stage` of each phase, by job and in the order of the file.
    places: the position of the job and of the stage in the shop, of each of them.
    """

    shop: FlowShop
    unit: int
    columns: tuple[str, ...]
    jobs: tuple[str, ...]
    stages: tuple[str, ...]
    places: tuple[tuple[int, int], ...]


def flow_problem(jobs: Sequence[Job], slots: int | Mapping[str, int], source: str) -> FlowProblem:
    """The problem of these jobs. Raises InvalidInput that names job and stage.

    slots: of each stage by its name, or the same for all.
    """
    for job in jobs:
        check_job(job, source)
        _check_chain(job, source)
    columns = _columns(jobs, source)
    lengths_s = {
        (job.job_id, phase.name): lengths_s_of(phase, f"{source}, job {job.job_id!r}")
        for job in jobs
        for phase in job.phases
    }
    lengths = [one for lengths in lengths_s.values() for one in lengths]
    if len(lengths) > TASKS_MAX:
        raise InvalidInput(
            f"its jobs have more than {TASKS_MAX} tasks", where=source, hint="give fewer jobs"
        )
    unit = unit_of(lengths)
    counts = _slots(slots, columns, source)
    tasks = tuple(
        tuple(
            _tasks(in_units(lengths_s.get((job.job_id, name), ()), unit), count)
            for name, count in zip(columns, counts, strict=True)
        )
        for job in jobs
    )
    named = [(at, phase.name) for at, job in enumerate(jobs) for phase in job.phases]
    return FlowProblem(
        shop=FlowShop(slots=counts, tasks=tasks),
        unit=unit or 1,
        columns=columns,
        jobs=tuple(str(job.job_id) for job in jobs),
        stages=tuple(f"{jobs[at].job_id}/{name}" for at, name in named),
        places=tuple((at, columns.index(name)) for at, name in named),
    )


def _tasks(lengths: Sequence[float], slots: int) -> tuple[float, ...]:
    """The longest first; on one slot they run one after another, as one."""
    if slots == 1 and lengths:
        return (sum(lengths),)
    return tuple(sorted(lengths, reverse=True))


def _check_chain(job: Job, source: str) -> None:
    where = f"{source}, job {job.job_id!r}"
    if job.after:
        raise InvalidInput(
            "it waits for other jobs, and with --stage-slots each job passes by itself",
            where=where,
            hint=_HINT,
        )
    for at, phase in enumerate(job.phases):
        if phase.after != ((at - 1,) if at else ()):
            raise InvalidInput(
                f"stage {phase.name!r} does not follow the one before it, and with --stage-slots"
                " the stages of a job are a chain",
                where=where,
                hint=_HINT,
            )


def _columns(jobs: Sequence[Job], source: str) -> tuple[str, ...]:
    """The stages of all jobs in an order that is that of each job."""
    followers: dict[str, set[str]] = {}
    for job in jobs:
        names = [phase.name for phase in job.phases]
        for name, later in zip(names, [*names[1:], None], strict=True):
            found = followers.setdefault(name, set())
            if later is not None:
                found.add(later)
    columns: list[str] = []
    while len(columns) < len(followers):
        left = [name for name in followers if name not in columns]
        free = [name for name in left if not any(name in followers[one] for one in left)]
        if not free:
            raise InvalidInput(
                f"jobs pass the stages {', '.join(map(repr, left[:3]))} in different orders",
                where=source,
                hint=_HINT,
            )
        columns.append(free[0])
    return tuple(columns)


def _slots(slots: int | Mapping[str, int], columns: Sequence[str], source: str) -> tuple[int, ...]:
    if isinstance(slots, int):
        return (slots,) * len(columns)
    for name in (*slots, *columns):
        if name not in columns:
            raise InvalidInput(
                f"no job has a stage {name!r}",
                where="--stage-slots",
                hint=f"take one of {', '.join(columns[:10])}",
            )
        if name not in slots:
            raise InvalidInput(
                f"stage {name!r} of {source} has no slots",
                where="--stage-slots",
                hint=f"add {name}=1, or give one number for all stages",
            )
    return tuple(slots[name] for name in columns)
