"""Counter-offers to a job that admission refused: the least of each kind that is admitted.

The policy only knows the round at hand: a change that it offers is enough at once. Here the
workload is simulated again with each change, so that an offer also counts on the containers that
promised jobs give back later. Nothing is offered that was not admitted.

A later deadline or a higher penalty never loses: until the job is admitted it takes no room from
others, and it is asked about in the same rounds, where it needs no more and ranks no lower. So the
least of them is found by halving. More VMs may be given to others first, so that a smaller number
may do by chance; the offer is a number with which the job is admitted while one less is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from sluice.core.entries import JobEntry
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.policies.admission.capacity_admission import CapacityAdmission
from sluice.policies.admission.capacity_round import any_of

_TASKS_MAX = 10_000  # of a workload that is simulated about 50 times; more take too long
_DEADLINE_S_MAX = 10**9
_CENTS_MAX = 10**9
_VMS_MAX = 1024
_NOT_ADMITTED = (JobState.DEFERRED, JobState.REFUSED)

# The state at an instant, or at the end for None, in a simulation of a changed workload.
Simulate = Callable[[Workload, float | None], ClusterState]


def admission_offers(
    workload: Workload, entry: JobEntry, admission: object, simulate: Simulate
) -> Reason | None:
    """Why the job was refused, with the least changes that admit it; None if none can be found.

    entry: the refused job, at the end of its simulation by `admission`.
    """
    tasks = sum(phase.tasks for job in workload.jobs for phase in job.phases)
    verdict = entry.verdict
    if not isinstance(admission, CapacityAdmission) or verdict is None or tasks > _TASKS_MAX:
        return None
    if entry.state is not JobState.REFUSED or "change" not in dict(verdict.numbers):
        return None
    asked = _Asked(workload, entry.job_id, simulate)
    offers = [*asked.later(), *asked.dearer(), *asked.more_vms(admission)]
    offers.sort(key=lambda offer: offer[3])
    change = f"{any_of([text for _, _, text, _ in offers])} would do"
    least = [(name, number) for name, number, _, _ in offers]
    return Reason(verdict.code, (*_numbers(verdict), *least, ("change", change)))


def _numbers(verdict: Reason) -> list[tuple[str, float | str]]:
    return [(name, number) for name, number in verdict.numbers if name != "change"]


# The name of its number, the number, the text, and its cost; an unknown one comes last.
_Offer = tuple[str, float, str, float]


class _Asked:
    """A job that asks again."""

    def __init__(self, workload: Workload, job_id: JobId, simulate: Simulate) -> None:
        self._workload = workload
        self._job = next(one for one in workload.jobs if one.job_id == job_id)
        self._simulate = simulate

    def later(self) -> list[_Offer]:
        """A later deadline, in whole seconds from the submission."""
        at_s = self._job.submitted_at_s
        deadline_at_s = self._job.deadline_at_s
        assert deadline_at_s is not None, "jobs without a deadline get no offers"

        def admits(deadline_s: int) -> bool:
            return self._admits(deadline_at_s=at_s + deadline_s, shares_deadline_of=None)

        least = _least(math.floor(deadline_at_s - at_s), _DEADLINE_S_MAX, admits)
        return [] if least is None else [("least_deadline_s", least, f"a deadline of {least} s", 0)]

    def dearer(self) -> list[_Offer]:
        """A higher penalty, in whole cents."""

        def admits(cents: int) -> bool:
            return self._admits(penalty_usd=cents / 100)

        now = 100 * (self._job.penalty_usd or 0.0)
        least = _least(math.floor(now + 1e-6), _CENTS_MAX, admits)
        if least is None:
            return []
        usd = least / 100
        return [("least_penalty_usd", usd, f"a penalty of ${usd:.2f}", (least - now) / 100)]

    def more_vms(self, admission: CapacityAdmission) -> list[_Offer]:
        """More nodes like the last one, from the start."""
        cluster = self._workload.required_cluster()
        last = cluster.nodes[-1]
        each = last.slots(SlotKind.CONTAINER)
        if not each:
            return []

        def admits(more: int) -> bool:
            added = tuple(replace(last, node_id=NodeId(f"{last.node_id}+{n}")) for n in range(more))
            return self._admits(nodes=(*cluster.nodes, *added))

        # With as many there is room for all tasks at once.
        widest = [max((one.tasks for one in job.phases), default=0) for job in self._workload.jobs]
        least = _least(0, min(_VMS_MAX, math.ceil(sum(widest) / each)), admits)
        if least is None:
            return []
        rent_usd = admission.vm_rent_usd(each)
        price = "" if rent_usd is None else f" for ${least * rent_usd:.2f}"
        text = f"{least} more VM{'s' * (least > 1)} from the start{price}"
        cost_usd = math.inf if rent_usd is None else least * rent_usd
        return [("least_more_vms", least, text, cost_usd)]

    def _admits(self, nodes: Sequence[Node] | None = None, **fields: object) -> bool:
        """Simulate with other nodes, or with other fields of the job."""
        job = replace(self._job, **fields)  # type: ignore[arg-type]  # fields of a job
        workload = replace(
            self._workload,
            jobs=tuple(job if one is self._job else one for one in self._workload.jobs),
        )
        if nodes is not None:
            workload = replace(
                workload, cluster=replace(workload.required_cluster(), nodes=tuple(nodes))
            )
        # At its deadline the answer is final. That of a job after others counts from their end.
        until_s = None if job.after else job.deadline_at_s
        try:
            state = self._simulate(workload, until_s)
        except InvalidInput:
            return False  # more nodes than a setting allows
        return state.jobs[job.job_id].state not in _NOT_ADMITTED


def _least(refused: int, most: int, admits: Callable[[int], bool]) -> int | None:
    """A number above `refused` that is admitted, while one less is not; None if `most` is not."""
    if most <= refused or not admits(most):
        return None
    admitted, step = most, 1
    while refused + step < most:
        if admits(refused + step):
            admitted = refused + step
            break
        refused, step = refused + step, 2 * step
    while admitted - refused > 1:
        middle = (refused + admitted) // 2
        if admits(middle):
            admitted = middle
        else:
            refused = middle
    return admitted
