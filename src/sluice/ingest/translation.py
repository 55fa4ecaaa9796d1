"""Translate pydantic's errors into ours: its error types in our words, hints from descriptions.

A field's description in `file_schema` says what to give ("seconds after submission, above 0"). It
is published in the JSON Schema, and it is the hint of every message about that field.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, takewhile
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from sluice.ingest.document import Document
from sluice.ingest.errors import SORTED_MAX, UNKNOWN_KEY, FieldError, raise_complaints, shown
from sluice.ingest.file_schema.workload import WorkloadShape
from sluice.ingest.positions import Path
from sluice.ingest.suggestions import nearest, suggestion

_Shape = TypeVar("_Shape", bound=BaseModel)
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
_PLACES_SHOWN = 4
# A key that exists elsewhere was more likely misplaced than misspelled, unless it is this similar.
_MISSPELLED = 0.8
_NOTHING_NEAR = ("remove it", "use one of")  # the hints of `suggestion` for a name like no other
_TYPE_NAMES = {str: "text", int: "a number", float: "a number", bool: "true or false",
               list: "a list", dict: "a mapping", type(None): "null"}  # fmt: skip
# The hint contains the lower bound; the upper one may be a surprise.
_BOUNDS = {
    "greater_than": "",
    "greater_than_equal": "",
    "less_than": ", not below {lt:g}",
    "less_than_equal": ", above {le:g}",
}

_TOO_SHORT = ("string_too_short", "too_short")


def validated(document: Document, shape: type[_Shape], value: object) -> _Shape:
    """The value of a document that is a mapping, in its shape.

    Raises InvalidInput for all that is wrong with it, as `raise_complaints` does.
    """
    if what := whole_file_fault(value, shape):
        raise_complaints(document, [FieldError((), what, "start it with `version: 1`")])
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        raise_complaints(document, list(complaints(error, shape)))


def whole_file_fault(value: object, shape: type[BaseModel]) -> str:
    """Why a document cannot be of the shape at all, "" if it may be.

    Such a file may have been given by mistake and hold passwords, and messages end up in logs. So
    its content is not quoted.
    """
    if value is None:
        return "is empty"
    if not isinstance(value, dict):
        return f"is {_TYPE_NAMES.get(type(value), 'a value')}, not a mapping"
    names = list(islice(value, SORTED_MAX))
    is_other = all(
        name not in _keys(shape, ())
        and _unknown_key_hint(shape, (str(name),), ()).startswith(_NOTHING_NEAR)
        for name in names
    )
    return "has no known key" if names and is_other else ""


def complaints(
    error: ValidationError, shape: type[BaseModel], settings: Collection[str] = ()
) -> Iterator[FieldError]:
    """The first of pydantic's errors about a value of `shape`; their paths start at the value.

    settings: names of settings, for the hint about one that is outside of `settings`.
    """
    for detail in error.errors(include_url=False)[:SORTED_MAX]:
        steps: Path = detail["loc"]
        if detail["type"] == "extra_forbidden":
            yield FieldError(steps, UNKNOWN_KEY, _unknown_key_hint(shape, steps, settings))
        else:
            yield FieldError(steps, *_message(detail, shape, steps))


def _message(detail: Mapping[str, Any], shape: type[BaseModel], steps: Path) -> tuple[str, str]:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "refused":
        return str(context["what"]), str(context["hint"])
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
    if kind in _TOO_SHORT and context["min_length"] == 1:
        return "is empty"
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
    """Return what to give for a field, from its description."""
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


# What others call a key, where no letters say which is meant.
_LENGTH, _INSTANT = ("avg_s",), ("submitted_at_s",)
_SLOTS = ("map_slots", "reduce_slots", "containers")
_ALSO_CALLED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "task_s": _LENGTH, "mean_s": _LENGTH, "average_s": _LENGTH, "seconds": _LENGTH,
        "duration_s": _LENGTH, "slots": _SLOTS, "cores": ("cpus", *_SLOTS), "count": ("tasks",),
        "name": ("id",), "depends_on": ("after",), "needs": ("after",), "user": ("pool",),
        "queue": ("pool",), "arrival_s": _INSTANT, "submit_s": _INSTANT, "release_s": _INSTANT,
        "stages": ("phases",),
    }
)  # fmt: skip


def _unknown_key_hint(shape: type[BaseModel], steps: Path, settings: Collection[str]) -> str:
    """The nearest key of the same mapping, or where in the file the key belongs."""
    key, known = str(steps[-1]), _keys(shape, steps[:-1])
    meant = [one for one in _ALSO_CALLED.get(key, ()) if one in known]
    if meant:
        return f"did you mean {_either(meant)}?"
    places = _places_of(key, shape, steps)
    if key.rpartition(".")[2] in settings:
        places.append("settings")
    if not places:
        return suggestion(key, known)
    cut = [name for name in known if name.startswith(key)]  # as map, of mapper
    near = nearest(key, known, similarity=_MISSPELLED) or (cut[0] if len(cut) == 1 else "")
    question = f"did you mean {near}? Or " if near else ""
    return f"{question}move it to {_either(places)}"


def _either(names: Sequence[str]) -> str:
    """The names as a choice."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _places_of(key: str, shape: type[BaseModel], steps: Path) -> list[str]:
    """Where the file has this key: the places nearest to where it was found, few or none."""
    known = _mappings(WorkloadShape)
    if shape not in known.values():
        known = _mappings(shape)
    start = next(path for path, one in known.items() if one is shape)
    here = start + tuple(str(step) for step in steps[:-1] if not isinstance(step, int))
    places = [path for path, one in known.items() if key in one.model_fields]
    shared = max((_shared_steps(path, here) for path in places), default=0)
    nearby = {path for path in places if _shared_steps(path, here) == shared}
    if len(nearby) > _PLACES_SHOWN:  # then only the mappings around them
        nearby = {path[: shared + 1] for path in nearby}
    if len(nearby) > _PLACES_SHOWN:
        return []
    ordered = sorted(nearby, key=lambda path: (len(path), path))
    return [".".join(path) or "the top level of the file" for path in ordered]


