"""Public functions whose arguments are the fields of a dataclass."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from sluice.api.options import argument_types
from sluice.bootstrap.policy_classes import Spec
from sluice.model import name_types
from sluice.model.arguments import checked_arguments
from sluice.model.queue_tree import QueueTree

P = ParamSpec("P")
R = TypeVar("R")
Options = TypeVar("Options")

# Of the fields: their modules import types for the type checker alone, as it takes time.
_TYPES = {**vars(name_types), **vars(argument_types), "QueueTree": QueueTree, "Spec": Spec}


def called_with(made: Callable[P, Options]) -> Callable[[Callable[[Options], R]], Callable[P, R]]:
    """A decorator: the function takes the fields of a dataclass, and its body one value of it.

    made: the dataclass. Types and defaults of arguments are those of its fields, for type checkers
    and for `help()` too. An argument of another type raises InvalidInput, as `checked_arguments`
    says.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Words:
    ...     word: str
    ...     times: int = 2
    >>> @called_with(Words)
    ... def repeated(given: Words) -> str:
    ...     return given.word * given.times
    >>> repeated(word="ab"), str(inspect.signature(repeated))
    ('abab', "(*, word: 'str', times: 'int' = 2) -> 'str'")
    """

    def decorated(function: Callable[[Options], R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                given = made(*args, **kwargs)
            except TypeError as error:
                raise TypeError(_about(function.__name__, error)) from None
            return function(given)

        signature = inspect.signature(made).replace(
            return_annotation=function.__annotations__["return"]
        )
        vars(call)["__signature__"] = signature
        vars(call)["__type_names__"] = _TYPES
        call.__annotations__ = {
            **{one.name: one.annotation for one in signature.parameters.values()},
            "return": signature.return_annotation,
        }
        return checked_arguments(call)

    return decorated


def _about(name: str, error: TypeError) -> str:
    """Python's message about arguments, of the function instead of the dataclass.

    >>> _about("plan", TypeError("PlanCall.__init__() got an unexpected keyword argument 'tun'"))
    "plan() got an unexpected keyword argument 'tun'"
    """
    what = str(error).partition("__init__() ")[2]
    # Python counts `self`, which the function does not have.
    return f"{name}() {'got too many arguments' if what.startswith('takes') else what}"
