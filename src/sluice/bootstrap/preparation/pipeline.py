"""Runs the steps that lead from a workload to what a command works on.

A command names its goal and gives what it starts with; the steps of that goal run in the order of
`steps.STEPS`. They pass on facts, such as the workload, its settings or the forecasts of its jobs.
Each step declares which facts it needs and which it gives. It sees no others, and a test finds a
step that is listed before one that gives what it needs. A step that rewrites the workload also
gives a mark, such as NODES, so that others can say which workload they need.

The steps import what they do when they run: a command loads no more than its goal needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Goal(Enum):
    """The work for which a workload is prepared."""

    SIMULATE = "simulate"
    RECORDED = "simulate --lengths-from"  # of a run that is over: nothing is left to predict
    COMPARE = "compare"
    TRIAL = "trial"  # one simulation of many, of jobs whose lengths are known
    DECIDE = "decide"  # the jobs of a prepared workload under one scheduler
    NIGHT = "night"  # the jobs of a drawn night under one scheduler
    PLAN = "plan"
    ORDER = "order"
    POOLS = "pools"
    LENGTHS = "lengths"  # capacity, whatif and advise: jobs as their profiles describe them
    RUN = "run"
    RESUME = "resume"
    RECEIVE = "submit"  # jobs that a user gives the service


class Fact(Generic[_T_co]):
    """A named value that steps pass on. A mark is a fact without a value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


Given = Mapping[Fact[Any], Any]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that are known so far. A step sees those that it needs, a caller sees all."""

    values: Given
    seen: Collection[Fact[Any]] | None = None

    def __getitem__(self, fact: Fact[_T]) -> _T:
        assert self.seen is None or fact in self.seen, f"the step does not declare {fact}"
        value: _T = self.values[fact]
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the preparation.

    goals: for which it runs.  needs: facts that it reads, or marks that must be there.
    after: facts that come before it where a goal has them.  gives: facts and marks.
    do: its work; returns the facts that it gives, without the marks.
    """

    name: str
    goals: Collection[Goal]
    needs: Sequence[Fact[Any]]
    gives: Sequence[Fact[Any]] = ()
    after: Sequence[Fact[Any]] = ()
    do: Callable[[Facts], Given]


def carried_out(steps: Iterable[Step], goal: Goal, given: Given) -> Facts:
    """The facts after all steps of a goal. Raises what the steps raise, mostly InvalidInput."""
    known = dict(given)
    for step in steps:
        if goal in step.goals:
            made = step.do(Facts(known, step.needs))
            assert made.keys() <= set(step.gives), f"{step.name} gives what it does not declare"
            known = dict.fromkeys(step.gives) | known | dict(made)
    return Facts(known)
