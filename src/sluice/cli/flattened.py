"""Commands that take the options of dataclasses, see `api.options`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

from sluice.api.options.fields import Flag, flags_of, made_of
from sluice.cli import completion, options


class GivenNames(frozenset[str]):
    """The names of the options that the command line gives, of those without a default there."""


def flattened(command: Callable[..., int]) -> Callable[..., int]:
    """A command with an option for each field of its parameters that are dataclasses.

    Its body gets the dataclasses, and a parameter of GivenNames what it says. The order of the help
    is that of the parameters, and of their fields.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)
    }
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(command).parameters.values():
        if hints[one.name] is GivenNames:
            continue
        if one.name in groups:
            parameters += [_parameter(flag) for _, flag in flags_of(hints[one.name])]
        else:
            parameters.append(one.replace(annotation=hints[one.name]))

    @wraps(command)
    def with_options(**given: Any) -> int:  # noqa: ANN401  # of any command  # of any command
        made: dict[str, Any] = {
            name: GivenNames(one for one, value in given.items() if value not in (None, []))
            for name, hint in hints.items()
            if hint is GivenNames
        }
        for name, group in groups.items():
            taken = {flag.name: given.pop(flag.name) for _, flag in flags_of(group)}
            made[name] = made_of(group, taken)
        return command(**given, **made)

    vars(with_options)["__signature__"] = inspect.Signature(parameters, return_annotation=int)
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


def _parameter(flag: Flag) -> inspect.Parameter:
    """A parameter as Typer reads it."""
    kind: Any = list[str] if flag.kind is list else flag.kind
    completes: Any = flag.completes
    if isinstance(completes, str):
        completes = getattr(completion, completes) if completes else None
    else:
        completes = completion.one_of(*completes)
    made = options.option(
        flag.text,
        flag.flag,
        metavar=flag.metavar,
        parser=flag.parser and flag.parser(flag.flag),
        completes=completes,
        panel=flag.panel,
    )
    return inspect.Parameter(
        flag.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=flag.default,
        annotation=Annotated[kind if flag.default is not None else kind | None, made],
    )
