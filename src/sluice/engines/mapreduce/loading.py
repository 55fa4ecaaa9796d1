"""Load the user's Python object, `file.py:Name`, once per interpreter.

The file is loaded under a name of its own, so that a `statistics.py` of the user does not shadow a
module of Python. It can import the modules in its folder.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

Pairs = Iterable[tuple[Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Functions:
    """mapper(line), combiner(key, values) and reducer(key, values); each gives (key, value)s.

    A reducer that joins has an argument with values for each phase that it reads.
    """

    mapper: Callable[[str], Pairs | None] | None
    combiner: Callable[[Any, Iterable[Any]], Pairs | None] | None
    reducer: Callable[..., Pairs | None] | None


class NotLoadable(Exception):
    """The object that the user's reference names is missing or cannot be used."""


@cache
def load(folder: str, reference: str) -> Any:  # noqa: ANN401  # a module, class, function or object
    """The object that `file.py:Name` names, the file being relative to `folder`.

    Without `:Name` it is the module. Raises NotLoadable, or an exception of the user's code.
    """
    file_name, _, name = reference.partition(":")
    found: Any = _module(Path(folder, file_name).resolve())
    for part in filter(None, name.split(".")):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise NotLoadable(f"{file_name} has no {name!r}") from None
    return found


def _module(path: Path) -> ModuleType:
    if not path.is_file():
        raise NotLoadable(f"there is no file {str(path)!r}")
    name = f"sluice_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NotLoadable(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def is_mrjob(found: object) -> bool:
    """Whether it is an mrjob class; only the user's file imports mrjob."""
    mrjob = sys.modules.get("mrjob.job")
    return mrjob is not None and inspect.isclass(found) and issubclass(found, mrjob.MRJob)


def functions(found: Any, side: str = "map") -> Functions:  # noqa: ANN401  # of any type
    """The parts of a module, an object, or an instance of a class.

    A bare function is the mapper, or the reducer if the side is "reduce". Raises NotLoadable if
    there is no function for the side.
    """
    if inspect.isroutine(found):
        is_mapper = side == "map"
        return Functions(
            mapper=found if is_mapper else None, combiner=None, reducer=None if is_mapper else found
        )
    owner = found() if inspect.isclass(found) else found
    wanted = "mapper" if side == "map" else "reducer"
    if not callable(getattr(owner, wanted, None)):
        raise NotLoadable(f"there is no function `{wanted}`")
    return Functions(
        mapper=getattr(owner, "mapper", None),
        combiner=getattr(owner, "combiner", None),
        reducer=getattr(owner, "reducer", None),
    )


def arguments_of(function: Callable[..., Any]) -> int:
    """How many arguments a function must be given; 1 if it cannot be known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have no signature
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is inspect.Parameter.empty for one in parameters)
