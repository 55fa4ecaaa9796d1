"""Kernels, as they are or compiled: the same functions, the same answers.

`plain_kernels` gives them as they stand in the source. `compiled_kernels` gives them through numba, where it is
installed (the extra `fast`). Nothing is reordered or fused (no fast math), so that all sums are
rounded alike. numba keeps machine code beside the source, or in the user's cache folder where that
cannot be written to, or else nowhere: then each process compiles anew.

Kernels call each other by name. To be compiled, each is copied into one name space in which those
names mean the compiled ones. The copy's qualified name ends in a digest of all kernels, for numba
would not notice that something a kernel calls has changed since its machine code was kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

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
    *_INLINED, fifo_model, annealing_kernel, prefix_state, prefix_bounds, branch_kernel, enumeration_kernel,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """The kernels that planners call, and what makes the sequences to call them with."""

    is_compiled: bool
    evaluate: Callable[..., tuple[float, float]]
    anneal_steps: Callable[..., int]
    branch: Callable[..., int]
    lowest_open: Callable[..., float]
    evaluate_orders: Callable[..., int]
    floats: Callable[[Sequence[float]], MutableSequence[float]]
    integers: Callable[[Sequence[int]], MutableSequence[int]]


@cache
def plain_kernels() -> Kernels:
    """The kernels as they stand in the source; sequences are lists."""
    return _kernels(dict(kernel_functions()), is_compiled=False, floats=list, integers=list)


@cache
def compiled_kernels(*, keeps: bool = True) -> Kernels | None:
    """The kernels through numba, each compiled when it is first called; None without numba.

    keeps: whether machine code may be kept for the next process.
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


def is_kept(kernel: object) -> bool:
    """Whether machine code of a compiled kernel was kept by an earlier process.

    numba has no word for it, so this looks where it would look; if that is elsewhere one day, the
    answer is no.
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
    """All kernels by name, from all of their modules."""
    found: dict[str, FunctionType] = {}
    for module in _MODULES:
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                assert name not in found, f"two kernels are called {name}"
                found[name] = value
    return found


def _compiled_functions(numba: Any, *, keeps: bool) -> dict[str, Any]:  # noqa: ANN401  # a module without types
    functions = kernel_functions()
    names: dict[str, Any] = {}
    for module in _MODULES:
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
    """A short name for the code of all kernels together."""
    told = hashlib.sha256()
    for name, function in sorted(functions.items()):
        code = function.__code__
        told.update(repr((name, code.co_code, code.co_consts, code.co_names)).encode())
    return told.hexdigest()[:12]


def _jitted(numba: Any, function: FunctionType, **options: bool) -> Any:  # noqa: ANN401  # numba's types are its own
    # Kernels allocate nothing; without counting references to arrays they are four times as fast.
    try:
        return numba.njit(_nrt=False, **options)(function)
    except RuntimeError:  # there is no folder to keep machine code in
        return numba.njit(_nrt=False, **options | {"cache": False})(function)