def _shared_steps(path: tuple[str, ...], other: tuple[str, ...]) -> int:
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, other, strict=False))
    )


@cache
def _mappings(shape: type[BaseModel]) -> dict[tuple[str, ...], type[BaseModel]]:
    """All mappings in a value of `shape`, by their paths without the positions in lists."""
    found: dict[tuple[str, ...], type[BaseModel]] = {(): shape}
    for name, field in shape.model_fields.items():
        inner = bare(field.annotation)
        if get_origin(inner) is list:
            inner = bare(get_args(inner)[0])
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found |= {(name, *path): one for path, one in _mappings(inner).items()}
    return found


def _keys(shape: type[BaseModel], steps: Path) -> list[str]:
    owner = _inner(shape, steps)
    if isinstance(owner, type) and issubclass(owner, BaseModel):
        return list(owner.model_fields)
    return []


def _inner(annotation: Any, steps: Path) -> Any:  # noqa: ANN401  # annotations have no common type
    """The annotation of the value that steps lead to."""
    for step in steps:
        annotation = bare(annotation)
        arguments = get_args(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(step))
            annotation = None if field is None else field.annotation
        elif isinstance(step, int) and get_origin(annotation) is tuple:
            annotation = arguments[step] if step < len(arguments) else None
        else:
            annotation = arguments[-1] if arguments else None
    return bare(annotation)


def bare(annotation: Any) -> Any:  # noqa: ANN401  # as above
    """An annotation without `Annotated` and without `| None`."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, types.UnionType):
            annotation = next(one for one in get_args(annotation) if one is not type(None))
        else:
            return annotation
