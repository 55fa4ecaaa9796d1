"""Events as text and back, exactly: one line of plain JSON each. The journal is written in it.

Writing looks at values, reading at the declared types. A value class becomes an object of its
fields, without those that have their default, so that a field added later reads old lines. A
tuple becomes an array, an enum member its value, a mapping an array of pairs. Where a field holds
one of several classes (`TaskLengths`), the object says which by `is`. Numbers keep every bit;
NaN and infinities are refused, because JSON has none.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

from sluice.core.commands import Command
from sluice.core.events import Event
from sluice.core.reasons import Reason
from sluice.model.errors import InvalidInput
from sluice.model.lengths import (
    ConstantLengths,
    ListedLengths,
    TableLengths,
    TaskLengths,
    WorkLengths,
)

# The classes behind a type that several classes share.
_FORMS: dict[Any, tuple[type, ...]] = {
    TaskLengths: (ConstantLengths, ListedLengths, WorkLengths, TableLengths),
    Event: get_args(Event),
}
_NAMED_FORMS = frozenset(form for forms in _FORMS.values() for form in forms)
_WHICH = "is"
_ABSENT = object()
_SCALARS = frozenset({types.NoneType, str, float, int, bool})

_Reader = Callable[[Any], Any]


def encode(event: Event) -> str:
    """The event as one line of ASCII.

    >>> from sluice.core.events import Tick
    >>> encode(Tick(1.5))
    '{"is":"Tick","at_s":1.5}'
    """
    return _line(_plain(event))


def decode(line: str | bytes) -> Event:
    """The event that a line encodes. Raises InvalidInput if it encodes none.

    >>> decode('{"is":"Tick","at_s":1.5}')
    Tick(at_s=1.5)
    """
    try:
        event: Event = _reader(Event)(json.loads(line))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"no event can be read from {line[:80]!r}: {error}") from error
    return event


def as_plain(value: object) -> object:
    """Any value that an event may hold, as plain JSON values."""
    return _plain(value)


def from_plain(kind: Any, plain: object) -> Any:  # noqa: ANN401  # a type goes in, its value comes out
    """The value of a declared type that `as_plain` made plain. Raises TypeError for another type.

    >>> from_plain(TaskLengths, as_plain(ConstantLengths(2.0, 3.0))).max_s(1)
    3.0
    """
    return _reader(kind)(plain)


def decision_line(commands: Iterable[Command]) -> str:
    """Return what was decided, as one line to be compared; why it was decided is left out.

    A release that words its reasons better must not make older journals look contradicted.
    """
    return _line(
        [
            [type(command).__name__, *(_plain(part) for part in command if not _is_reason(part))]
            for command in commands
        ]
    )


def _is_reason(part: object) -> bool:
    return isinstance(part, Reason)


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def _line(plain: object) -> str:
    return _ENCODER.encode(plain)


# --- writing: by value ------------------------------------------------------------------------


def _plain(value: Any) -> Any:  # noqa: ANN401  # values of every type go in
    kind: Any = type(value)
    if kind in _SCALARS:
        return value
    if kind is tuple:
        return [_plain(part) for part in value]
    return _writer(kind)(value)


@cache
def _writer(kind: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # two sorts of class
    """How values of a class are written. Which sort of class it is costs more than the writing."""
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, Mapping):
        return lambda value: [[_plain(key), _plain(held)] for key, held in value.items()]
    start = {_WHICH: kind.__name__} if kind in _NAMED_FORMS else {}
    fields = _fields(kind)

    def write(value: object) -> dict[str, Any]:
        written: dict[str, Any] = start.copy()
        for name, default in fields:
            held = getattr(value, name)
            if not _is_same(held, default):
                written[name] = _plain(held)
        return written

    return write


def _is_same(held: object, default: object) -> bool:
    """Whether a field may be left out. 0 and 0.0 are equal but not the same."""
    if held is default:
        return True
    return (
        type(held) is type(default)
        and isinstance(default, (str, float, int, tuple))
        and held == default
    )


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401  # two sorts of class
    """Names of a value class's fields, each with its default; without those that it works out."""
    if dataclasses.is_dataclass(kind):
        given = (field for field in dataclasses.fields(kind) if field.init)
        return tuple((field.name, _default(field)) for field in given)
    defaults = kind._field_defaults  # every other is a named tuple
    return tuple((name, defaults.get(name, _ABSENT)) for name in kind._fields)


