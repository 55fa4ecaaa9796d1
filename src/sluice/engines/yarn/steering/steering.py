"""Making the changes of a plan: one after the other, each read back and compared."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from http import HTTPStatus

from sluice.engines.yarn.rest import ResourceManagerRest, RestFault
from sluice.engines.yarn.steering.allocations import allocations_changes
from sluice.engines.yarn.steering.changes import Change, OnGone, Row, changes_of, with_id
from sluice.engines.yarn.steering.present import Present
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.steering import ApplicationWish, NodeWish, SteeringPlan

LOOK_S = 0.2

Sums = Callable[[dict[str, str]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A row of a change that was tried. after: as it was read back.  refusal: what YARN said.

    is_untouched: YARN has answered that it did not take the change, so there is nothing to undo.
    """

    row: Row
    after: str
    refusal: str = ""
    is_untouched: bool = False

    @property
    def is_done(self) -> bool:
        """Whether the cluster has what was wanted."""
        return not self.refusal and self.after == self.row.wanted


def planned(
    plan: SteeringPlan,
    rest: ResourceManagerRest,
    now_s: float,
    wrong_sum: Sums,
    allocations: str | None = None,
    on_gone: OnGone | None = None,
) -> list[Change]:
    """The changes that a plan needs now.

    wrong_sum: what is wrong with the capacities of siblings, by name; "" if nothing is.
    allocations: the path of the Fair Scheduler's file; None for that of YARN's configuration.
    on_gone: called with what is gone, which is left out then; None refuses it.
    Raises InvalidInput for what is not there or does not add up, EngineUnavailable.
    """
    present = Present(rest, allocations)
    changes = list(changes_of(plan, present, now_s, on_gone))
    if plan.allocations is not None or (plan.queues and present.is_fair):
        return [*allocations_changes(plan, present), *changes]
    for path in plan.queues:
        if "." in path:
            _check_sum(path, plan, present, wrong_sum)
    return changes


def with_ids(changes: Iterable[Change], rest: ResourceManagerRest) -> list[Change]:
    """The changes, with ids for reservations, so that all can be taken back."""
    return [with_id(change, rest) for change in changes]


def undo_of(changes: Iterable[Change]) -> SteeringPlan:
    """The plan that takes all of them back, as far as that is possible.

    What is gone when it is made does not keep it from the rest.
    """
    return merged(change.undo for change in changes)


def merged(plans: Iterable[SteeringPlan]) -> SteeringPlan:
    """One plan for several without reservations to make; of one value the last plan has it."""
    queues: dict[str, dict[str, str | None]] = {}
    applications: dict[str, ApplicationWish] = {}
    nodes: dict[str, NodeWish] = {}
    deletions: list[str] = []
    allocations = None
    for undo in plans:
        allocations = allocations if undo.allocations is None else undo.allocations
        for path, keys in undo.queues.items():
            queues.setdefault(path, {}).update(keys)
        for app_id, wish in undo.applications.items():
            known = applications.get(app_id, ApplicationWish())
            applications[app_id] = replace(
                known,
                queue=known.queue if wish.queue is None else wish.queue,
                priority=known.priority if wish.priority is None else wish.priority,
            )
        for node, size in undo.nodes.items():
            known_size = nodes.get(node, NodeWish())
            nodes[node] = replace(
                known_size,
                memory_mb=known_size.memory_mb if size.memory_mb is None else size.memory_mb,
                vcores=known_size.vcores if size.vcores is None else size.vcores,
                labels=known_size.labels if size.labels is None else size.labels,
            )
        deletions += undo.delete_reservations
    return SteeringPlan(
        queues=queues, applications=applications, nodes=nodes,
        delete_reservations=tuple(deletions), allocations=allocations, skips_gone=True,
    )  # fmt: skip


def made(changes: Iterable[Change], rest: ResourceManagerRest, *, calls_per_s: float) -> list[Made]:
    """Make the changes, at most so many calls a second; stops at the first that is refused."""
    found: list[Made] = []
    for change in changes:
        begun_s = time.monotonic()
        try:
            change.make(rest)
        except (EngineUnavailable, InvalidInput) as error:
            is_untouched = isinstance(error, InvalidInput) or (
                isinstance(error, RestFault) and error.status < HTTPStatus.INTERNAL_SERVER_ERROR
            )
            found += [
                Made(row=row, after=row.before, refusal=str(error), is_untouched=is_untouched)
                for row in change.rows
            ]
            break
        after = _read_back(change)
        found += [Made(row=row, after=value) for row, value in zip(change.rows, after, strict=True)]
        if any(not one.is_done for one in found):
            break
        time.sleep(max(0.0, 1 / calls_per_s - (time.monotonic() - begun_s)))
    return found


def _read_back(change: Change) -> tuple[str, ...]:
    """The values that the cluster has now, when they are those that were wanted, or late."""
    wanted = tuple(row.wanted for row in change.rows)
    give_up_at_s = time.monotonic() + change.read_back_s
    after = tuple("" for _ in change.rows)
    while True:
        with contextlib.suppress(EngineUnavailable, InvalidInput):
            after = change.read()
        if after == wanted or time.monotonic() > give_up_at_s:
            return after
        time.sleep(LOOK_S)


def _check_sum(path: str, plan: SteeringPlan, present: Present, wrong_sum: Sums) -> None:
    parent = path.rpartition(".")[0]
    capacities: dict[str, str] = {}
    for name in present.siblings(path):
        own = f"{parent}.{name}"
        wish = plan.queues.get(own, {})
        now = present.configured.get(f"{own}.capacity", "")
        capacities[name] = (wish["capacity"] or "0") if "capacity" in wish else now
    if path.rpartition(".")[2] not in capacities:
        known = ", ".join(capacities)
        raise InvalidInput(
            f"there is no queue {path!r}",
            where="queues",
            hint=f"give one of {known or 'its queues'}",
        )
    if why := wrong_sum(capacities):
        raise InvalidInput(
            f"the capacities below {parent} do not add up: {why}",
            where="queues",
            hint="change those of the siblings, too",
        )
