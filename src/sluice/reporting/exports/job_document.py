"""A job as it is written in a workload file, without values that are defaults."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, fields
from enum import Enum
from typing import Any

from sluice.ingest.file_schema.fields import Shape
from sluice.ingest.file_schema.jobs import (
    COMMANDS,
    BufferShape,
    JobShape,
    PhaseShape,
    ResourcesShape,
    RunShape,
    StageRunShape,
    StageShape,
    VmRequestShape,
)
from sluice.model.buffers import BufferRanges
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase, RunSpec, StageRun
from sluice.model.lengths import (
    ConstantLengths,
    ListedLengths,
    TableLengths,
    TaskLengths,
    WorkLengths,
)
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind

_FIELDS = {SlotKind.MAP: "maps", SlotKind.REDUCE: "reduces"}
_SHARES = ("bytes", "metadata_share", "spill_threshold")


def written(shape: type[Shape], value: Any, **given: object) -> dict[str, Any]:  # noqa: ANN401  # any dataclass of the model
    """The keys of a shape that a value of the model has, in the order of the shape.

    A key has the field of the same name, unless the field has its default, or else the value in
    `given`. None is left out.
    """
    defaults = {field.name: field.default for field in fields(value)}
    document: dict[str, Any] = {}
    for name in shape.model_fields:
        if name in given:
            document[name] = given[name]
        elif name in defaults and (held := getattr(value, name)) != defaults[name]:
            document[name] = held.value if isinstance(held, Enum) else held
    return {name: held for name, held in document.items() if held is not None}


def job_document(job: Job) -> dict[str, Any]:
    """The entry of the job under `jobs`: with maps and reduces, or with a DAG of phases.

    Raises InvalidInput for a job whose phases are not known, or whose phases a file cannot express:
    two of one name, or a shuffle or map output with other phases than maps and reduces.
    """
    _check_shape(job)
    is_typed = job.is_map_reduce or not job.phases
    has_lengths = any(phase.lengths is not None for phase in job.phases)
    return written(
        JobShape,
        job,
        id=str(job.job_id),
        pool=None if str(job.pool) == str(job.job_id) else str(job.pool),
        after=list(map(str, job.after)) or None,
        **(_map_reduce(job) if is_typed else {}),
        phases=None if is_typed else _stages_of(job),
        profile=None if has_lengths else job.profile,
        run=None if job.run is None else _run(job.run),
        map_output=asdict(job.map_output) if job.map_output is not None and is_typed else None,
        buffer=None if job.buffer is None else _buffer(job.buffer),
        predictions=_predictions(job) or None,
        vm_request=None if job.vm_request is None else written(VmRequestShape, job.vm_request),
    )


def _stages_of(job: Job) -> list[dict[str, Any]]:
    """The phases of a graph, each with what it runs."""
    runs = {} if job.run is None else {one.name: one for one in job.run.stages}
    documents = stage_documents(job.phases)
    if not runs:
        return documents
    return [_with_run(document, runs[document["name"]]) for document in documents]


def _with_run(document: dict[str, Any], stage: StageRun) -> dict[str, Any]:
    """A phase that runs; the order of those that it follows is that of its input."""
    after = {"after": list(stage.follows)} if "after" in document else {}
    return {**document, **after, "run": _stage_run(stage)}


def _stage_run(stage: StageRun) -> dict[str, Any]:
    return written(StageRunShape, stage, input=list(stage.input) or None, **_command_lines(stage))


def _map_reduce(job: Job) -> dict[str, Any]:
    """Maps, reduces, shuffle and demand."""
    document: dict[str, Any] = {}
    if not job.phases and job.run is not None and job.run.reduces_wanted is not None:
        document["reduces"] = {"tasks": job.run.reduces_wanted}
    for phase in job.phases:
        document[_FIELDS[phase.kind]] = _phase_document(phase)
        if phase.fetch is not None:
            document["shuffle"] = lengths_document(phase.fetch)
    return {**document, "demand": _demand(job) or None}


def _check_shape(job: Job) -> None:
    is_named = job.vm_request is not None and job.limit_s is not None
    is_known = job.run is not None or job.profile is not None or job.predictions or is_named
    if not job.phases and not is_known:
        raise InvalidInput(
            "its tasks are not known", where=f"job {job.job_id!r}", hint="give its phases"
        )
    names = [phase.name for phase in job.phases]
    if not job.is_map_reduce and len(set(names)) < len(names):
        raise InvalidInput(
            "two of its phases have one name", where=f"job {job.job_id!r}", hint="name each once"
        )


def _predictions(job: Job) -> dict[str, dict[str, float]]:
    """Seconds by VM type and number of VMs."""
    made: dict[str, dict[str, float]] = {}
    for one in job.predictions:
        made.setdefault(one.vm_type, {})[str(one.vms)] = one.time_s
    return made


# --- phases ---------------------------------------------------------------------------------------


def _demand(job: Job) -> dict[str, Any]:
    demands = []
    for phase in job.phases:
        demand = phase.demand
        if phase.kind is SlotKind.MAP:
            demands.append(("map", demand.work))
        else:
            demands += [("shuffle", demand.fetch), ("reduce", demand.work)]
            demands.append(("shuffle_per_map", demand.fetch_per_map))
    return {name: resources_document(amounts) for name, amounts in demands if not amounts.is_zero}


def resources_document(amounts: Resources) -> dict[str, Any]:
    """Amounts above 0 as a file has them."""
    other = {name: amount for name, amount in amounts.other if amount}
    return written(ResourcesShape, amounts, resources=other or None)


def _phase_document(phase: Phase) -> dict[str, Any]:
    return {
        "tasks": phase.tasks, **lengths_document(phase.lengths), **written(PhaseShape, phase),
    }  # fmt: skip


def stage_documents(phases: Sequence[Phase]) -> list[dict[str, Any]]:
    """The stages of a job or of a class, as under `phases`."""
    return [_stage_document(phases, index) for index in range(len(phases))]


def _stage_document(phases: Sequence[Phase], index: int) -> dict[str, Any]:
    """One stage; `after` only where it does not follow just the stage before it.

    A shuffle becomes part of each task's length: stages have no shuffle of their own.
    """
    phase = phases[index]
    follows_last = phase.after == ((index - 1,) if index else ())
    work = phase.demand.work
    return {
        "name": phase.name,
        "tasks": phase.tasks,
        **lengths_document(_joined(phase)),
        **written(
            StageShape,
            phase,
            after=None if follows_last else [phases[place].name for place in phase.after],
            demand=None if work.is_zero else resources_document(work),
        ),
    }


def _joined(phase: Phase) -> TaskLengths | None:
    fetch, lengths = phase.fetch, phase.lengths
    if fetch is None or lengths is None:
        return lengths
    tasks = phase.tasks
    if isinstance(fetch, ListedLengths) and isinstance(lengths, ListedLengths):
        pairs = zip(fetch.durations_s, lengths.durations_s, strict=True)
        return ListedLengths(tuple(fetch_s + work_s for fetch_s, work_s in pairs))
    return ConstantLengths(
        fetch.avg_s(tasks) + lengths.avg_s(tasks), fetch.max_s(tasks) + lengths.max_s(tasks)
    )


def lengths_document(lengths: TaskLengths | None) -> dict[str, Any]:
    """Lengths in the form in which they are given."""
    match lengths:
        case None:
            return {}
        case ConstantLengths(average_s, longest_s):
            longest = {} if longest_s == average_s else {"max_s": longest_s}
            return {"avg_s": average_s, **longest}
        case ListedLengths(durations_s):
            return {"durations_s": list(durations_s)}
        case WorkLengths(fixed_s, work_s, max_factor):
            factor = {} if max_factor == 1 else {"max_factor": max_factor}
            return {"fixed_s": fixed_s, "work_s": work_s, **factor}
        case TableLengths(rows):
            return {"rows": [list(row) for row in rows]}
        case _:
            raise TypeError(f"a file cannot express {type(lengths).__name__}")


# --- buffer and run -------------------------------------------------------------------------------


def _buffer(buffer: BufferRanges) -> dict[str, Any]:
    spans = {name: getattr(buffer, name) for name in _SHARES}
    ranges = {name: [span.low, span.high] for name, span in spans.items()}
    return written(BufferShape, buffer, **ranges, default=asdict(buffer.default))


def _run(run: RunSpec) -> dict[str, Any]:
    return written(
        RunShape, run, input=None if run.stages else list(run.input), split_bytes=run.split_bytes,
        env=dict(run.env) or None, **_command_lines(run),
    )  # fmt: skip


def _command_lines(run: RunSpec | StageRun) -> dict[str, str]:
    commands = {name: getattr(run, name) for name in COMMANDS}
    return {name: shlex.join(words) for name, words in commands.items() if words is not None}
