"""The real work of the jobs of a file, as the model has it: for a whole job, or for each phase."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


# --- words of a shell -----------------------------------------------------------------------------

# Words are split by the rules of a shell, but no shell runs them: a pipe or a redirection would
# reach the program as an argument. Only unquoted characters count, so `grep "a|b"` and `awk
# '{print $1}'` are ordinary command lines.


_BLANKS = " \t\r\n"
_QUOTED = "\0"  # takes the place of a quoted character

_OPERATOR = re.compile(
    r"""
      \|.* | .*\|                # pipes, also without a blank on one side
    | &&?  | ;;?                 # whole words only: `&` and `;` are common inside arguments
    | .*;                        # `first; second`
    | (\d*|&)[<>].*              # redirections: `>`, `2>&1`, `&>file`, `<<EOF`
    """,
    re.VERBOSE,
)
_EXPANSION = re.compile(r"\$\(|\$\{|\$[A-Za-z_]|`")
_SCRIPT = re.compile(r"[|&;<>]|^[A-Za-z_]\w*=")  # in place of a program: `cat|sort`, `LANG=C sort`


class _Word(NamedTuple):
    """A word as it is written, and the same word with its quoted characters masked."""

    written: str
    bare: str


def shell_word(line: str) -> str | None:
    """The first word of a command line that only a shell understands; None if there is none.

    >>> shell_word("cut -f1 | sort"), shell_word("grep 'a|b' -e"), shell_word("cat $HOME/x")
    ('|', None, '$HOME/x')
    """
    for position, word in enumerate(_words(line)):
        is_script = position == 0 and _SCRIPT.search(word.bare)
        if is_script or _OPERATOR.fullmatch(word.bare) or _EXPANSION.search(word.bare):
            return word.written
    return None


def _words(line: str) -> Iterator[_Word]:
    """The words of a line, split as `shlex.split` does. Every quote must be closed."""
    start, bare, quote = 0, "", ""
    position = 0
    while position < len(line):
        character = line[position]
        if quote:
            bare += _QUOTED
            if character == "\\" and quote == '"':
                position += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            bare += _QUOTED
            quote = character
        elif character == "\\":
            bare += _QUOTED
            position += 1
        elif character in _BLANKS:
            if bare:
                yield _Word(line[start:position], bare)
            start, bare = position + 1, ""
        else:
            bare += character
        position += 1
    if bare:
        yield _Word(line[start:], bare)
