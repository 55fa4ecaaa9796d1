"""One round of admission: which jobs are admitted, deferred or refused, and what would change a no.

Jobs are ordered by the worth of one container, highest first. A job that fits into the unreserved
containers is admitted. The admitted jobs are worth at most one job less than the best choice.
Source: capacity spec, section 4.1, for jobs that cannot be divided, on the nodes of the cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sluice.core.protocols import Admit, Defer, Refuse
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.job import Job
from sluice.policies.container_needs import ContainerNeeds

Verdict = Admit | Defer | Refuse


class Vm(NamedTuple):
    """What is rented as one: so many containers, and its price for the hour; None if untold."""

    containers: float
    rent_usd: float | None


class Wish(NamedTuple):
    """A job that asks. left_s: until its deadline.  containers: what that takes; infinite where no
    number is enough.  penalty_usd, rent_usd: what refusing and what taking it costs.
    """

    job: Job
    law: ContainerNeeds
    left_s: float
    containers: float
    penalty_usd: float
    rent_usd: float

    @property
    def worth_usd(self) -> float:
        """Of one container."""
        return self.penalty_usd / self.containers


class Change(NamedTuple):
    """A change with which a refused job is taken.

    number: the new value of `what`.  cost_usd: None if it is unknown.
    """

    what: str
    number: float
    text: str
    cost_usd: float | None


@dataclass(slots=True)
class Round:
    """Jobs that ask at `now_s`, and the room there is for them.

    slots: all containers.  free: those not promised; each job that is taken reduces them.
    next_at_s: when deferred jobs are asked about again.
    """

    wishes: Sequence[Wish]
    now_s: float
    next_at_s: float
    slots: int
    free: int
    vm: Vm

    def verdicts(self) -> Iterator[tuple[Wish, Verdict]]:
        """An answer for every job."""
        taken: list[Wish] = []
        others: list[Wish] = []
        for wish in sorted(self.wishes, key=_rank):
            if self._fits(wish):
                taken.append(wish)
                self.free -= int(wish.containers)
            else:
                others.append(wish)
        for wish in taken:
            yield wish, _promise(wish)
        for wish in others:
            yield wish, self._no(wish, taken)

    def _fits(self, wish: Wish) -> bool:
        return wish.containers <= self.free and wish.penalty_usd >= wish.rent_usd

    def _no(self, wish: Wish, taken: Sequence[Wish]) -> Defer | Refuse:
        if wish.containers > self.slots:
            changes = self._changes(wish, [])
            least_s = wish.law.time_s(self.slots)
            numbers = (("slots", self.slots), ("least_s", least_s), ("left_s", wish.left_s))
            return Refuse(_reason(ReasonCode.DEADLINE_TOO_SOON, numbers, changes))
        if wish.penalty_usd < wish.rent_usd:
            changes = self._changes(wish, taken)
            vms = wish.containers / self.vm.containers
            money = (("penalty_usd", wish.penalty_usd), ("vms", vms), ("rent_usd", wish.rent_usd))
            return Refuse(_reason(ReasonCode.NOT_WORTH, money, changes))
        room = (("containers", wish.containers), ("slots", self.slots), ("free", self.free))
        reason = _reason(ReasonCode.CAPACITY_PROMISED, room, self._changes(wish, taken))
        left_then_s = wish.left_s - (self.next_at_s - self.now_s)
        can_wait = wish.law.containers(left_then_s) <= self.slots
        return Defer(reason) if can_wait else Refuse(reason)

    # --- what would have changed it --------------------------------------------------------------

    def _changes(self, wish: Wish, taken: Sequence[Wish]) -> list[Change]:
        """Single changes with which this round would have taken the job, the cheapest first."""
        found = [self._later(wish), self._more_vms(wish), self._dearer(wish, taken)]
        known = [change for change in found if change is not None]
        # Changes without a price come last.
        return sorted(known, key=lambda one: math.inf if one.cost_usd is None else one.cost_usd)

    def _later(self, wish: Wish) -> Change | None:
        """A later deadline takes fewer containers, which may be free and worth their rent."""
        affordable: float = self.free
        if wish.rent_usd > wish.penalty_usd:
            affordable = min(affordable, wish.penalty_usd / (wish.rent_usd / wish.containers))
        if affordable < 1:
            return None
        waited_s = self.now_s - wish.job.submitted_at_s
        deadline_s = waited_s + wish.law.time_s(int(affordable))
        told_s = _rounded_up(deadline_s)
        return Change("deadline_s", deadline_s, f"a deadline of {told_s} s", 0.0)

    def _more_vms(self, wish: Wish) -> Change | None:
        if wish.penalty_usd < wish.rent_usd or math.isinf(wish.containers):
            return None
        vms = math.ceil((wish.containers - self.free) / self.vm.containers)
        cost_usd = None if self.vm.rent_usd is None else vms * self.vm.rent_usd
        price = "" if cost_usd is None else f" for ${cost_usd:.2f}"
        return Change("more_vms", vms, f"{vms} more VM{'s' * (vms > 1)}{price}", cost_usd)

    def _dearer(self, wish: Wish, taken: Sequence[Wish]) -> Change | None:
        """A higher penalty puts a job before others of the round, and pays more rent."""
        if wish.containers > self.slots:
            return None
        penalty_usd, free = wish.rent_usd, self.free
        for other in reversed(taken):
            if wish.containers <= free:
                break
            free += int(other.containers)
            penalty_usd = max(penalty_usd, other.worth_usd * wish.containers)
        if wish.containers > free:
            return None
        more_usd = max(0.0, penalty_usd - wish.penalty_usd)
        told_usd = _rounded_up(100 * penalty_usd) / 100
        return Change("penalty", penalty_usd, f"a penalty above ${told_usd:.2f}", more_usd)


def _rounded_up(number: float) -> int:
    """The number that messages give: enough, but not one more for a rounding error."""
    return math.ceil(number - 1e-6)


def _rank(wish: Wish) -> tuple[float, float, str]:
    return (-wish.worth_usd, wish.job.submitted_at_s, str(wish.job.job_id))


def _promise(wish: Wish) -> Admit:
    containers = int(wish.containers)
    return Admit(containers, Reason(ReasonCode.PROMISED, (("containers", containers),)))


def _reason(
    code: ReasonCode, numbers: tuple[tuple[str, float], ...], changes: Sequence[Change]
) -> Reason:
    *first, last = (change.text for change in changes) if changes else ("no single change",)
    change = f"{', '.join(first)} or {last} would do" if first else f"{last} would do"
    found = [(f"enough_{one.what}", one.number) for one in changes]
    finite = [(name, number) for name, number in (*numbers, *found) if math.isfinite(number)]
    return Reason(code, (*finite, ("change", change)))
