"""Compiled kernels never change a result, and a failure of the compiler prevents none."""

import random
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.planning.order_problems import EXAMPLE_A, context, problem
from tests.skips import required

from sluice.planning.ordering import compilation, search_context
from sluice.planning.ordering.compilation import (
    compiled_kernels,
    is_kept,
    kernel_functions,
    plain_kernels,
)
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.solver import OrderingMethod, solve
from sluice.planning.ordering.workloads import facebook


def test_without_numba_there_is_the_plain_search(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    compiled_kernels.cache_clear()
    place = context(problem(*EXAMPLE_A), may_compile=True)

    assert not place.use_compiled()
    assert place.kernels is plain_kernels()
    assert (
        40
        == solve(place, OrderingMethod.SEARCH, Objective.MAKESPAN, random.Random(0)).best.makespan_s
    )
    compiled_kernels.cache_clear()


def test_a_compiler_that_fails_leaves_the_plain_search(monkeypatch):
    """For example a full disk, a broken cache, or an unsupported Python version."""

    def fail(*_):
        raise OSError(28, "No space left on device")

    tried = []

    def broken(*, keeps):
        tried.append(keeps)
        return replace(plain_kernels(), is_compiled=True, evaluate=fail)

    monkeypatch.setattr(search_context, "compiled_kernels", broken)
    reported: list[str] = []
    place = context(facebook(12, random.Random(0)), may_compile=True, evaluations=60)
    place.on_progress = reported.append

    assert not place.use_compiled()
    assert [True, False] == tried
    assert ["compiling the search, once"] * 2 == reported
    assert solve(place, OrderingMethod.SEARCH, Objective.TCT, random.Random(0)).best.total_s > 0


def test_without_a_cache_everything_is_compiled_again():
    """Numba raises RuntimeError where it finds no folder for its machine code."""
    asked = []

    def njit(**options):
        asked.append(options)
        if options["cache"]:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    names = compilation._compiled_functions(SimpleNamespace(njit=njit), keeps=True)

    assert set(kernel_functions()) <= set(names)
    assert {(True, False), (False, False)} == {(one["cache"], one["_nrt"]) for one in asked}


def test_copies_call_each_other_and_not_the_originals():
    """Compiled code must not call plain code; here the compiler only counts calls."""
    called = []

    def njit(**_):
        def compile_(function):
            def counted(*arguments):
                called.append(function.__name__)
                return function(*arguments)

            return counted

        return compile_

    names = compilation._compiled_functions(SimpleNamespace(njit=njit), keeps=False)
    names["advanced"](0.0, 1.0, 3)
    assert ["advanced"] == called
    kernels = replace(plain_kernels(), evaluate=names["evaluate"])
    place = context(problem(*EXAMPLE_A))
    place.use(kernels)

    assert (44, 94) == place.values(range(4))
    assert {"evaluate", "run_maps", "start_tasks", "fill_queue", "run_reduces"} <= set(called)


def test_the_digest_distinguishes_sets_of_kernels():
    functions = dict(kernel_functions())
    before = compilation._digest(functions)
    functions["start_tasks"] = functions["advanced"]

    assert before == compilation._digest(kernel_functions())
    assert before != compilation._digest(functions)


def test_kernels_that_were_never_compiled_are_not_cached():
    assert not is_kept(plain_kernels().evaluate)
    assert not is_kept(object())


@pytest.mark.slow
def test_machine_code_is_kept_for_the_next_process():
    required("numba")
    fast = compiled_kernels()
    assert fast is not None
    place = context(problem(*EXAMPLE_A), may_compile=True)
    assert place.use_compiled()

    assert is_kept(fast.evaluate)
