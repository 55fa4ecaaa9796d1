"""A job as it is written in a workload file, without values that are defaults."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from sluice.model.buffers import BufferRanges
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase, RunSpec, SlotKind
from sluice.model.lengths import (
    ConstantLengths,
    ListedLengths,
    TableLengths,
    TaskLengths,
    WorkLengths,
)
from sluice.model.resources import RESOURCE_NAMES, Resources

_FIELDS = {SlotKind.MAP: "maps", SlotKind.REDUCE: "reduces"}
_COMMANDS = ("mapper", "combiner", "reducer")
_SHARES = ("bytes", "metadata_share", "spill_threshold")


def job_document(job: Job) -> dict[str, Any]:
    """The entry of the job under `jobs`: with maps and reduces, or with a DAG of phases.

    Raises InvalidInput for a job whose phases are not known, or whose phases a file cannot express:
    two of one name, or a shuffle or map output with other phases than maps and reduces.
    """
    _check_shape(job)
    return {**_head(job), **_phases(job), **dict(_about(job))}


def _head(job: Job) -> dict[str, Any]:
    """Identity, instants and weight."""
    document: dict[str, Any] = {"id": str(job.job_id)}
    if str(job.pool) != str(job.job_id):
        document["pool"] = str(job.pool)
    if job.submitted_at_s:
        document["submitted_at_s"] = job.submitted_at_s
    for name in ("deadline_at_s", "penalty_usd"):
        if getattr(job, name) is not None:
            document[name] = getattr(job, name)
    if job.weight != 1:
        document["weight"] = job.weight
    if job.driver_s:
        document["driver_s"] = job.driver_s
    has_lengths = any(phase.lengths is not None for phase in job.phases)
    if job.profile is not None and not has_lengths:
        document["profile"] = job.profile
    return document


def _phases(job: Job) -> dict[str, Any]:
    if not job.phases:
        return {}
    if not job.is_map_reduce:
        return {"phases": stage_documents(job.phases)}
    document: dict[str, Any] = {}
    for phase in job.phases:
        document |= _phase_documents(phase)
    demand = dict(_demands(job))
    return {**document, "demand": demand} if demand else document


def _check_shape(job: Job) -> None:
    is_known = job.run is not None or job.profile is not None or job.predictions
    if not job.phases and not is_known:
        raise InvalidInput(
            "its tasks are not known", where=f"job {job.job_id!r}", hint="give its phases"
        )
    if job.is_map_reduce:
        return
    names = [phase.name for phase in job.phases]
    if len(set(names)) < len(names):
        raise InvalidInput(
            "two of its phases have one name", where=f"job {job.job_id!r}", hint="name each once"
        )


def _about(job: Job) -> Iterator[tuple[str, Any]]:
    """Map output, buffers, commands and predictions."""
    if job.map_output is not None and (job.is_map_reduce or not job.phases):
        yield "map_output", {"bytes": job.map_output.bytes, "records": job.map_output.records}
    if job.buffer is not None:
        yield "buffer", _buffer(job.buffer)
    if job.run is not None:
        yield "run", _run(job.run)
        if job.run.reduces_wanted is not None and not job.phases:
            yield "reduces", {"tasks": job.run.reduces_wanted}
    if job.predictions:
        yield "predictions", _predictions(job)
    if job.customer is not None:
        yield "customer", job.customer


def _predictions(job: Job) -> dict[str, dict[str, float]]:
    """Seconds by VM type and number of VMs."""
    made: dict[str, dict[str, float]] = {}
    for one in job.predictions:
        made.setdefault(one.vm_type, {})[str(one.vms)] = one.time_s
    return made


# --- phases ---------------------------------------------------------------------------------------


def _demands(job: Job) -> Iterator[tuple[str, dict[str, float]]]:
    for phase in job.phases:
        names = ("map",) if phase.kind is SlotKind.MAP else ("reduce", "shuffle", "shuffle_per_map")
        demand = phase.demand
        for name, amounts in zip(
            names, (demand.work, demand.fetch, demand.fetch_per_map), strict=False
        ):
            if not amounts.is_zero:
                yield name, resources_document(amounts)


def resources_document(amounts: Resources) -> dict[str, Any]:
    """Amounts above 0 as a file has them."""
    named = ((name, getattr(amounts, name)) for name in RESOURCE_NAMES)
    document: dict[str, Any] = {name: amount for name, amount in named if amount}
    other = {name: amount for name, amount in amounts.other if amount}
    return document | ({"resources": other} if other else {})


def _phase_documents(phase: Phase) -> dict[str, Any]:
    document: dict[str, Any] = {
        "tasks": phase.tasks,
        **lengths_document(phase.lengths),
        **_other_members(phase),
    }
    documents = {_FIELDS[phase.kind]: document}
    if phase.fetch is not None:
        documents["shuffle"] = lengths_document(phase.fetch)
    return documents


def _other_members(phase: Phase) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if phase.tasks_max is not None:
        document["tasks_max"] = phase.tasks_max
    names = ("units", "unit_weight")
    return document | {n: getattr(phase, n) for n in names if getattr(phase, n) != 1}


def stage_documents(phases: Sequence[Phase]) -> list[dict[str, Any]]:
    """The stages of a job or of a class, as under `phases`."""
    return [_stage_document(phases, index) for index in range(len(phases))]


def _stage_document(phases: Sequence[Phase], index: int) -> dict[str, Any]:
    """One stage; `after` only where it does not follow just the stage before it.

    A shuffle becomes part of each task's length: stages have no shuffle of their own.
    """
    phase = phases[index]
    lengths = _joined(phase)
    document: dict[str, Any] = {
        "name": phase.name,
        "tasks": phase.tasks,
        **lengths_document(lengths),
        **_other_members(phase),
    }
    if phase.after != ((index - 1,) if index else ()):
        document["after"] = [phases[position].name for position in phase.after]
    if not phase.demand.work.is_zero:
        document["demand"] = resources_document(phase.demand.work)
    return document


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
    ranges = {name: getattr(buffer, name) for name in _SHARES}
    return {
        **{name: [span.low, span.high] for name, span in ranges.items()},
        "default": {name: getattr(buffer.default, name) for name in _SHARES},
    }


def _run(run: RunSpec) -> dict[str, Any]:
    commands = {name: getattr(run, name) for name in _COMMANDS}
    return {
        "input": list(run.input),
        "output": run.output,
        **{name: shlex.join(words) for name, words in commands.items() if words is not None},
        **({} if run.python is None else {"python": run.python}),
        "split_bytes": run.split_bytes,
        **({"env": dict(run.env)} if run.env else {}),
        **({} if run.inherit_env else {"inherit_env": False}),
    }
