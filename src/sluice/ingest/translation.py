"""Translate pydantic's errors into ours: its error types in our words, hints from descriptions.

A field's description in `file_schema` says what to give ("seconds after submission, above 0"). It
is published in the JSON Schema, and it is the hint of every message about that field.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from sluice.ingest.errors import SORTED_MAX, UNKNOWN_KEY, FieldError, shown
from sluice.ingest.positions import Path
from sluice.ingest.suggestions import suggestion

_WANTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "literal_error": "one of these words",
    "list_type": "a list",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "string_type": "text",
    "tuple_type": "a list",
}
_TYPE_NAMES = {int: "a number", float: "a number", bool: "true or false", list: "a list",
               dict: "a mapping", type(None): "null"}  # fmt: skip
# The hint contains the lower bound; the upper one may be a surprise.
_BOUNDS = {
    "greater_than": "",
    "greater_than_equal": "",
    "less_than": ", not below {lt:g}",
    "less_than_equal": ", above {le:g}",
}


def complaints(error: ValidationError, shape: type[BaseModel], base: Path) -> Iterator[FieldError]:
    """The first of pydantic's errors about the value of `shape` at the path `base`."""
    for detail in error.errors(include_url=False)[:SORTED_MAX]:
        steps: Path = detail["loc"]
        what, hint = _message(detail, shape, steps)
        yield FieldError(base + steps, what, hint)


def _message(detail: Mapping[str, Any], shape: type[BaseModel], steps: Path) -> tuple[str, str]:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "refused":
        return str(context["what"]), str(context["hint"])
    if kind == "extra_forbidden":
        return UNKNOWN_KEY, suggestion(str(steps[-1]), _keys(shape, steps[:-1]))
    hint = hint_of(shape, steps)
    if kind == "literal_error":
        hint = _choice(value, context["expected"])
    elif kind in _WANTED:
        hint = _typed_hint(kind, value, hint)
    if kind in _WANTED and steps[-3:-1] == ("run", "env"):
        # It may be a secret, and messages end up in logs.
        return f"is {_TYPE_NAMES.get(type(value), 'a value')}, not {_WANTED[kind]}", hint
    return _what(kind, value, context, str(detail["msg"])), hint


def _what(kind: str, value: object, context: Mapping[str, Any], message: str) -> str:
    if kind == "missing":
        return "is missing"
    if kind in _WANTED:
        return f"is {shown(value)}, not {_WANTED[kind]}"
    if kind in _BOUNDS:
        return f"is {shown(value)}{_BOUNDS[kind].format(**context)}"
    return f"is refused: {message[:1].lower()}{message[1:]}"


def _choice(value: object, expected: str) -> str:
    known = [word for word in expected.split("'") if word.strip() not in ("", ",", "or")]
    hint = suggestion(value, known) if isinstance(value, str) else ""
    return hint if hint.startswith("did you mean") else f"give {' or '.join(known) or expected}"


def _typed_hint(kind: str, value: object, hint: str) -> str:
    if kind == "string_type" and isinstance(value, int | float):
        return "put it in quotes"
    if kind in ("float_type", "int_type") and isinstance(value, str):
        return f"{hint}; numbers are written as in JSON, without quotes"
    return hint


def hint_of(shape: type[BaseModel], steps: Path) -> str:
    """What to give for a field, from its description."""
    description = None
    for length in range(len(steps), 0, -1):
        field = _field(shape, steps[:length])
        if field is not None and field.description:
            description = field.description
            break
    return f"give {description}" if description else "see `sluice schema`"


def _field(shape: type[BaseModel], steps: Path) -> FieldInfo | None:
    owner = _inner(shape, steps[:-1])
    if isinstance(owner, type) and issubclass(owner, BaseModel):
        return owner.model_fields.get(str(steps[-1]))
    return None


def _keys(shape: type[BaseModel], steps: Path) -> list[str]:
    owner = _inner(shape, steps)
    if isinstance(owner, type) and issubclass(owner, BaseModel):
        return list(owner.model_fields)
    return []


def _inner(annotation: Any, steps: Path) -> Any:  # noqa: ANN401  # annotations have no common type
    """The annotation of the value that steps lead to."""
    for step in steps:
        annotation = _bare(annotation)
        arguments = get_args(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(step))
            annotation = None if field is None else field.annotation
        elif isinstance(step, int) and get_origin(annotation) is tuple:
            annotation = arguments[step] if step < len(arguments) else None
        else:
            annotation = arguments[-1] if arguments else None
    return _bare(annotation)


def _bare(annotation: Any) -> Any:  # noqa: ANN401  # as above
    """An annotation without `Annotated` and without `| None`."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, types.UnionType):
            annotation = next(one for one in get_args(annotation) if one is not type(None))
        else:
            return annotation
