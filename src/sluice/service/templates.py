"""Templates: jobs that an admin has written, with typed arguments for those who submit them.

An argument fills one word of a command or a part of it, and never becomes a word of its own or a
part of a shell's program: the command line is split before it is filled. Source: service spec,
section 11, "What".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from sluice.model.errors import InvalidInput
from sluice.service.requests import Name

_COMMANDS = ("mapper", "combiner", "reducer")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_BLANK = re.compile(r"\{([a-z][a-z0-9_]{0,40})\}")
_OWN = frozenset({"job_id"})  # filled by the service itself
KIND = "template"  # of its documents
TEXT_MAX = 1000  # characters of an argument
Bound = Annotated[float, Field(strict=True)]
Value = StrictStr | StrictInt | StrictFloat | StrictBool


class Parameter(BaseModel):
    """The rules for an argument. pattern: of the whole text; without it no text begins with a dash.

    path: absolute, without `..`.
    """

    model_config = ConfigDict(extra="forbid")

    type: Literal["text", "integer", "number", "path"]
    choices: Annotated[list[Value], Field(max_length=100)] | None = None
    pattern: Annotated[str, Field(max_length=200)] | None = None
    at_least: Bound | None = None
    at_most: Bound | None = None
    default: Value | None = None
    about: Annotated[str, Field(max_length=200)] = ""


class Template(BaseModel):
    """A job with blanks `{name}`, and a parameter for each."""

    model_config = ConfigDict(extra="forbid")

    about: Annotated[str, Field(max_length=500)] = ""
    job: dict[str, Any]
    parameters: Annotated[dict[Name, Parameter], Field(max_length=30)] = {}


def check_template(template: Template) -> None:
    """Raise InvalidInput for a template that is not safe to fill, or never could be."""
    blanks = {name for text in _texts(template.job) for name in _BLANK.findall(text)}
    unknown = sorted(blanks - template.parameters.keys() - _OWN)
    unused = sorted(template.parameters.keys() - blanks)
    if unknown or unused:
        name = (unknown or unused)[0]
        what = "has no parameter" if unknown else "is a parameter, and the job has no such blank"
        raise InvalidInput(f"{{{name}}} {what}", where="parameters", hint="name both alike")
    for command in _COMMANDS:
        words = _words(template.job, command)
        if words and words[0].rpartition("/")[2] in _SHELLS and _BLANK.search(" ".join(words)):
            raise InvalidInput(
                f"its {command} is a program of a shell with blanks in it",
                where=f"job.run.{command}",
                hint="put the program into a file, and give it the arguments as words",
            )
    for name, parameter in template.parameters.items():
        if parameter.pattern is not None:
            _compiled(parameter.pattern, name)
        if parameter.default is not None:
            _checked(name, parameter, parameter.default)


def filled(template: Template, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The job with its blanks filled. Raises InvalidInput."""
    unknown = sorted(arguments.keys() - template.parameters.keys())
    if unknown:
        raise InvalidInput(
            f"the template has no argument {unknown[0]!r:.60}",
            where=f"arguments.{unknown[0]:.60}",
            hint=f"it has {', '.join(sorted(template.parameters)) or 'none'}",
        )
    values = {}
    for name, parameter in template.parameters.items():
        given = arguments.get(name, parameter.default)
        if given is None:
            raise InvalidInput(
                "it is missing", where=f"arguments.{name}", hint=parameter.about or "give it"
            )
        values[name] = _checked(name, parameter, given)
    job = dict(template.job)
    run = job.get("run")
    if isinstance(run, dict):
        commands = {
            command: shlex.join(_filled(word, values) for word in _words(job, command))
            for command in _COMMANDS
            if run.get(command) is not None
        }
        job["run"] = {**_each_filled(run, values), **commands}
    rest = {key: value for key, value in job.items() if key != "run"}
    return {**job, **_each_filled(rest, values)}


def _checked(name: str, parameter: Parameter, given: Any) -> str:  # noqa: ANN401  # a user's value
    """The value as text. Raises InvalidInput."""
    where = f"arguments.{name}"
    if parameter.type in {"integer", "number"}:
        _check_number(where, parameter, given)
    elif not isinstance(given, str) or not given.isprintable() or len(given) > TEXT_MAX:
        raise InvalidInput(
            f"{given!r:.60} is no text",
            where=where,
            hint=f"give up to {TEXT_MAX} printable characters",
        )
    else:
        _check_text(where, parameter, given, name)
    if parameter.choices is not None and given not in parameter.choices:
        known = ", ".join(map(str, parameter.choices))
        raise InvalidInput(
            f"{given!r:.60} is none of its choices", where=where, hint=f"use {known}"
        )
    return str(given)


def _check_number(where: str, parameter: Parameter, given: Any) -> None:  # noqa: ANN401  # a user's value
    kinds = int if parameter.type == "integer" else int | float
    if not isinstance(given, kinds) or isinstance(given, bool):
        raise InvalidInput(f"{given!r:.60} is no {parameter.type}", where=where, hint="give one")
    low, high = parameter.at_least, parameter.at_most
    if low is not None and given < low:
        raise InvalidInput(f"{given} is too small", where=where, hint=f"give at least {low:g}")
    if high is not None and given > high:
        raise InvalidInput(f"{given} is too large", where=where, hint=f"give at most {high:g}")


def _check_text(where: str, parameter: Parameter, given: str, name: str) -> None:
    if parameter.pattern is not None:
        if not _compiled(parameter.pattern, name).fullmatch(given):
            raise InvalidInput(
                f"{given!r:.60} is not of its form", where=where, hint=f"it is {parameter.pattern}"
            )
    elif given.startswith("-"):
        raise InvalidInput(f"{given!r:.60} could be an option", where=where, hint="begin otherwise")
    is_path = given.startswith("/") and ".." not in given.split("/")
    if parameter.type == "path" and not is_path:
        raise InvalidInput(f"{given!r:.60} is no path", where=where, hint="give an absolute path")


def _compiled(pattern: str, name: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidInput(
            f"its pattern cannot be read: {error}", where=f"parameters.{name}", hint="correct it"
        ) from error


def _words(job: Mapping[str, Any], command: str) -> list[str]:
    run = job.get("run")
    line = run.get(command) if isinstance(run, dict) else None
    if not isinstance(line, str):
        return []
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InvalidInput(f"it cannot be split: {error}", where=f"job.run.{command}",
                           hint="close each quote") from error  # fmt: skip


def _each_filled(value: Any, values: Mapping[str, str]) -> Any:  # noqa: ANN401  # JSON
    if isinstance(value, dict):
        return {key: _each_filled(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [_each_filled(each, values) for each in value]
    return _filled(value, values) if isinstance(value, str) else value


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _BLANK.sub(lambda found: values.get(found[1], found[0]), text)


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401  # JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
