"""Compiled kernels never change a result, and a failure of the compiler prevents none."""

import random
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.planning.order_problems import EXAMPLE_A, context, problem
from tests.skips import required

from sluice.planning.ordering import compilation, kernel_loading
from sluice.planning.ordering.compilation import (
    compiled_kernels,
    is_kept,
    kernel_functions,
    plain_kernels,
)
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import LOADING_S, KernelUse, SearchContext
from sluice.planning.ordering.solver import OrderingMethod, solve
from sluice.planning.ordering.workloads import facebook


def test_kernels_are_requested_once_and_not_where_they_are_compiled():
    asked = []
    loader = SimpleNamespace(request=lambda use, _: asked.append(use), loaded=lambda _: None)
    made, budget = problem(*EXAMPLE_A), SearchBudget(lambda: 0.0, evaluations=9)
    place = SearchContext(made, budget, loader=loader)
    for _ in range(2):
        place.request_compiled(KernelUse.PROOF)
    assert asked == [KernelUse.PROOF]

    compiled = replace(plain_kernels(), is_compiled=True)
    SearchContext(made, budget, kernels=compiled, loader=loader).request_compiled(KernelUse.PROOF)
    assert asked == [KernelUse.PROOF]


def test_without_numba_there_is_the_plain_search(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    compiled_kernels.cache_clear()
    place = context(problem(*EXAMPLE_A), may_compile=True)
    place.request_compiled(KernelUse.ANNEALING)

    assert not place.adopt_compiled()
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

    monkeypatch.setattr(kernel_loading, "compiled_kernels", broken)
    reported: list[str] = []
    place = context(facebook(12, random.Random(0)), may_compile=True, evaluations=60)
    place.on_progress = reported.append
    place.request_compiled(KernelUse.PROOF)

    assert not place.adopt_compiled()
    assert [True, False] == tried
    assert ["compiling the search, once"] * 2 == reported
    assert solve(place, OrderingMethod.SEARCH, Objective.TCT, random.Random(0)).best.total_s > 0


class LoaderThatTakesAWhile:
    """Gives kernels that count as compiled after being asked a number of times."""

    def __init__(self, asked_before):
        self.asked_before = asked_before
        self.asked = 0
        self.used = 0

    def request(self, use, on_progress):
        assert use in KernelUse

    def loaded(self, wait_s=0.0):
        self.asked += 1
        if self.asked <= self.asked_before:
            return None
        plain = plain_kernels()

        def counted(kernel):
            def count(*arguments):
                self.used += 1
                return kernel(*arguments)

            return count

        return replace(
            plain, is_compiled=True, branch=counted(plain.branch),
            anneal_steps=counted(plain.anneal_steps),
        )  # fmt: skip


@pytest.mark.parametrize("method", ["exact", "search"])
@pytest.mark.parametrize("objective", ["tct", "both"])
def test_a_search_continues_on_kernels_that_were_loaded_meanwhile(method, objective):
    """The moment of the change makes no difference to the answer."""
    made = facebook(10, random.Random(3))
    answers = []
    for asked_before in (0, 2, 5, None):
        place = context(made, evaluations=400)
        loader = LoaderThatTakesAWhile(asked_before)
        if asked_before is not None:
            place = SearchContext(made, SearchBudget(lambda: 0.0, evaluations=400), loader=loader)
            place.request_compiled(KernelUse.PROOF)
        answers.append(solve(place, OrderingMethod(method), Objective(objective), random.Random(1)))
        assert (loader.used > 0) == (asked_before is not None)

    assert [answers[-1]] * len(answers) == answers


def test_kernels_are_not_requested_when_too_little_time_is_left():
    made, loader = problem(*EXAMPLE_A), LoaderThatTakesAWhile(0)
    for seconds, is_adopted in ((LOADING_S / 2, False), (LOADING_S * 2, True)):
        place = SearchContext(made, SearchBudget(lambda: 0.0, seconds=seconds), loader=loader)
        place.request_compiled(KernelUse.PROOF)

        assert is_adopted == place.adopt_compiled()


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


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ({"signature": "file"}, True),
        ({}, False),
        *[(wrong("x"), False) for wrong in (AttributeError, OSError, ValueError, EOFError)],
    ],
    ids=str,
)
def test_machine_code_is_kept_if_the_index_of_the_cache_can_be_read(found, kept):
    def load():
        if isinstance(found, Exception):
            raise found
        return found

    file = SimpleNamespace(_load_index=load)
    assert kept is is_kept(SimpleNamespace(_cache=SimpleNamespace(_cache_file=file)))


@pytest.mark.slow
def test_machine_code_is_kept_for_the_next_process():
    required("numba")
    fast = compiled_kernels()
    assert fast is not None
    place = context(problem(*EXAMPLE_A), may_compile=True)
    place.request_compiled(KernelUse.ANNEALING)
    assert place.adopt_compiled()

    assert is_kept(fast.evaluate)
