"""Admission under deadlines: a job is admitted if its deadline can be kept and is worth its cost.

Rounds decide about all waiting jobs together, an interval apart; a job that arrives after a pause
is decided at once. An admitted job has the containers that its deadline needs reserved until it
ends (`promises`); a container scheduler that keeps them free keeps the deadline. A job that does
not fit is deferred while a later round could still be in time. It is refused if none could, or if
its machines cost more than refusing it does. An admitted job stays admitted. Every refusal names
the changes that would have admitted the job, the cheapest first. Under `without_promise=likely`,
a job that no promise fits is admitted without one if the work ahead of it leaves time, see
`work_ahead`.

With `capacity.vms_max` the rounds also rent VMs and give them back; see `vm_rental`.
Source: capacity spec, sections 1, 3.2 and 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice.core.entries import JobEntry
from sluice.core.protocols import AdmissionPolicy, Admit, Defer, PoolPolicy, Refuse
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.settings import HeartbeatSettings
from sluice.core.state import ClusterState
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.prices import Prices
from sluice.model.settings import check_pause, number, whole, word
from sluice.model.slot_kind import SlotKind
from sluice.policies.admission.capacity_round import Round, Verdict, Vm, Wish
from sluice.policies.admission.container_needs import ContainerNeeds, container_needs
from sluice.policies.admission.vm_rental import RentalTerms, VmRental
from sluice.policies.admission.work_ahead import NewestLengths, likely_s
from sluice.policies.memory import finite, or_infinite

_RENTS = 10.0  # default penalty of a job, in rents of its own (section 4.3)
_DECIDED = ("taken", "refused")
_NO_NODE = Reason(ReasonCode.NO_NODE)


class CapacityAdmission(AdmissionPolicy):
    """Takes jobs whose deadline it can promise."""

    name = "capacity"
    makes_promises = True

    @dataclass(frozen=True, kw_only=True)
    class Settings(HeartbeatSettings):
        """When it decides, and what jobs are worth. Source: capacity spec, sections 3 and 4.3."""

        interval_s: float = number(
            10.0,
            "seconds between rounds; 0 decides whenever anything happens",
            reason="longer rounds compare more jobs, and answer later",
        )
        bound: str = word(
            "up", "estimate of job lengths; up keeps every promise", "low", "avg", "up"
        )
        without_deadline: str = word(
            "take",
            "what to do with jobs without a deadline, or of unknown lengths",
            "take",
            "refuse",
            reason="a cluster that sells promises alone takes no other job",
        )
        without_promise: str = word(
            "refuse",
            "what to do with a job that no promise fits; likely takes it if the work ahead of it"
            " leaves time",
            "refuse",
            "likely",
        )
        reserved_vm_usd: float | None = number(
            None, "dollars for a VM and the hour, else those under `prices`; none takes what fits"
        )
        vm_containers: int | None = whole(
            None,
            "containers of one VM; none for as many as a node has",
            low=1,
            reason="belongs to the VM type that is rented",
        )
        penalty_usd: float | None = number(
            None, "dollars for refusing a job of weight 1 without penalty_usd; none for ten rents"
        )

        vms_max: int | None = whole(
            None, "most VMs at once; more than the nodes there are may be rented for jobs", low=1
        )
        on_demand_vm_usd: float | None = number(
            None, "dollars for a rented VM and hour, else those under `prices`", needs="vms_max"
        )
        vm_start_s: float = number(
            60.0,
            "seconds from the request for a VM until it joins",
            needs="vms_max",
            reason="belongs to the cloud that rents the VMs",
        )
        billing_s: float = number(
            1.0, "rented VMs are paid in units of this many seconds", needs="vms_max"
        )

        def __post_init__(self) -> None:
            check_pause("interval_s", self.interval_s)
            if self.vms_max is not None and self.on_demand_vm_usd is None:
                raise InvalidInput(
                    "VMs are to be rented, and have no price",
                    where="capacity.vms_max",
                    hint="give on_demand_vm_usd under prices, or capacity.on_demand_vm_usd",
                )
            if self.vms_max is not None and self.without_promise == "likely":
                raise InvalidInput(
                    "VMs are rented for promises, and jobs are to be taken without one",
                    where="capacity.without_promise",
                    hint="leave out capacity.vms_max or capacity.without_promise",
                )

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        of = settings or self.Settings()
        self._interval_s = of.interval_s
        self._bound = of.bound
        self._takes_others = of.without_deadline == "take"
        self._takes_likely = of.without_promise == "likely"
        self._rent_usd = of.reserved_vm_usd
        self._vm_containers = of.vm_containers
        self._penalty_usd = of.penalty_usd
        self._heartbeat_s = of.heartbeat_s
        self._laws: dict[JobId, ContainerNeeds | None] = {}
        self._verdicts: dict[JobId, Verdict] = {}  # of the round at hand
        self._held_at_s = -math.inf
        self._rental = None if of.vms_max is None else VmRental(_terms(of))
        self._newest: NewestLengths | None = None  # from the first round on
        self._rounds: list[dict[str, Any]] = []  # of the jobs that are not forgotten

    def saved(self) -> dict[str, object]:
        """All but the rounds of its report. What it rents is saved by `machines`."""
        return {
            "held_at_s": finite(self._held_at_s),
            "newest": None if self._newest is None else self._newest.saved(),
        }

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        newest = saved["newest"]
        self._held_at_s = or_infinite(saved["held_at_s"], -math.inf)
        self._newest = None if newest is None else NewestLengths(state, newest)

    def round_at_s(self, now_s: float) -> float:
        return max(now_s, self._held_at_s + self._interval_s)

    def decide(self, job: Job, state: ClusterState) -> Verdict:
        if job.job_id not in self._verdicts:
            self._hold_round(state)
        return self._verdicts.pop(job.job_id)

    @property
    def machines(self) -> PoolPolicy | None:
        return self._rental

    def vm_rent_usd(self, containers: int) -> float | None:
        """The rent of a VM for the hour; None if it is unknown, or if this is not such a VM."""
        return self._rent_usd if self._vm_containers in (None, containers) else None

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        gone = {job.job_id for job in jobs}
        self._laws = {one: law for one, law in self._laws.items() if one not in gone}
        for held in self._rounds:
            for kind in (*_DECIDED, "deferred"):
                held[kind] = [job_id for job_id in held[kind] if job_id not in gone]
        self._rounds = [held for held in self._rounds if any(held[kind] for kind in _DECIDED)]

    def report(self) -> Mapping[str, object]:
        return {"admission_rounds": self._rounds}

    # --- a round ------------------------------------------------------------------------------

    def _hold_round(self, state: ClusterState) -> None:
        """Decide about all jobs that ask."""
        now_s, slots = state.now_s, state.slots[SlotKind.CONTAINER]
        if self._takes_likely and self._newest is None:
            self._newest = NewestLengths(state)  # no task has run before the first round
        self._held_at_s = now_s
        self._verdicts = {}
        vm, wishes = self._vm(state), []
        for entry in state.deferred.values():
            verdict = self._at_once(entry.job, slots)
            if verdict is None:
                assert entry.job.deadline_at_s is not None, "it was decided at once"
                wishes.append(self._wish(entry.job, entry.job.deadline_at_s - now_s, vm))
            else:
                self._verdicts[entry.job_id] = verdict
        # In steps of an interval at least: a round "at once" has no next one that is known.
        next_at_s = max(self.round_at_s(now_s), math.nextafter(now_s, math.inf))
        free = max(0, state.spare_containers() + state.machines.kept_free)

        def ask(wish: Wish, left_s: float) -> Wish:
            return self._wish(wish.job, left_s, vm)

        room, rental = free, self._rental
        if rental is not None:
            settled = rental.settle(wishes, state)
            self._verdicts |= settled
            wishes = [wish for wish in wishes if wish.job.job_id not in settled]
            free -= sum(one.containers for one in settled.values() if isinstance(one, Admit))
            room = rental.room(free, vm.containers, state)
        held = Round(wishes, now_s, next_at_s, slots, room, vm, ask)
        for wish, verdict in held.verdicts():
            if rental is not None:
                left = free - (room - held.free)
                verdict = rental.answer(wish, verdict, left, vm.containers, state)  # noqa: PLW2901  # the round's, with more VMs
            self._verdicts[wish.job.job_id] = verdict
        if self._takes_likely:
            self._take_likely(wishes, state)
        self._note(now_s, room, held.free)

    def _take_likely(self, wishes: Sequence[Wish], state: ClusterState) -> None:
        """Take jobs that no promise fits, if they are in time after the work ahead of them."""
        left = [one for one in wishes if not isinstance(self._verdicts[one.job.job_id], Admit)]
        if not left:
            return
        assert self._newest is not None, "a round is held"
        stretch = self._newest.stretch()
        for wish in left:
            needs_s = likely_s(wish.job, state, stretch)
            if needs_s <= wish.left_s:
                numbers = (("needs_s", needs_s), ("left_s", wish.left_s))
                self._verdicts[wish.job.job_id] = Admit(0, Reason(ReasonCode.LIKELY, numbers))

    def _at_once(self, job: Job, slots: int) -> Verdict | None:
        """The answer for a job without a deadline or lengths; None for a job that must compete."""
        if job.job_id not in self._laws:
            self._laws[job.job_id] = container_needs(job, self._bound, self._heartbeat_s)
        if job.deadline_at_s is None or self._laws[job.job_id] is None:
            why = ReasonCode.NO_LENGTHS if job.deadline_at_s else ReasonCode.NO_DEADLINE
            return Admit() if self._takes_others else Refuse(Reason(why))
        return None if slots else Defer(_NO_NODE)

    def _wish(self, job: Job, left_s: float, vm: Vm) -> Wish:
        law = self._laws[job.job_id]
        assert law is not None, "a job without a law was decided at once"
        containers = law.containers(left_s)
        vms = containers / vm.containers
        return Wish(
            job=job,
            law=law,
            left_s=left_s,
            containers=containers,
            penalty_usd=self._penalty_of(job, vms),
            rent_usd=vms * (self._rent_usd or 0.0),
        )

    def _penalty_of(self, job: Job, vms: float) -> float:
        if job.penalty_usd is not None:
            return job.penalty_usd
        if self._penalty_usd is not None:
            return self._penalty_usd * job.weight
        # Without a price any will do: jobs of equal weight are then worth the same, by container.
        return _RENTS * vms * (self._rent_usd or 1.0) * job.weight

    def _vm(self, state: ClusterState) -> Vm:
        nodes = sum(node.is_up for node in state.nodes.values())
        of_node = state.slots[SlotKind.CONTAINER] / max(1, nodes)
        return Vm(self._vm_containers or of_node or 1.0, self._rent_usd)

    def _note(self, now_s: float, free: int, left: int) -> None:
        """Keep what a round decided, for the run's document; those that only wait are no news."""
        decided: dict[str, list[JobId]] = {
            name: list(self._with(kind))
            for name, kind in (("taken", Admit), ("refused", Refuse), ("deferred", Defer))
        }
        if any(decided[kind] for kind in _DECIDED):
            self._rounds.append({"at_s": now_s, "free": free, "left": left, **decided})
            for job_id in (*decided["taken"], *decided["refused"]):
                del self._laws[job_id]

    def _with(self, kind: type) -> Iterator[JobId]:
        return (job_id for job_id, verdict in self._verdicts.items() if isinstance(verdict, kind))


def _terms(of: CapacityAdmission.Settings) -> RentalTerms:
    """At which terms more VMs are rented."""
    assert of.vms_max is not None, "without a limit none are rented"
    assert of.on_demand_vm_usd is not None, "the settings were checked"
    return RentalTerms(
        vms_max=of.vms_max,
        prices=Prices(vm_hour_usd=of.on_demand_vm_usd, billing_s=of.billing_s),
        reserved_usd=of.reserved_vm_usd or 0.0,
        start_s=of.vm_start_s,
        interval_s=of.interval_s,
    )
