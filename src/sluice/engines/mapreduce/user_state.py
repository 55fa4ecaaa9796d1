"""The state of the user's modules: whether a task left something behind for the next one.

The process of a short Python task may do the next task of its job, but only if the modules of the
job's folder are as they were: the same names, with the same values inside. What is compared are
plain values, containers, functions (with their defaults and closures), classes and plain objects.
Anything else at the top of a module, such as an open file, an iterator or a random generator, may
change unseen; then there is no state to compare, and each task gets a process of its own.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import fractions
import functools
import locale
import logging
import operator
import pathlib
import re
import struct
import sys
import types
import typing
from collections import Counter, OrderedDict, defaultdict, deque
from functools import lru_cache
from types import ModuleType
from typing import Any

ENTRIES_MAX = 2000  # to look at after each task; a module with more costs more than a process
OWN_NAME = "sluice_user_"
INSTALLED = ("/site-packages/", "/dist-packages/")

Value = Any  # an object of the user's, of any type
State = list[Any]

_VALUES = (int, float, complex, str, bytes, type(None))
_SEQUENCES = (list, tuple, deque)
_SETS = (set, frozenset)
_DICTS = (dict, OrderedDict, defaultdict, Counter, types.MappingProxyType)
# Objects whose behaviour cannot change, or not so that a task could notice.
_CONSTANTS = (
    ModuleType,
    re.Pattern,
    struct.Struct,
    pathlib.PurePath,
    dt.date,
    dt.time,
    dt.timedelta,
    dt.tzinfo,
    decimal.Decimal,
    fractions.Fraction,
    enum.Enum,
    range,
    type(Ellipsis),
    operator.itemgetter,
    operator.attrgetter,
    operator.methodcaller,
    logging.Logger,
    typing.TypeVar,
    types.GenericAlias,
    types.UnionType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.ClassMethodDescriptorType,
)
_CONSTANT_MODULES = frozenset(
    {"typing", "__future__", "_abc", "dataclasses"}
)  # of the type of an object
_NO_STATE = frozenset(
    {"__builtins__", "__spec__", "__loader__", "__cached__", "__warningregistry__"}
)

_NO_STATE_OF_CLASS = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__abstractmethods__", "_abc_impl"}
)


class _Unknown(Exception):
    """Something that may change unseen."""


def modules_state(folder: str) -> State | None:
    """Return what the modules of a folder hold, to be compared by `==`.

    None if that cannot be known.

    Also part of it: the precision of decimal numbers, the locale, and the random numbers of NumPy.
    """
    look = _Look()
    try:
        for name in _names_of_users(folder, len(sys.modules)):
            look.module(name, sys.modules.get(name))
    except (_Unknown, AttributeError, RecursionError, TypeError):  # also by an odd object
        return None
    context = decimal.getcontext()
    look.entries += [context.prec, context.rounding, locale.setlocale(locale.LC_ALL)]
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        kind, keys, *rest = numpy_random.get_state()
        look.entries.append((kind, keys.tobytes(), *rest))
    return look.entries


@lru_cache(maxsize=1)
def _names_of_users(folder: str, _: int) -> list[str]:
    """The user's modules; looked for again only when the number of modules has changed."""
    modules = sorted(sys.modules.items())
    return [name for name, module in modules if _is_users(name, module, folder)]


def _is_users(name: str, module: Value, folder: str) -> bool:
    if name.startswith(OWN_NAME):
        return True
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.startswith(folder.rstrip("/") + "/"):
        return False
    # The folder may be one that holds installed packages too, such as the user's home.
    top = name.partition(".")[0]
    is_installed = any(part in file for part in INSTALLED)
    return not (is_installed or top in sys.stdlib_module_names or top == "sluice")


class _Look:
    """Collects what values hold, each object once. Objects are kept, so that ids stay theirs."""

    def __init__(self) -> None:
        self.entries: State = []
        self._seen: dict[int, Any] = {}
        self._modules: set[str] = set()

    def module(self, name: str, module: Value) -> None:
        self._modules.add(name)
        self.entries.append(name)
        self._names(vars(module) if isinstance(module, ModuleType) else {}, _NO_STATE)

    def _names(self, held: typing.Mapping[str, Any], without: frozenset[str]) -> None:
        for name, value in list(held.items()):
            if name not in without:
                self.entries.append(name)
                self._value(value)

    def _value(self, value: Value) -> None:
        kind = type(value)
        if kind in _VALUES or kind is bool:
            self.entries.append((kind, value))
            return
        self.entries.append(_Same(value))
        if id(value) in self._seen:
            return
        if len(self.entries) > ENTRIES_MAX:
            raise _Unknown
        self._seen[id(value)] = value
        self._inside(value, kind)

    def _inside(self, value: Value, kind: type) -> None:
        if kind in _SEQUENCES or kind in _SETS:
            self._each(value)
        elif kind in _DICTS:
            self._each(value.keys())
            self._each(value.values())
            if kind is defaultdict:
                self._value(value.default_factory)
        elif isinstance(value, type):
            self._class(value)
        elif not self._is_callable(value) and not _is_constant(value, kind):
            self._plain_object(value, kind)

    def _each(self, values: typing.Collection[Any]) -> None:
        self.entries.append(len(values))
        for value in values:
            self._value(value)

    def _class(self, owner: type) -> None:
        """A class of the user's; others do not change."""
        if self._is_own(owner):
            self._names(vars(owner), _NO_STATE_OF_CLASS)

    def _is_own(self, owner: type) -> bool:
        return owner.__module__ in self._modules or owner.__module__.startswith(OWN_NAME)

    def _is_callable(self, value: Value) -> bool:
        """Look into a function or a wrapper of one; False if it is none."""
        parts: list[Any]
        match value:
            case types.FunctionType():
                cells = value.__closure__ or ()
                self.entries.append(_Same(value.__code__))
                parts = [value.__defaults__, value.__kwdefaults__]
                parts += [_content(cell) for cell in cells]
                # The attributes of a function, made only when they are asked for.
                parts.append(value.__dict__ or None)
            case types.BuiltinFunctionType():
                parts = [value.__self__]
            case types.MethodType():
                parts = [value.__func__, value.__self__]
            case functools.partial():
                parts = [value.func, value.args, value.keywords]
            case staticmethod() | classmethod():
                parts = [value.__func__]
            case property():
                parts = [value.fget, value.fset, value.fdel]
            case _:
                return False
        for part in parts:
            self._value(part)
        return True

    def _plain_object(self, value: Value, kind: type) -> None:
        """An object of the user's own class that holds attributes and nothing else."""
        bases = [base for base in kind.__mro__ if base is not object]
        if not all(self._is_own(base) and "__slots__" not in vars(base) for base in bases):
            raise _Unknown
        self._value(kind)
        self._names(vars(value), frozenset())


class _Same:
    """Compares as the very object that it was made of."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def _content(cell: Value) -> Value:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def _is_constant(value: Value, kind: type) -> bool:
    return isinstance(value, _CONSTANTS) or kind.__module__ in _CONSTANT_MODULES