def _default(field: dataclasses.Field[Any]) -> object:
    return _ABSENT if field.default is dataclasses.MISSING else field.default


@cache
def event_classes() -> Mapping[tuple[str, str], tuple[type, tuple[str, ...]]]:
    """Every class that an event may hold, by module and name, with its fields or members."""
    found: dict[tuple[str, str], tuple[type, tuple[str, ...]]] = {}
    waiting: list[Any] = [Event]
    while waiting:
        hint = waiting.pop()
        inner = hint.__supertype__ if isinstance(hint, NewType) else None
        if inner is not None or get_origin(hint) is not None or hint in _FORMS:
            waiting += _FORMS.get(hint, get_args(hint)) if inner is None else (inner,)
            continue
        if not isinstance(hint, type) or hint in _SCALARS:
            continue
        kind: Any = hint
        name = kind.__module__, kind.__qualname__
        if name in found:
            continue
        if issubclass(kind, Enum):
            found[name] = kind, tuple(kind.__members__)
        else:
            found[name] = kind, tuple(field for field, _ in _fields(kind))
            waiting += get_type_hints(kind).values()
    return found


# --- reading: by declared type ----------------------------------------------------------------


@cache
def _reader(hint: Any) -> _Reader:  # noqa: ANN401  # type hints have no common type
    """How values of a declared type are read. TypeError where the codec does not know the type."""
    if hint in _FORMS:
        return _one_of({form.__name__: _object_reader(form) for form in _FORMS[hint]})
    if isinstance(hint, NewType):
        return _reader(hint.__supertype__)
    if hint in {str, float, int, bool}:
        return _as_is
    origin = get_origin(hint)
    if origin in {types.UnionType, Union}:
        return _optional(*get_args(hint))
    if origin in {tuple, Mapping}:
        return (_tuple_reader if origin is tuple else _mapping_reader)(*get_args(hint))
    return _class_reader(hint)


def _class_reader(kind: type) -> _Reader:
    if isinstance(kind, type):
        if issubclass(kind, Enum):
            return kind
        if dataclasses.is_dataclass(kind) or issubclass(kind, tuple):
            return _object_reader(kind)
    raise TypeError(f"no way to read {kind} is known")


def _as_is(plain: Any) -> Any:  # noqa: ANN401  # as `_plain`
    if isinstance(plain, list | dict):
        raise TypeError(f"{type(plain).__name__} is not a single value")
    return plain


def _one_of(readers: Mapping[str, _Reader]) -> _Reader:
    return lambda plain: readers[plain.pop(_WHICH)](plain)


def _optional(*hints: Any) -> _Reader:  # noqa: ANN401  # as `_reader`
    (inner,) = [_reader(hint) for hint in hints if hint is not types.NoneType]
    return lambda plain: None if plain is None else inner(plain)


def _tuple_reader(*hints: Any) -> _Reader:  # noqa: ANN401  # as `_reader`
    if hints[-1] is Ellipsis:
        read = _reader(hints[0])
        return lambda plain: tuple([read(part) for part in plain])
    readers = [_reader(hint) for hint in hints]
    return lambda plain: tuple([read(part) for read, part in zip(readers, plain, strict=True)])


def _mapping_reader(key_hint: Any, value_hint: Any) -> _Reader:  # noqa: ANN401  # as `_reader`
    key, value = _reader(key_hint), _reader(value_hint)
    return lambda plain: {key(name): value(held) for name, held in plain}


def _object_reader(kind: type) -> _Reader:
    hints = get_type_hints(kind)
    readers = {name: _reader(hints[name]) for name, _ in _fields(kind)}
    return lambda plain: kind(**{name: readers[name](held) for name, held in plain.items()})
