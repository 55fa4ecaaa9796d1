"""Divide a capacity among members, step by step, under one rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.sharing import ShareOptions
from sluice.api.sources import read_workload
from sluice.model.errors import InvalidInput
from sluice.planning.sharing.fluid import share_out
from sluice.planning.sharing.misreports import best_misreport
from sluice.planning.sharing.problem import SharingOptions, sharing_problem
from sluice.reporting.share.result import ShareResult

LEFTOVERS = ("keep", "drop")
# Which options a rule reads; any other that is given has no effect.
_READ_BY = {
    "discount_price": ("mlrf", "ltrf"),
    "par": ("ltrf",),
    "round_steps": ("ltrf",),
    "alpha": ("karma",),
    "initial_credits": ("karma",),
    "half_life_steps": ("decay",),
}


@dataclass(frozen=True)
class ShareCall(ShareOptions):
    """Arguments of `share`."""

    source: Source


@called_with(ShareCall)
def share(given: ShareCall) -> ShareResult:
    """Return what each member of a workload receives of its capacity, or capacities, in each step.

    With several resources mlrf is DRF, and ltrf is long-term DRF.
    policy: static, mlrf, ltrf, karma or decay.  leftovers: keep or drop demand that was not met.
    discount_price: price of a borrowed unit, above 0 to 1 (default 1).
    alpha: part of the capacity that karma shares by credits (default 1).
    initial_credits: karma's credits for each unit of weight (default: enough for all steps).
    half_life_steps: steps after which decay counts use half (default 4).
    par: charge a member that becomes active late (ltrf).  whole_units: one unit at a time.
    round_steps: steps after which ltrf forgets use (default: never).
    misreports: also search for what each member could gain by reporting other demands.
    Raises InvalidInput naming field and member.

    >>> import sluice
    >>> workload = sluice.parse_workload(
    ...     '''{version: 1, capacity: 200, members: [
    ...     {id: A, demands: [40, 80, 160, 120]}, {id: B, demands: [200, 120, 100, 100]}]}'''
    ... )
    >>> result = share(workload, policy="ltrf")
    >>> result.fairness, result.benefit
    ({'A': 1.25, 'B': 1.0}, 0.25)
    """
    if given.leftovers not in LEFTOVERS:
        raise InvalidInput(
            f"leftovers is {given.leftovers!r}", where="leftovers", hint="give keep or drop"
        )
    values = {name: getattr(given, name) for name in _READ_BY if name != "par"}
    numbers: dict[str, Any] = {name: one for name, one in values.items() if one is not None}
    options = SharingOptions(
        policy=given.policy,
        keeps_leftovers=given.leftovers == "keep",
        charges_late=given.par,
        is_whole=given.whole_units,
        **numbers,
    )
    for name in ("par", "round_steps"):
        if given.whole_units and (numbers | {"par": given.par}).get(name):
            raise InvalidInput(
                f"{name} is given together with whole_units", where=name, hint="give one of the two"
            )
    workload = read_workload(given.source)
    capacity = workload.capacities or workload.capacity
    if capacity is None:
        raise InvalidInput(
            "capacity is missing", where=workload.source,
            hint="give the units to be shared, or capacities: {cpu: 9, memory_gb: 18}",
        )  # fmt: skip
    if workload.capacities and workload.capacity is not None:
        raise InvalidInput(
            "capacity is given together with capacities", where=workload.source,
            hint="give one of the two",
        )  # fmt: skip
    if not workload.members:
        raise InvalidInput(
            "members is missing",
            where=workload.source,
            hint="give members: [{id: A, weight: 1, demands: [40, 80]}]",
        )
    try:
        problem = sharing_problem(capacity, workload.members, options)
    except InvalidInput as error:
        raise error.within(workload.source) from None
    found = None
    if given.misreports:
        found = tuple(best_misreport(problem, member) for member in range(len(problem.names)))
    named = {*numbers, *(["par"] * given.par)}
    return ShareResult(share_out(problem), found, _notes(given.policy, named))


def _notes(policy: str, given: set[str]) -> tuple[str, ...]:
    return tuple(
        f"{name} has no effect with the policy {policy}"
        for name, readers in _READ_BY.items()
        if name in given and policy not in readers
    )
