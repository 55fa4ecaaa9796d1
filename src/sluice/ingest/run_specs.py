"""The real work of the jobs of a file, as the model has it: for a whole job, or for each phase."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from sluice.ingest.errors import Refusal, shown
from sluice.ingest.file_schema.fields import same_fields
from sluice.ingest.file_schema.jobs import (
    COMMANDS,
    WAYS,
    JobShape,
    JobStageShape,
    RunShape,
    StageRunShape,
)
from sluice.ingest.phases import tasks_wanted
from sluice.ingest.positions import Path
from sluice.ingest.shell_syntax import shell_word
from sluice.model.job import Phase, RunSpec, StageRun

_LINE_CHARACTERS_SHOWN = 300


def run_of(shape: JobShape, run: RunShape, phases: Sequence[Phase], folder: str) -> RunSpec:
    """Return what a job runs. Raises Refusal.

    phases: of the job, in the order in which its phases run.  folder: where relative paths start.
    """
    stages = () if shape.phases is None else tuple(_stages(shape.phases, run, phases))
    if not stages:
        _check_way(run)
    inputs = [name for stage in stages for name in stage.input] if stages else run.input or ()
    own = same_fields(run, RunSpec) | {name: _command(run, name) for name in COMMANDS}
    own.update(input=tuple(dict.fromkeys(inputs)), env=_environment(run), stages=stages)
    wanted = None if shape.reduces is None else tasks_wanted(shape.reduces)
    return RunSpec(folder=folder, reduces_wanted=wanted, **own)


def _stages(
    shapes: Sequence[JobStageShape], run: RunShape, phases: Sequence[Phase]
) -> list[StageRun]:
    """Return what each phase of a graph runs, in the order of the phases. Raises Refusal."""
    for name in (*COMMANDS, "python"):
        if getattr(run, name) is not None:
            raise Refusal(
                "is given together with phases",
                at=("run", name),
                hint="write it in the `run` of a phase",
            )
    found: dict[str, StageRun] = {}
    for index, shape in enumerate(shapes):
        before = [one.name for one in shapes[max(0, index - 1) : index]]
        follows = tuple(dict.fromkeys(before if shape.after is None else shape.after))
        found[shape.name] = _stage(shape, ("phases", index), run, follows)
    return [found[phase.name] for phase in phases]


def _stage(shape: JobStageShape, at: Path, run: RunShape, follows: tuple[str, ...]) -> StageRun:
    given = shape.run
    assert given is not None, "it was looked at with the phases"
    if tasks_wanted(shape) == 0:
        raise Refusal("is 0", at=(*at, "tasks"), hint="leave the phase out, or give 1 or more")
    at = (*at, "run")
    _check_python(given, at)
    ways = [name for name in WAYS if getattr(given, name) is not None]
    if len(ways) != 1:
        raise Refusal(
            f"has {ways[0]} and {ways[1]}" if ways else "has nothing to run",
            at=at,
            hint="give one of mapper, reducer, python",
        )
    if follows and given.input is not None:
        raise Refusal(
            f"is given for a phase that follows {follows[0]!r}, and reads what that writes",
            at=(*at, "input"),
            hint="add after: [] if the phase is to read files",
        )
    inputs = () if follows else tuple(given.input or run.input or ())
    if not follows and not inputs:
        raise Refusal("is missing", at=(*at, "input"), hint="give files, folders or patterns")
    if given.reducer is not None and not follows:
        raise Refusal(
            "is given for a phase that reads files, whose lines are not sorted",
            at=(*at, "reducer"),
            hint="give it a mapper, and add a phase with the reducer",
        )
    commands = {name: _command(given, name, at) for name in COMMANDS}
    return StageRun(name=shape.name, follows=follows, input=inputs, python=given.python, **commands)


def _check_way(run: RunShape) -> None:
    """Input, and commands or Python, not both, and at least a mapper."""
    if run.input is None:
        raise Refusal("is missing", at=("run", "input"), hint="give files, folders or patterns")
    if run.python is None and run.mapper is None:
        raise Refusal(
            "is missing", at=("run", "mapper"), hint="give a command line, or python instead"
        )
    _check_python(run, ("run",))


def _check_python(run: RunShape | StageRunShape, at: Path) -> None:
    """A name of Python code, without commands next to it."""
    if run.python is None:
        return
    for name in COMMANDS:
        if getattr(run, name) is not None:
            raise Refusal(
                f"is given together with {name}", at=(*at, "python"), hint="give one of the two"
            )
    if not _names_python(run.python):
        raise Refusal(
            f"is {run.python!r}",
            at=(*at, "python"),
            hint="give FILE.py or FILE.py:NAME, as in wordcount.py:WordCount",
        )


def _names_python(reference: str) -> bool:
    file_name, colon, name = reference.partition(":")
    return file_name.endswith(".py") and bool(name) == bool(colon)


def _command(
    run: RunShape | StageRunShape, name: str, at: Path = ("run",)
) -> tuple[str, ...] | None:
    line: str | None = getattr(run, name)
    if line is None:
        return None
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        problem = str(error)
        raise Refusal(
            f"is not a valid command line: {problem[:1].lower()}{problem[1:]}",
            at=(*at, name),
            hint="close every quote",
        ) from None
    if not words or not words[0]:
        raise Refusal("is empty", at=(*at, name), hint="give a command line, or leave it out")
    _check_no_shell(line, (*at, name))
    return words


def _check_no_shell(line: str, at: Path) -> None:
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
        at=at,
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
