"""From the jobs of a file to the model's jobs."""

from __future__ import annotations

from typing import Any, TypeVar

from sluice.ingest.errors import Refusal
from sluice.ingest.file_schema.fields import Shape, same_fields
from sluice.ingest.file_schema.jobs import BufferShape, JobShape
from sluice.ingest.phases import check_total, map_reduce_phases
from sluice.ingest.run_specs import run_of
from sluice.ingest.stages import stages_of
from sluice.ingest.vm_pools import predictions_of
from sluice.model.buffers import BufferRanges, BufferSetting, Range
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import TASKS_MAX, Job, MapOutput, VmRequest

_Kind = TypeVar("_Kind")


def job_of(shape: JobShape, *, folder: str) -> Job:
    """The job of a file. A job without a pool gets a pool of its own. Raises Refusal.

    folder: where relative paths of `run` start.
    """
    stages = shape.phases
    phases = map_reduce_phases(shape) if stages is None else stages_of(shape, stages)
    check_total(phases)
    own = same_fields(shape, Job)
    is_named = shape.vm_request is not None and own["limit_s"] is not None
    is_known = shape.run is not None or shape.profile is not None or shape.predictions is not None
    if not (phases or is_known or is_named):
        raise Refusal(
            "has no task", hint="give maps, reduces or phases with tasks of at least 1, or run"
        )
    try:
        own.update(
            pool=shape.id if shape.pool is None else shape.pool,
            phases=phases,
            deadline_at_s=_deadline_at_s(shape, own["submitted_at_s"]),
            map_output=_made(MapOutput, shape.map_output),
            buffer=None if shape.buffer is None else _buffer(shape.buffer),
            run=None if shape.run is None else run_of(shape, shape.run, phases, folder),
            predictions=predictions_of(shape),
            vm_request=_made(VmRequest, shape.vm_request),
            gang=_gang(shape.gang),
            after=tuple(dict.fromkeys(shape.after)),
        )
        return Job(job_id=JobId(shape.id), **own)
    except InvalidInput as error:
        raise _refusal(error) from None


def _refusal(error: InvalidInput) -> Refusal:
    """An error of the model as an error of the file; its first word is the field's name."""
    field, _, rest = error.what.partition(" ")
    if field in JobShape.model_fields:
        return Refusal(rest, at=(field,), hint=error.hint)
    return Refusal(f"is refused: {error.what}", hint=error.hint)


def _deadline_at_s(shape: JobShape, submitted_at_s: float) -> float | None:
    if shape.deadline_s is None:
        return shape.deadline_at_s
    if shape.deadline_at_s is not None:
        raise Refusal(
            "is given together with deadline_at_s", at=("deadline_s",), hint="give one of the two"
        )
    return submitted_at_s + shape.deadline_s


def _gang(given: bool | int) -> int:  # noqa: FBT001  # the key takes either
    if isinstance(given, bool):
        return TASKS_MAX if given else 0
    return given


def _made(kind: type[_Kind], shape: Shape | None) -> _Kind | None:
    """The value of the model whose fields a shape has; None without one."""
    return None if shape is None else kind(**same_fields(shape, kind))


def _buffer(shape: BufferShape) -> BufferRanges:
    given: dict[str, Any] = {
        name: _range(name, ends)
        for name in ("bytes", "metadata_share", "spill_threshold")
        if (ends := getattr(shape, name)) is not None
    }
    if shape.default is not None:
        given["default"] = _made(BufferSetting, shape.default)
    return BufferRanges(**given)


def _range(name: str, ends: list[float]) -> Range:
    low, high = ends
    if high < low:
        raise Refusal(
            f"is [{low:g}, {high:g}]",
            at=("buffer", name),
            hint="give the least first, then the greatest",
        )
    return Range(low, high)
