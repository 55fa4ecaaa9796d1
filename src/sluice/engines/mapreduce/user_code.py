"""The code of a real job: what its tasks execute, with the files and programs that belong to it.

Python is looked at by a separate interpreter (`probe`), and commands are looked up (`programs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.engines.mapreduce.fingerprints import CodeVersion, code_version, files_of_commands
from sluice.engines.mapreduce.probe import inspect_python
from sluice.engines.mapreduce.programs import Command, found_command, programs_of
from sluice.engines.mapreduce.task_spec import Step
from sluice.model.errors import InvalidInput
from sluice.model.job import RunSpec, StageRun


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCode:
    """Steps of a job in order; versions of its files; the programs that its commands start."""

    steps: tuple[Step, ...]
    files: tuple[CodeVersion, ...] = ()
    programs: tuple[str, ...] = ()


def user_code_of(run: RunSpec, where: str) -> UserCode:
    """The code of a job, as it is now. Raises InvalidInput for code that is not there."""
    if run.stages:
        return _united(_of_stage(run, one, f"{where}, phase {one.name!r}") for one in run.stages)
    if run.python is not None:
        return _python(run, run.python, where, is_stage=False)
    if run.mapper is None and run.reducer is None:
        raise InvalidInput(
            "run has no mapper and no reducer", where=where, hint="add `mapper:` or `python:`"
        )
    return _commands(run, run, where)


def _of_stage(run: RunSpec, stage: StageRun, where: str) -> UserCode:
    """The code of a phase of a graph: one step with a mapper or a reducer, not both."""
    if stage.python is None:
        return _commands(run, stage, where)
    code = _python(run, stage.python, where, is_stage=True)
    (step,) = code.steps
    if step.has_mapper and step.has_reducer:
        # A module of a whole job: a phase that reads files maps, one that follows others reduces.
        reduces = bool(stage.follows)
        step = replace(
            step, has_mapper=not reduces, has_reducer=reduces, joins=step.joins if reduces else 0
        )
    return replace(code, steps=(step,))


def _united(codes: Iterable[UserCode]) -> UserCode:
    found = list(codes)
    return UserCode(
        steps=tuple(step for code in found for step in code.steps),
        files=tuple(dict.fromkeys(file for code in found for file in code.files)),
        programs=tuple(dict.fromkeys(name for code in found for name in code.programs)),
    )


def _python(run: RunSpec, reference: str, where: str, *, is_stage: bool) -> UserCode:
    steps, files = inspect_python(
        str(Path(run.folder).absolute()),
        reference,
        dict(run.env),
        where=where,
        inherits_env=run.inherit_env,
        is_stage=is_stage,
    )
    return UserCode(
        steps=steps, files=tuple(code_version(path, str(Path(path).parent)) for path in files)
    )


def _commands(run: RunSpec, given: RunSpec | StageRun, where: str) -> UserCode:
    step = Step(
        style="commands",
        mapper=found_command(run, "mapper", given.mapper, where),
        combiner=found_command(run, "combiner", given.combiner, where),
        reducer=found_command(run, "reducer", given.reducer, where),
        has_mapper=given.mapper is not None,
        has_combiner=given.combiner is not None,
        has_reducer=given.reducer is not None,
    )
    folder = str(Path(run.folder).absolute())
    commands = tuple(_given(step))
    return UserCode(
        steps=(step,),
        files=tuple(code_version(path, folder) for path in files_of_commands(folder, commands)),
        programs=programs_of(run, commands),
    )


def _given(step: Step) -> Iterator[Command]:
    yield from (step.mapper, step.combiner, step.reducer)
