"""The types of arguments, checked where a program calls a public function.

A program without a type checker can pass anything. What is of another type than the function's
annotation says is refused before any work begins, by one rule for all functions: else it fails
deep inside, or a text such as "no" counts as true. NumPy's scalars become Python's numbers, and
other iterables the sequences that the annotations ask for.

A union that includes `type` takes classes and their objects; its function checks those itself.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union

from sluice.model.errors import InvalidInput

P = ParamSpec("P")
R = TypeVar("R")

# Whether messages name options; the command line sets it, and calls the same functions.
speaks_of_options: ContextVar[bool] = ContextVar("speaks_of_options", default=False)

_OF_MOST = frozenset({"tasks", "release", "admission", "seed"})  # or part of their arguments
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_LISTS = (Sequence, Collection, Iterable)
_SHOWN = 60
_UNCHECKED = object()
_Hint = Any  # typing has no name for what an annotation evaluates to


class _Unfit(Exception):
    """The value is not of the type. args: the item of a list that is at fault, and its type."""


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which raises InvalidInput for an argument of another type.

    >>> @checked_arguments
    ... def repeated(word: str, times: int = 2) -> str:
    ...     return word * times
    >>> repeated("ab", 3)
    'ababab'
    >>> repeated("ab", "3")
    Traceback (most recent call last):
    sluice.model.errors.InvalidInput: times: '3' is not a whole number. Give a whole number.
    """

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not __debug__:
            raise InvalidInput(
                "Python runs with -O, which removes the checks that detect wrong decisions",
                where=f"sluice.{function.__name__}",
                hint="run it without -O and without PYTHONOPTIMIZE",
            )
        signature, hints = _typed_signature(function)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # Python's own message names the function
        given: dict[str, Any] = bound.arguments
        for name, value in given.items():
            given[name] = _argument(name, value, hints[name])
        try:
            return function(*bound.args, **bound.kwargs)
        except InvalidInput as error:
            if speaks_of_options.get():
                raise
            names = _OF_MOST | signature.parameters.keys()
            error.what, error.where, error.hint = error.args = tuple(
                in_python(part, names) for part in (error.what, error.where, error.hint)
            )
            raise

    return checked


def in_python(text: str, names: Collection[str]) -> str:
    """A message with the names of arguments in place of options of the command line.

    names: the arguments that there are; other options are left.

    >>> in_python("give --deadline-s, or --from-log-set slots=2", {"deadline_s"})
    'give deadline_s, or --from-log-set slots=2'
    """

    def named(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        return name if name in names else found[0]

    return text if "sluice " in text else _OPTION.sub(named, text)


@functools.cache
def _typed_signature(
    function: Callable[..., object],
) -> tuple[inspect.Signature, Mapping[str, _Hint]]:
    """The signature, and the type of each parameter."""
    signature = inspect.signature(function)
    more = vars(function).get("__type_names__", {})  # where its arguments are declared elsewhere
    names = {**vars(typing), **more, **vars(sys.modules[function.__module__])}
    return signature, {
        name: _evaluated(parameter.annotation, names)
        for name, parameter in signature.parameters.items()
    }


def _evaluated(annotation: object, names: dict[str, Any]) -> _Hint:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)  # noqa: S307  # the text of our own source
    except NameError:  # imported for the type checker alone
        return _UNCHECKED


def _argument(name: str, value: object, hint: _Hint) -> object:
    try:
        return _fitted(value, hint)
    except _Unfit as error:
        value, hint = error.args or (value, hint)
        wanted = _named(hint)
        raise InvalidInput(
            f"{_shown(value)} is not {wanted}", where=name, hint=f"give {wanted}"
        ) from None


def _scalar(value: Any) -> Any:  # noqa: ANN401  # anything can be passed
    """The value; of a scalar of NumPy the number or text that it holds."""
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return value.item() if is_scalar else value


def _shown(value: object) -> str:
    """The value where it is short and plain, else its type."""
    value = _scalar(value)
    is_plain = value is None or isinstance(value, str | bytes | int | float)
    text = repr(value) if is_plain else ""
    return text if 0 < len(text) <= _SHOWN else f"{type(value).__name__}"


def _fitted(value: Any, hint: _Hint) -> object:  # noqa: ANN401  # anything can be passed
    """The value as the type has it. Raises _Unfit."""
    value = _scalar(value)
    members = _members(hint)
    if len(members) > 1:
        return _of_union(value, members)
    kind = members[0]
    origin = _origin(kind)
    if origin in _LISTS:
        return _list(value, *typing.get_args(kind))
    if origin in _CHECKS:
        return _CHECKS[origin](value)
    is_known = getattr(origin, "_is_runtime_protocol", not getattr(origin, "_is_protocol", False))
    if isinstance(origin, type) and is_known:
        _check(isinstance(value, origin))
    return value


def _origin(kind: _Hint) -> _Hint:
    """The type without its parameters: Sequence of Sequence[str]."""
    origin: _Hint = typing.get_origin(kind)
    return kind if origin is None else origin


def _members(hint: _Hint) -> tuple[_Hint, ...]:
    """The types of a union, without the literals of which `str` is one; else the type alone."""
    if _origin(hint) not in (Union, UnionType):
        return (hint,)
    members = typing.get_args(hint)
    is_text = str in members
    return tuple(one for one in members if not (is_text and typing.get_origin(one) is Literal))


def _check(is_fit: object) -> None:
    if not is_fit:
        raise _Unfit


def _of_union(value: object, members: Sequence[_Hint]) -> object:
    if any(_origin(one) is type for one in members):
        return value
    item: tuple[object, ...] = ()
    for one in members:
        try:
            return _fitted(value, one)
        except _Unfit as error:
            item = error.args or item
    raise _Unfit(*item)


def _text(value: object) -> object:
    _check(isinstance(value, str))
    return value


def _whole(value: Any) -> int:  # noqa: ANN401  # anything can be passed
    _check(isinstance(value, Integral) and not isinstance(value, bool))
    return int(value)


def _number(value: Any) -> float:  # noqa: ANN401  # as above
    # NaN is not equal to itself, and no argument means anything by it.
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    _check(is_number and value == value)  # noqa: PLR0124  # false for NaN alone
    return value if type(value) in (int, float) else float(value)


def _function(value: object) -> object:
    _check(callable(value))
    return value


_CHECKS: Mapping[object, Callable[[Any], object]] = {
    str: _text, Literal: _text, int: _whole, float: _number, Callable: _function,
}  # fmt: skip


def _list(value: object, item: _Hint = _UNCHECKED) -> object:
    """A sequence of fitting items. A text is not one, although it is a sequence of letters."""
    _check(not isinstance(value, str | bytes | Mapping))
    if not isinstance(value, Iterable):
        raise _Unfit
    return tuple(_item(one, item) for one in value)


def _item(value: object, hint: _Hint) -> object:
    try:
        return _fitted(value, hint)
    except _Unfit:
        raise _Unfit(value, hint) from None


def _named(hint: _Hint) -> str:
    """The type in words."""
    members = [one for one in _members(hint) if one is not NoneType]
    words = list(dict.fromkeys(_word(one) for one in members))
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


_WORDS: Mapping[object, str] = {
    str: "a text", Literal: "a text", bool: "True or False", int: "a whole number",
    float: "a number", bytes: "bytes", Mapping: "a mapping", Callable: "a function",
    **dict.fromkeys(_LISTS, "a list"),
}  # fmt: skip


def _word(kind: _Hint) -> str:
    origin = _origin(kind)
    return _WORDS.get(origin) or f"a {getattr(origin, '__name__', 'value')}"
