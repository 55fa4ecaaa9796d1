"""The fields of the dataclasses of options, with what the command line needs of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from sluice.api.options import parsers

_FLAG = "flag"
_SAME = object()
_Field = Any  # a field has the type that its line says
_Options = Any  # a value of any class of options
_Argument = Any  # an argument of `option`


class Flag(NamedTuple):
    """An option of the command line.

    name, flag: among the parameters of the command, and as users write it.  text: its help.
    kind: the type of its value; options of a list are given again and again.
    default: None for an option that has none, or whose default the help does not show.
    parser: of the given text, made for the flag.  reads: makes the value of the field.
    completes: names that a shell offers, or the function of `cli.completion` that finds them.
    """

    name: str
    flag: str
    text: str
    kind: type
    default: object
    parser: Callable[[str], Callable[[object], object]] | None
    reads: Callable[[Any], object] | None
    completes: str | tuple[str, ...]
    metavar: str | None
    panel: str | None


def option(
    text: str,
    default: object = None,
    *,
    kind: type | None = None,
    given: object = _SAME,
    completes: str | tuple[str, ...] = "",
    metavar: str | None = None,
    panel: str | None = None,
    **more: _Argument,
) -> _Field:
    """A field that is an option of the command line.

    text, completes, metavar, panel: as in `Flag`, and so are name, flag, parser and reads; name and
    flag are by default those of the field.
    kind: by default the type of the default, or text.
    given: the default of the command line, if not the field's.
    """
    if kind is None:
        kind = list if default == () else str if default is None else type(default)
    if given is _SAME:
        given = None if kind is list else default
    rest = {"name": "", "flag": "", "parser": None, "reads": None, **more}
    made = Flag(
        text=text, kind=kind, default=given, completes=completes, metavar=metavar, panel=panel,
        **rest,
    )  # fmt: skip
    return dataclasses.field(default=default, metadata={_FLAG: made})


def switch(text: str, **more: _Argument) -> _Field:
    """A field that is an option without a value, which sets it."""
    return option(text, default=False, **more)


def count(
    text: str,
    default: int | None = None,
    *,
    low: int = 0,
    high: int = 10**6,
    metavar: str = "N",
    **more: _Argument,
) -> _Field:
    """A field that is an option for a whole number. low, high: its limits."""
    parser = partial(parsers.whole, low=low, high=high)
    return option(text, default, kind=int, parser=parser, metavar=metavar, **more)


def choice(
    text: str, names: str, default: str, *, metavar: str | None = None, **more: _Argument
) -> _Field:
    """A field that is an option for one of a few names, as in "low|high"."""
    completes = tuple(names.split("|"))
    return option(text, default, completes=completes, metavar=metavar or names, **more)


def like(field: str, of: type, **changes: _Argument) -> _Field:
    """A field that is the option of another class, with other words or in another place."""
    other = next(one for one in dataclasses.fields(of) if one.name == field)
    flag = other.metadata[_FLAG]._replace(**changes)
    return dataclasses.field(default=other.default, metadata={_FLAG: flag})


def flags_of(options: type) -> Iterator[tuple[str, Flag]]:
    """The options of the command line, each after the name of its field."""
    for field in dataclasses.fields(options):
        flag = field.metadata.get(_FLAG)
        if flag is not None:
            name = flag.name or field.name
            # Without a flag Typer would add the opposite of a switch, --no-...
            words = flag.flag or f"--{name.replace('_', '-')}"
            yield field.name, flag._replace(name=name, flag=words)


def keywords(*options: _Options) -> dict[str, Any]:
    """The fields that are options of the command line: arguments of the Python function."""
    return {name: getattr(one, name) for one in options for name, _ in flags_of(type(one))}


def made_of(options: type, values: Mapping[str, object]) -> _Options:
    """The options from the values of the command line.

    values: by the names of parameters. None and [] leave the default of the field.
    """
    given = {}
    for name, flag in flags_of(options):
        value = values[flag.name]
        if value not in (None, []):
            given[name] = value if flag.reads is None else flag.reads(value)
    return options(**given)
