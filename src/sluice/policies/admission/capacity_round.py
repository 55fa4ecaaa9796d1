"""One round of admission: which jobs are admitted, deferred or refused, and what would change a no.

Jobs are ordered by the worth of one container, highest first. A job that fits into the unreserved
containers is admitted. The admitted jobs are worth at most one job less than the best choice.
Source: capacity spec, section 4.1, for jobs that cannot be divided, on the nodes of the cluster.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sluice.core.protocols import Admit, Defer, Refuse
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.job import Job
from sluice.policies.admission.container_needs import ContainerNeeds

Verdict = Admit | Defer | Refuse
_Rank = tuple[float, float, str]


class Vm(NamedTuple):
    """The unit of renting: so many containers, and its price for the hour; None if not given."""

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
        """The worth of one container; a job that no number of containers helps is worth none."""
        return 0.0 if math.isinf(self.containers) else self.penalty_usd / self.containers


class Change(NamedTuple):
    """A change with which a refused job is taken.

    number: the new value of `what`.  cost_usd: None if it is unknown.
    is_lasting: whether it is enough also after the round, when the room of the jobs that the round
    took is gone.
    """

    what: str
    number: float
    text: str
    cost_usd: float | None
    is_lasting: bool


@dataclass(slots=True)
class Round:
    """Jobs that ask at `now_s`, and the room there is for them.

    slots: all containers.  free: those not promised; each job that is taken reduces them.
    next_at_s: when deferred jobs are asked about again.  ask: the wish of a job that has so many
    seconds until its deadline.
    """

    wishes: Sequence[Wish]
    now_s: float
    next_at_s: float
    slots: int
    free: int
    vm: Vm
    ask: Callable[[Wish, float], Wish]
    _queue: _Queue = field(init=False)
    _left: _Queue = field(init=False)  # those not admitted, and the room that is left

    def verdicts(self) -> Iterator[tuple[Wish, Verdict]]:
        """An answer for every job."""
        ordered = sorted(self.wishes, key=_rank)
        self._queue = _Queue(ordered, self.free, self.vm.containers)
        frees, admitted = _filled(ordered, self.free)
        self.free = int(frees[-1])
        for wish, is_admitted in zip(ordered, admitted, strict=True):
            if is_admitted:
                yield wish, _promise(wish)
        left = [wish for wish, taken in zip(ordered, admitted, strict=True) if not taken]
        self._left = _Queue(left, self.free, self.vm.containers)
        for wish in left:
            yield wish, self._no(wish)

    def _no(self, wish: Wish) -> Defer | Refuse:
        if wish.containers > self.slots:
            changes = self._changes(wish)
            least_s = wish.law.time_s(self.slots)
            numbers = (("slots", self.slots), ("least_s", least_s), ("left_s", wish.left_s))
            return Refuse(_reason(ReasonCode.DEADLINE_TOO_SOON, numbers, changes))
        if wish.penalty_usd < wish.rent_usd:
            changes = self._changes(wish)
            vms = wish.containers / self.vm.containers
            money = (("penalty_usd", wish.penalty_usd), ("vms", vms), ("rent_usd", wish.rent_usd))
            return Refuse(_reason(ReasonCode.NOT_WORTH, money, changes))
        room = (("containers", wish.containers), ("slots", self.slots), ("free", self.free))
        reason = _reason(ReasonCode.CAPACITY_PROMISED, room, self._changes(wish))
        left_then_s = wish.left_s - (self.next_at_s - self.now_s)
        can_wait = wish.law.containers(left_then_s) <= self.slots
        return Defer(reason) if can_wait else Refuse(reason)

    # --- what would have changed it --------------------------------------------------------------

    def _changes(self, wish: Wish) -> list[Change]:
        """Single changes with which this round would have taken the job, the cheapest first.

        Each is the smallest with which the round admits the job. A refused job takes no room from
        others, so the room at each place in the queue is known without another round.
        A job that is asked about again finds the room of the jobs gone that this round took. Where
        a change then is too small, the one that is enough follows.
        """
        found = [*self._later(wish), *self._more_vms(wish), *self._dearer(wish)]
        # Changes without a price come last.
        return sorted(found, key=lambda one: math.inf if one.cost_usd is None else one.cost_usd)

    def _later(self, wish: Wish) -> Iterator[Change]:
        """A later deadline takes fewer containers, which may be free and worth their rent."""

        def left_s(containers: int) -> float:
            return wish.law.time_s(containers)

        # With fewer containers the job never ranks lower, and fits and pays no worse.
        most = int(min(wish.containers - 1, self.slots))
        refused = bisect.bisect_left(
            range(most),
            1,
            key=lambda fewer: self._queue.admits(self.ask(wish, left_s(most - fewer))),
        )
        enough = most - refused
        for what, containers in (("enough", enough), ("lasting", min(enough, self.free))):
            if containers >= 1 and (what == "enough" or containers < enough):
                deadline_s = self.now_s - wish.job.submitted_at_s + left_s(containers)
                text = f"a deadline of {_rounded_up(deadline_s)} s"
                is_lasting = containers <= self.free
                yield Change(f"{what}_deadline_s", deadline_s, text, 0.0, is_lasting)

    def _more_vms(self, wish: Wish) -> Iterator[Change]:
        """More VMs, which jobs of a higher worth may take first."""
        if wish.penalty_usd < wish.rent_usd or math.isinf(wish.containers):
            return
        enough = self._queue.vms_needed(wish)
        lasting = self._left.vms_needed(wish, enough)
        yield self._vms_added("enough", enough, is_lasting=lasting == enough)
        if lasting > enough:
            yield self._vms_added("lasting", lasting, is_lasting=True)

    def _vms_added(self, what: str, vms: int, *, is_lasting: bool) -> Change:
        cost_usd = None if self.vm.rent_usd is None else vms * self.vm.rent_usd
        price = "" if cost_usd is None else f" for ${cost_usd:.2f}"
        # The instant is part of the offer: VMs that come before it may be given to other jobs.
        text = f"{vms} more VM{'s' * (vms > 1)} from {self.now_s:.0f} s on{price}"
        return Change(f"{what}_more_vms", vms, text, cost_usd, is_lasting)

    def _dearer(self, wish: Wish) -> Iterator[Change]:
        """A higher penalty puts a job before others of the round, and pays more rent."""
        frees, ordered = self._queue.frees(), self._queue.ordered
        if wish.containers > frees[0]:
            return
        # The last place in the queue with enough room; the room shrinks from place to place.
        place = bisect.bisect_right(frees, -wish.containers, key=lambda free: -free) - 1
        penalty_usd = wish.rent_usd
        if place < len(ordered):
            penalty_usd = max(penalty_usd, ordered[place].worth_usd * wish.containers)
        more_usd = max(0.0, penalty_usd - wish.penalty_usd)
        told_usd = _rounded_up(100 * penalty_usd) / 100
        text = f"a penalty above ${told_usd:.2f}"
        yield Change("enough_penalty", penalty_usd, text, more_usd, wish.containers <= self.free)


class _Queue:
    """The room that each job of a queue finds, if more VMs are added or none."""

    def __init__(self, ordered: Sequence[Wish], free: float, vm_containers: float) -> None:
        self.ordered = ordered
        self._free = free
        self._vm_containers = vm_containers
        self._ranks = [_rank(wish) for wish in ordered]
        # No room is enough for a job that is not worth its rent.
        self._needs = [
            one.containers if one.penalty_usd >= one.rent_usd else math.inf for one in ordered
        ]
        self._frees: dict[int, list[float]] = {}  # by VMs added
        # Of the last job of each size: its place, from how many VMs on, and how many it needs.
        self._needed: dict[float, tuple[int, int, int]] = {}

    def frees(self, vms: int = 0) -> list[float]:
        """Containers that are free before each job and after the last."""
        if vms not in self._frees:
            room = self._free + vms * self._vm_containers
            found = self._frees[vms] = [room]
            for need in self._needs:
                if need <= room:
                    room -= int(need)
                found.append(room)
        return self._frees[vms]

    def admits(self, wish: Wish) -> bool:
        """Whether a job is admitted at its place, whether the queue has it already or not."""
        return _fits(wish, self.frees()[self._place(wish)])

    def vms_needed(self, wish: Wish, vms: int = 0) -> int:
        """The least number of VMs, from `vms` on, with which a job is admitted that is worth it."""
        place, wanted = self._place(wish), wish.containers
        # The room shrinks from place to place, so a job needs no fewer than one of its size before.
        before, began, least = self._needed.get(wanted, (0, 0, 0))
        found = max(vms, least) if before <= place and began <= vms else vms
        # Room at a job's turn grows by no more than the VMs do, so no smaller number is skipped.
        while (free := self.frees(found)[place]) < wanted:
            found += max(1, math.ceil((wanted - free) / self._vm_containers))
        self._needed[wanted] = place, vms, found
        return found

    def _place(self, wish: Wish) -> int:
        return bisect.bisect_left(self._ranks, _rank(wish))


def _filled(ordered: Sequence[Wish], free: float) -> tuple[list[float], list[bool]]:
    """Containers that are free before each job and after the last; and which jobs are admitted."""
    frees, admitted = [free], []
    for wish in ordered:
        fits = _fits(wish, free)
        admitted.append(fits)
        free -= int(wish.containers) if fits else 0
        frees.append(free)
    return frees, admitted


def _fits(wish: Wish, free: float) -> bool:
    return wish.containers <= free and wish.penalty_usd >= wish.rent_usd


def any_of(texts: Sequence[str]) -> str:
    """The changes of a counter-offer, of which each is enough.

    >>> any_of(["a deadline of 90 s", "2 more VMs"])
    'a deadline of 90 s or 2 more VMs'
    """
    *first, last = texts or ("no single change",)
    return f"{', '.join(first)} or {last}" if first else last


def _rounded_up(number: float) -> int:
    """The number that messages give: enough, but not one more for a rounding error."""
    return math.ceil(number - 1e-6)


def _rank(wish: Wish) -> _Rank:
    return (-wish.worth_usd, wish.job.submitted_at_s, str(wish.job.job_id))


def _promise(wish: Wish) -> Admit:
    containers = int(wish.containers)
    return Admit(containers, Reason(ReasonCode.PROMISED, (("containers", containers),)))


def _reason(
    code: ReasonCode, numbers: tuple[tuple[str, float], ...], changes: Sequence[Change]
) -> Reason:
    lasting = [change.text for change in changes if change.is_lasting]
    passing = [change.text for change in changes if change.text not in lasting]
    # A smaller change may do in a later round, when promised jobs have ended.
    parts = [f"{any_of(lasting)} would do at once"] if lasting or not passing else []
    if passing:
        parts.append(f"{any_of(passing)} would have done in this round")
    change = "; ".join(parts)
    found = [(one.what, one.number) for one in changes]
    finite = [(name, number) for name, number in (*numbers, *found) if math.isfinite(number)]
    return Reason(code, (*finite, ("change", change)))
