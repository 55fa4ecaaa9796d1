"""The kernels as plain Python or compiled by numba: the same functions with the same results.

`plain_kernels` returns the functions of the modules. They are interpreted, or compiled by mypyc in
a wheel, which makes them seven times as fast and needs no loading. `compiled_kernels` compiles them
with numba, if it is installed (the extra `fast`), for another factor of ten. Fast math is off, so
operations are not reordered or fused and all sums are rounded the same way. numba caches machine
code next to the source, or in the user's cache folder if the source folder is read-only. Without a
cache each process compiles again.

Kernels call each other by name. For compilation each kernel is copied into one namespace in which
these names refer to the compiled versions. The qualified name of a copy ends in a digest of all
kernels, because numba's cache does not notice a change in a function that a kernel calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from sluice.planning.ordering.kernels import (
    annealing_kernel,
    branch_kernel,
    enumeration_kernel,
    fifo_model,
    prefix_bounds,
    prefix_state,
    slot_groups,
    sort_and_heap,
)

_INLINED = (slot_groups, sort_and_heap)
_MODULES: tuple[ModuleType, ...] = (
    *_INLINED, fifo_model, annealing_kernel, prefix_state, prefix_bounds, branch_kernel,
    enumeration_kernel,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """The kernels that planners call, and the constructors of their argument sequences."""

    is_compiled: bool
    evaluate: Callable[..., tuple[float, float]]
    anneal_steps: Callable[..., int]
    branch: Callable[..., int]
    lowest_open: Callable[..., float]
    evaluate_orders: Callable[..., int]
    floats: Callable[[Sequence[float]], list[float]]  # for numba an array, which is used alike
    integers: Callable[[Sequence[int]], list[int]]


@cache
def plain_kernels() -> Kernels:
    """Return the kernels as plain Python; sequences are lists."""
    functions: dict[str, Any] = {}
    for module in _MODULES:
        functions.update(vars(module))
    return _kernels(functions, is_compiled=False, floats=_floats, integers=list)


def _floats(values: Sequence[float]) -> list[float]:
    return [float(value) for value in values]  # a whole number among them stays a float


@cache
def compiled_kernels(*, keeps: bool = True) -> Kernels | None:
    """Return the kernels compiled by numba at their first call; None without numba.

    keeps: whether machine code is cached for the next process.
    """
    try:
        import numba
        import numpy as np
    except ImportError:
        return None
    return _kernels(
        _compiled_functions(numba, keeps=keeps),
        is_compiled=True,
        floats=lambda values: np.array(values, dtype=np.float64),
        integers=lambda values: np.array(values, dtype=np.int64),
    )


Record = TypeVar("Record", bound=tuple[Any, ...])


def converted(record: Record, kernels: Kernels) -> Record:
    """Return the same record of sequences, for other kernels; so a search continues where it was.

    record: a named tuple of numbers' sequences, or of further named tuples.
    """
    fields: list[Any] = []
    for value in record:
        if isinstance(value, tuple):
            fields.append(converted(value, kernels))
        elif any(isinstance(number, float) for number in value):
            fields.append(kernels.floats([float(number) for number in value]))
        else:
            fields.append(kernels.integers([int(number) for number in value]))
    return type(record)(*fields)


def is_kept(kernel: object) -> bool:
    """Whether an earlier process cached the machine code of a compiled kernel.

    numba has no public function for this, so this reads its private cache index. If a later numba
    changes that, the answer is no.
    """
    try:
        index = kernel._cache._cache_file._load_index()  # type: ignore[attr-defined]  # noqa: SLF001  # as above
    except (AttributeError, OSError, ValueError, EOFError):
        return False
    return bool(index)


def _kernels(functions: dict[str, Any], **rest: Any) -> Kernels:  # noqa: ANN401  # fields of Kernels
    wanted = ("evaluate", "anneal_steps", "branch", "lowest_open", "evaluate_orders")
    return Kernels(**{name: functions[name] for name in wanted}, **rest)


def kernel_functions() -> dict[str, FunctionType]:
    """Return all kernels of all kernel modules by name, as functions of the source."""
    found: dict[str, FunctionType] = {}
    for module in map(_source_of, _MODULES):
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                assert name not in found, f"two kernels are called {name}"
                found[name] = value
    return found


def _source_of(module: ModuleType) -> ModuleType:
    """The module as its source defines it. In a wheel it is compiled by mypyc, with its source."""
    assert module.__file__ is not None
    if module.__file__.endswith(".py"):
        return module
    folder, name = module.__file__.rpartition("/")[0], module.__name__.rpartition(".")[2]
    spec = spec_from_file_location(module.__name__, f"{folder}/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    source = module_from_spec(spec)
    spec.loader.exec_module(source)
    return source


def _compiled_functions(numba: Any, *, keeps: bool) -> dict[str, Any]:  # noqa: ANN401  # a module without types
    functions = kernel_functions()
    names: dict[str, Any] = {}
    for module in map(_source_of, _MODULES):
        names.update(vars(module))
    digest = _digest(functions)
    inlined = {module.__name__ for module in _INLINED}
    for name, function in functions.items():
        copy = FunctionType(function.__code__, names, name, function.__defaults__)
        copy.__qualname__ = f"{name}_{digest}"
        copy.__module__ = function.__module__
        names[name] = _jitted(numba, copy, forceinline=function.__module__ in inlined, cache=keeps)
    return names


def _digest(functions: dict[str, FunctionType]) -> str:
    """Short hash of the code of all kernels."""
    sha256 = hashlib.sha256()
    for name, function in sorted(functions.items()):
        code = function.__code__
        sha256.update(repr((name, code.co_code, code.co_consts, code.co_names)).encode())
    return sha256.hexdigest()[:12]


def _jitted(numba: Any, function: FunctionType, **options: bool) -> Any:  # noqa: ANN401  # numba's types are its own
    # Kernels allocate nothing, so reference counting is not needed; without it they are 4x faster.
    try:
        return numba.njit(_nrt=False, **options)(function)
    except RuntimeError:  # there is no writable folder for the cache
        return numba.njit(_nrt=False, **options | {"cache": False})(function)
