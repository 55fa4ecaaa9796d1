"""The options that compose a scheduler of parts: `--order`, `--slots` and so on, and `--preset`.

They are declared once, here. What they say together becomes the one name that `--tasks` may give,
so that a command needs to know of `--tasks` alone. Parts without a preset add to what the file
says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

from sluice.cli import completion
from sluice.cli.answers import talk
from sluice.cli.options import option
from sluice.model.errors import InvalidInput
from sluice.policies.composition import AXES

_PANEL = "Parts of a scheduler"
_QUESTIONS = {
    "order": "Whose turn it is",
    "goals": "Which deadlines are kept first",
    "slots": "Where a task may run",
    "copies": "Which slow tasks get a second attempt",
    "data": "How long a task waits for a node near its input",
    "machines": "Which nodes there are, and whose",
}


def _axis(name: str) -> Any:  # noqa: ANN401  # a type for Typer
    members = AXES[name]
    text = f"{_QUESTIONS[name]}: {', '.join(members)}."
    completes = completion.one_of(*members)
    return Annotated[
        str | None, option(text, f"--{name}", metavar="NAME", completes=completes, panel=_PANEL)
    ]


_OPTIONS: dict[str, Any] = {
    "preset": Annotated[
        str | None,
        option("A combination by its name, or FILE that holds one.", metavar="NAME", panel=_PANEL),
    ],
    **{name: _axis(name) for name in AXES},
}


def takes_parts(command: Callable[..., int]) -> Callable[..., int]:
    """A command with the options of the parts, whose `tasks` then names all that was chosen.

    Release, admission and settings of a preset's file count where the command was given none.
    """

    @wraps(command)
    def with_parts(**given: Any) -> int:  # noqa: ANN401  # of any command
        preset = given.pop("preset")
        members = {name: given.pop(name) for name in AXES}
        if preset is not None:
            _take_preset(given, preset)
        if any(value is not None for value in members.values()):
            from sluice.bootstrap.compositions import composed_text

            base = given["tasks"]
            added = composed_text(base, members)
            given["tasks"] = f"+{added}" if base is None else added
        return command(**given)

    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    known = [one.replace(annotation=hints[name]) for name, one in signature.parameters.items()]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    parameters = [*known, *more]
    vars(with_parts)["__signature__"] = inspect.Signature(parameters, return_annotation=int)
    with_parts.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_parts


def _take_preset(given: dict[str, Any], preset: str) -> None:
    """Set what a preset says, where the command line says nothing."""
    from sluice.bootstrap.presets import AUTO, auto_sentence, read_preset

    if given["tasks"] is not None:
        raise InvalidInput(
            "it is given together with --tasks",
            where="--preset",
            hint="name the combination with one of the two",
        )
    found = read_preset(preset)
    if preset == AUTO:
        talk(auto_sentence())
    given["tasks"] = found.tasks
    for name, said in (("release", found.release), ("admission", found.admission)):
        if given[name] is None:
            given[name] = said
    given["settings"] = [*found.settings, *(given["settings"] or [])]
