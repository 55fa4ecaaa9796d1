"""From the jobs of a file to the model's jobs."""

from __future__ import annotations

import shlex
from typing import Any

from sluice.ingest.errors import Refusal, shown
from sluice.ingest.file_schema.jobs import BufferShape, JobShape, RunShape
from sluice.ingest.phases import check_total, map_reduce_phases, tasks_wanted
from sluice.ingest.shell_syntax import shell_word
from sluice.ingest.stages import stages_of
from sluice.ingest.vm_pools import predictions_of, vm_request_of
from sluice.model.buffers import BufferRanges, BufferSetting, Range
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, PoolId
from sluice.model.job import TASKS_MAX, Job, MapOutput, RunSpec

_COMMANDS = ("mapper", "combiner", "reducer")
_LINE_CHARACTERS_SHOWN = 300


def job_of(shape: JobShape, *, folder: str) -> Job:
    """The job of a file. A job without a pool gets a pool of its own. Raises Refusal.

    folder: where relative paths of `run` start.
    """
    stages = shape.phases
    phases = map_reduce_phases(shape) if stages is None else stages_of(shape, stages)
    check_total(phases)
    is_named = shape.vm_request is not None and shape.limit_s is not None
    is_known = shape.run is not None or shape.profile is not None or shape.predictions is not None
    if not (phases or is_known or is_named):
        raise Refusal(
            "has no task", hint="give maps, reduces or phases with tasks of at least 1, or run"
        )
    try:
        return Job(
            job_id=JobId(shape.id),
            pool=PoolId(shape.id if shape.pool is None else shape.pool),
            phases=phases,
            submitted_at_s=shape.submitted_at_s,
            deadline_at_s=_deadline_at_s(shape),
            weight=shape.weight,
            driver_s=shape.driver_s,
            penalty_usd=shape.penalty_usd,
            map_output=_map_output(shape),
            buffer=None if shape.buffer is None else _buffer(shape.buffer),
            profile=shape.profile,
            run=None if shape.run is None else _run(shape, shape.run, folder),
            predictions=predictions_of(shape),
            vm_request=vm_request_of(shape),
            customer=shape.customer,
            gang=_gang(shape.gang),
            limit_s=shape.limit_s,
            after=tuple(JobId(name) for name in dict.fromkeys(shape.after)),
        )
    except InvalidInput as error:
        raise _refusal(error) from None


def _refusal(error: InvalidInput) -> Refusal:
    """An error of the model as an error of the file; its first word is the field's name."""
    field, _, rest = error.what.partition(" ")
    if field in JobShape.model_fields:
        return Refusal(rest, at=(field,), hint=error.hint)
    return Refusal(f"is refused: {error.what}", hint=error.hint)


def _deadline_at_s(shape: JobShape) -> float | None:
    if shape.deadline_s is None:
        return shape.deadline_at_s
    if shape.deadline_at_s is not None:
        raise Refusal(
            "is given together with deadline_at_s", at=("deadline_s",), hint="give one of the two"
        )
    return shape.submitted_at_s + shape.deadline_s


def _gang(given: bool | int) -> int:  # noqa: FBT001  # the key takes either
    if isinstance(given, bool):
        return TASKS_MAX if given else 0
    return given


def _map_output(shape: JobShape) -> MapOutput | None:
    output = shape.map_output
    return None if output is None else MapOutput(bytes=output.bytes, records=output.records)


def _buffer(shape: BufferShape) -> BufferRanges:
    given: dict[str, Any] = {
        name: _range(name, ends)
        for name in ("bytes", "metadata_share", "spill_threshold")
        if (ends := getattr(shape, name)) is not None
    }
    if shape.default is not None:
        given["default"] = BufferSetting(**shape.default.model_dump())
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


def _run(shape: JobShape, run: RunShape, folder: str) -> RunSpec:
    _check_way(run)
    commands = {name: _command(run, name) for name in _COMMANDS}
    return RunSpec(
        folder=folder,
        input=tuple(run.input),
        output=run.output,
        mapper=commands["mapper"],
        combiner=commands["combiner"],
        reducer=commands["reducer"],
        python=run.python,
        split_bytes=run.split_bytes,
        env=_environment(run),
        inherit_env=run.inherit_env,
        reduces_wanted=None if shape.reduces is None else tasks_wanted(shape.reduces),
    )


def _check_way(run: RunShape) -> None:
    """Commands or Python, not both, and at least a mapper."""
    commands = [name for name in _COMMANDS if getattr(run, name) is not None]
    if run.python is not None and commands:
        raise Refusal(
            f"is given together with {commands[0]}",
            at=("run", "python"),
            hint="give one of the two",
        )
    if run.python is None and run.mapper is None:
        raise Refusal(
            "is missing", at=("run", "mapper"), hint="give a command line, or python instead"
        )
    if run.python is not None and not _names_python(run.python):
        raise Refusal(
            f"is {run.python!r}",
            at=("run", "python"),
            hint="give FILE.py or FILE.py:NAME, as in wordcount.py:WordCount",
        )


def _names_python(reference: str) -> bool:
    file_name, colon, name = reference.partition(":")
    return file_name.endswith(".py") and bool(name) == bool(colon)


def _command(run: RunShape, name: str) -> tuple[str, ...] | None:
    line: str | None = getattr(run, name)
    if line is None:
        return None
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        problem = str(error)
        raise Refusal(
            f"is not a valid command line: {problem[:1].lower()}{problem[1:]}",
            at=("run", name),
            hint="close every quote",
        ) from None
    if not words or not words[0]:
        raise Refusal("is empty", at=("run", name), hint="give a command line, or leave it out")
    _check_no_shell(line, name)
    return words


def _check_no_shell(line: str, name: str) -> None:
    """Refuse a command line that means something else without a shell."""
    line = line.strip()
    word = shell_word(line)
    if word is None:
        return
    in_shell = f"sh -c {shlex.quote(line)}"
    if len(line) > _LINE_CHARACTERS_SHOWN or not line.isprintable():
        in_shell = "sh -c '...'"
    raise Refusal(
        f"holds {shown(word)}, which needs a shell, and runs without one",
        at=("run", name),
        hint=f"write {in_shell}, or put the word in quotes if it is an argument",
    )


def _environment(run: RunShape) -> tuple[tuple[str, str], ...]:
    for name in run.env:
        if not name or "=" in name or "\0" in name:
            raise Refusal(
                "is not a valid name of an environment variable",
                at=("run", "env", name),
                hint="use a name without =",
            )
    return tuple(run.env.items())
