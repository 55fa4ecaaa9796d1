"""A job as it is written in a workload file, without values that are defaults."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
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
_NAMES_SHOWN = 4  # enough to recognise the job
_COMMANDS = ("mapper", "combiner", "reducer")
_SHARES = ("bytes", "metadata_share", "spill_threshold")


def job_document(job: Job) -> dict[str, Any]:
    """The entry of the job under `jobs`.

    Raises InvalidInput for a job that is not a map phase and a reduce phase: a workload file cannot
    express it.
    """
    _check_shape(job)
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
    has_lengths = any(phase.lengths is not None for phase in job.phases)
    if job.profile is not None and not has_lengths:
        document["profile"] = job.profile
    for phase in job.phases:
        document |= _phase_documents(phase)
    return document | dict(_about(job))


def _check_shape(job: Job) -> None:
    is_known = job.run is not None or job.profile is not None or job.predictions
    if not job.phases and not is_known:
        raise InvalidInput(
            "its tasks are not known", where=f"job {job.job_id!r}", hint="give its phases"
        )
    if job.phases and not job.is_map_reduce:
        names = [phase.name for phase in job.phases]
        more = ", ..." if len(names) > _NAMES_SHOWN else ""
        raise InvalidInput(
            f"it has {len(names)} phases: {', '.join(names[:_NAMES_SHOWN])}{more}",
            where=f"job {job.job_id!r}",
            hint="a workload file can have only jobs of maps and reduces",
        )


def _about(job: Job) -> Iterator[tuple[str, Any]]:
    """Resource demands, map output, buffers, commands and predictions."""
    demand = dict(_demands(job))
    if demand:
        yield "demand", demand
    if job.map_output is not None:
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
                yield name, _resources(amounts)


def _resources(amounts: Resources) -> dict[str, float]:
    named = ((name, getattr(amounts, name)) for name in RESOURCE_NAMES)
    return {name: amount for name, amount in named if amount}


def _phase_documents(phase: Phase) -> dict[str, Any]:
    document: dict[str, Any] = {"tasks": phase.tasks, **lengths_document(phase.lengths)}
    if phase.tasks_max is not None:
        document["tasks_max"] = phase.tasks_max
    document |= {
        name: getattr(phase, name) for name in ("units", "unit_weight") if getattr(phase, name) != 1
    }
    documents = {_FIELDS[phase.kind]: document}
    if phase.fetch is not None:
        documents["shuffle"] = lengths_document(phase.fetch)
    return documents


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
