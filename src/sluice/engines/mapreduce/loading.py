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
    """mapper(line), combiner(key, values) and reducer(key, values); each gives (key, value)s."""

    mapper: Callable[[str], Pairs | None]
    combiner: Callable[[Any, Iterable[Any]], Pairs | None] | None
    reducer: Callable[[Any, Iterable[Any]], Pairs | None] | None


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


def functions(found: Any) -> Functions:  # noqa: ANN401  # a module, class, function or object
    """The parts of a module, an object, or an instance of a class; a bare function is a mapper."""
    if inspect.isroutine(found):
        return Functions(mapper=found, combiner=None, reducer=None)
    owner = found() if inspect.isclass(found) else found
    mapper = getattr(owner, "mapper", None)
    if not callable(mapper):
        raise NotLoadable("there is no function `mapper`")
    return Functions(
        mapper=mapper,
        combiner=getattr(owner, "combiner", None),
        reducer=getattr(owner, "reducer", None),
    )
