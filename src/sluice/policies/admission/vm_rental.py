"""VMs that admission rents for jobs that do not fit, and gives back when no promise needs them.

A job that finds no room is worth its VMs if they cost less, until its deadline, than refusing it:
the rule of the capacity plan for classes, for one job and for whole VMs. The VMs take a while to
join. Until then the job has a *claim*: containers that are free now or that are to come, and that
no other job gets, not even for a task. When they are there, it is admitted with a promise as any
other.

A rented VM that no promise needs is given back shortly before its paid unit of time ends, because
until then it costs nothing more. The nodes of the file are never given back.
Source: capacity spec, sections 3.3 (rules 3 and 4) and 4.1, for jobs that cannot be divided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sluice.core.entries import JobEntry, NodeEntry
from sluice.core.protocols import Admit, Defer, PoolPolicy, Refuse, Reservation
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record.opening import reason_of, reason_text
from sluice.core.state import ClusterState
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId
from sluice.model.prices import Prices
from sluice.model.slot_kind import SlotKind
from sluice.policies.admission.capacity_round import Verdict, Wish

_CONTAINER = SlotKind.CONTAINER


class RentalTerms(NamedTuple):
    """Limits and prices. vms_max: nodes at once.  prices: of a VM on demand.  reserved_usd: of one
    for the hour.  start_s: from the request until it joins.  interval_s: between rounds.
    """

    vms_max: int
    prices: Prices
    reserved_usd: float
    start_s: float
    interval_s: float

    @property
    def wait_s(self) -> float:
        """From the request until the round that finds the VM; rounds are an interval apart."""
        if not self.interval_s:
            return self.start_s
        return max(1, math.ceil(self.start_s / self.interval_s - 1e-9)) * self.interval_s


class Claim(NamedTuple):
    """Containers that a job waits for. kept: those of them that are idle until then.

    from_s: when all are there.
    """

    containers: int
    kept: int
    from_s: float
    reason: Reason


class VmRental(PoolPolicy):
    """Rents nodes for claims, and gives back those that no promise needs."""

    name = "rental"

    def __init__(self, terms: RentalTerms) -> None:
        super().__init__()
        self.terms = terms
        self._claims: dict[JobId, Claim] = {}
        # VMs to rent for each job since the last time; there are none between two events.
        self._wanted: list[tuple[JobId, int]] = []
        self._own: set[NodeId] | None = None  # the nodes that were there at first
        self._joined_at_s: dict[NodeId, float] = {}  # of rented ones

    def saved(self) -> dict[str, object]:
        return {
            "claims": [
                (job_id, one.containers, one.kept, one.from_s, reason_text(one.reason))
                for job_id, one in self._claims.items()
            ],
            "own": None if self._own is None else sorted(self._own),
            "joined_at_s": self._joined_at_s,
        }

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        self._claims = {
            JobId(job_id): Claim(int(containers), int(kept), float(from_s), reason_of(reason))
            for job_id, containers, kept, from_s, reason in saved["claims"]
        }
        self._own = None if saved["own"] is None else {NodeId(one) for one in saved["own"]}
        self._joined_at_s = {NodeId(one): float(at) for one, at in saved["joined_at_s"].items()}

    @property
    def start_s(self) -> float:
        return self.terms.start_s

    # --- what a round asks --------------------------------------------------------------------

    def settle(self, wishes: Sequence[Wish], state: ClusterState) -> dict[JobId, Verdict]:
        """The answers for jobs with a claim. A claim ends when its time has come."""
        found: dict[JobId, Verdict] = {}
        free = state.spare_containers() + state.machines.kept_free
        waits = False
        # By the order of their time: no claim takes early what one before it waits for.
        claimed = [wish for wish in wishes if wish.job.job_id in self._claims]
        for wish in sorted(claimed, key=lambda one: self._claims[one.job.job_id].from_s):
            claim = self._claims[wish.job.job_id]
            if wish.containers <= free and not waits:
                free -= int(wish.containers)
                promised = Reason(ReasonCode.PROMISED, (("containers", wish.containers),))
                found[wish.job.job_id] = Admit(int(wish.containers), promised)
            elif state.now_s <= claim.from_s:  # at that instant its VMs may still join
                found[wish.job.job_id] = Defer(claim.reason)
                waits = True
                continue
            del self._claims[wish.job.job_id]
        return found

    def room(self, free: int, containers_per_vm: float, state: ClusterState) -> int:
        """Containers for jobs without a claim. free: those that no job is promised now."""
        idle = free - sum(claim.kept for claim in self._claims.values())
        return max(0, min(idle, self._unclaimed(free, containers_per_vm, state)))

    def answer(
        self, wish: Wish, verdict: Verdict, free: int, containers_per_vm: float, state: ClusterState
    ) -> Verdict:
        """Rent what a job lacks if it is worth it, and let it wait; else say why not.

        verdict: what the round said without more VMs.
        """
        left_s = wish.left_s - self.terms.wait_s
        containers = wish.law.containers(left_s)
        if isinstance(verdict, Admit) or math.isinf(containers):
            return verdict
        unclaimed = max(0, self._unclaimed(free, containers_per_vm, state))
        vms = max(0, math.ceil((containers - unclaimed) / containers_per_vm))
        rent_usd = self._rent_usd(vms, containers / containers_per_vm, left_s)
        numbers = (
            ("vms", vms), ("rent_usd", rent_usd), ("penalty_usd", wish.penalty_usd),
        )  # fmt: skip
        may_add = self._may_add(state)
        if vms > may_add:
            return _but(verdict, ReasonCode.VMS_AT_MOST, (*numbers, ("left", may_add)))
        if wish.penalty_usd < rent_usd:
            return _but(verdict, ReasonCode.RENT_NOT_WORTH, numbers)
        # Until the next round containers may become free, which saves a whole unit of rent. Where
        # units are short, a VM costs the same later, and a job that waits needs more of them.
        later = wish.law.containers(left_s - self.terms.interval_s)
        is_long = self.terms.prices.billing_s > left_s and self.terms.interval_s > 0
        if is_long and later - unclaimed <= vms * containers_per_vm:
            return Defer(Reason(ReasonCode.RENTED_LATER, numbers))
        at_s = state.now_s + self.terms.wait_s
        code = ReasonCode.VMS_RENTED if vms else ReasonCode.VMS_COMING
        reason = Reason(code, (*numbers, ("at_s", at_s)))
        idle = free - sum(claim.kept for claim in self._claims.values())
        kept = max(0, min(idle, math.ceil(containers - vms * containers_per_vm)))
        self._claims[wish.job.job_id] = Claim(int(containers), kept, at_s, reason)
        if vms:
            self._wanted.append((wish.job.job_id, vms))
        return Defer(reason)

    def _unclaimed(self, free: int, containers_per_vm: float, state: ClusterState) -> int:
        """Containers that are free or to come, and that no job claims; below 0 if VMs are late."""
        to_come = state.machines.to_come + sum(vms for _, vms in self._wanted)
        claimed = sum(claim.containers for claim in self._claims.values())
        return math.floor(free + to_come * containers_per_vm) - claimed

    def _may_add(self, state: ClusterState) -> int:
        """VMs that may still be rented. Those that are being given back are there already."""
        up = sum(node.is_up for node in state.nodes.values()) - len(state.machines.leaving)
        to_come = state.machines.to_come + sum(vms for _, vms in self._wanted)
        return max(0, self.terms.vms_max - up - to_come)

    def _rent_usd(self, vms: int, all_vms: float, left_s: float) -> float:
        """Rent of the VMs until the deadline, and of those that the job uses and that are there."""
        there = max(0.0, all_vms - vms)
        return vms * self.terms.prices.rent_usd(left_s) + there * self.terms.reserved_usd

    # --- what the scheduler asks --------------------------------------------------------------

    def reserve(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> Sequence[Reservation]:
        self._meet(state)
        self._drop_ended(state)
        if self._wanted:
            vms = sum(count for _, count in self._wanted)
            jobs = ", ".join(str(job_id) for job_id, _ in self._wanted)
            self._wanted = []
            hour_usd = self.terms.prices.vm_hour_usd
            numbers = (("vms", vms), ("jobs", jobs), ("hour_usd", hour_usd))
            return (Reservation("", vms, Reason(ReasonCode.RENTED_FOR, numbers)),)
        surplus, reason = self._surplus(state)
        due = [node.node_id for node in surplus if self._due_s(node, now_s) <= now_s]
        return (Reservation("", -len(due), reason, tuple(due)),) if due else ()

    def kept_free(self, state: ClusterState) -> int:
        claimed = sum(claim.containers for claim in self._claims.values())
        if not claimed:
            return 0
        each = next(iter(state.nodes.values())).node.slots(_CONTAINER)
        # What was idle, and what has joined since.
        kept = sum(claim.kept for claim in self._claims.values())
        return max(kept, claimed - state.machines.to_come * each)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        if state.is_closed and not (state.active or state.waiting or state.deferred):
            return None  # the run is over
        surplus, _ = self._surplus(state)
        return min((self._due_s(node, now_s) for node in surplus), default=None)

    def _meet(self, state: ClusterState) -> None:
        """Note the nodes that have joined since the last time."""
        if self._own is None:
            self._own = set(state.nodes)
        for node_id in state.machines.returned.intersection(self._joined_at_s):
            del self._joined_at_s[node_id]  # another may come under its name
        for node_id in state.nodes:
            if node_id not in self._own and node_id not in state.machines.returned:
                self._joined_at_s.setdefault(node_id, state.now_s)

    def _drop_ended(self, state: ClusterState) -> None:
        """A job that was killed or refused claims nothing any more."""
        for job_id in [one for one in self._claims if one not in state.deferred]:
            del self._claims[job_id]

    def _surplus(self, state: ClusterState) -> tuple[list[NodeEntry], Reason]:
        """Rented nodes that no promise or claim needs, those with the least work first."""
        staying = [
            node
            for node_id, node in state.nodes.items()
            if node.is_up and node_id not in state.machines.leaving
        ]
        rented = [node for node in staying if node.node_id in self._joined_at_s]
        if not rented:
            return [], Reason(ReasonCode.VM_UNNEEDED)
        promised = sum(job.promised for job in state.promises.values())
        claimed = sum(claim.containers for claim in self._claims.values())
        each = rented[0].node.slots(_CONTAINER)
        needed = math.ceil((promised + claimed) / each)
        unneeded = max(0, len(staying) + state.machines.to_come - needed)
        rented.sort(key=lambda node: (node.used(_CONTAINER), -node.index))
        numbers = (("needed", needed), ("vms", len(staying)))
        surplus = _dispensable(rented[:unneeded], staying, claimed, state)
        return surplus, Reason(ReasonCode.VM_UNNEEDED, numbers)

    def _due_s(self, node: NodeEntry, now_s: float) -> float:
        """When to give the node back, if it is not needed: so long before its paid unit ends as it
        takes to rent another. It is now where units are shorter than that.
        """
        unit_s, joined_at_s = self.terms.prices.billing_s, self._joined_at_s[node.node_id]
        ahead_s = max(self.terms.start_s, self.terms.interval_s)
        if unit_s <= ahead_s:
            return joined_at_s
        units = max(1, math.ceil((now_s - joined_at_s) / unit_s))
        return joined_at_s + units * unit_s - ahead_s


def _dispensable(
    nodes: Sequence[NodeEntry], staying: Sequence[NodeEntry], claimed: int, state: ClusterState
) -> list[NodeEntry]:
    """The first of the nodes without which each job still finds what it is owed, idle elsewhere.

    Tasks without a promise may fill the other nodes, and none of them is ended for a promise.
    """
    if not nodes:
        return []
    idle = sum(node.free[_CONTAINER] for node in staying)
    owed = claimed + sum(max(0, job.held - job.running) for job in state.promises.values())
    found = []
    for node in nodes:
        idle -= node.free[_CONTAINER]
        owed += sum(
            one.tasks
            for one in state.running.values()
            if one.node is node and one.phase.job.promised
        )
        if idle < owed:
            break
        found.append(node)
    return found


def _but(verdict: Verdict, code: ReasonCode, numbers: tuple[tuple[str, float], ...]) -> Verdict:
    """The verdict, with why no VMs are rented for the job and what would admit it."""
    change = [one for one in verdict.reason.numbers if one[0] == "change"] if verdict.reason else []
    reason = Reason(code, (*numbers, *change))
    return Defer(reason) if isinstance(verdict, Defer) else Refuse(reason)


def check_rented(policy: PoolPolicy, nodes: Sequence[Node], vm_containers: int | None) -> None:
    """Refuse to rent VMs for a cluster of unequal nodes, or of nodes that are not one VM each.

    vm_containers: those of a VM, where the settings say so. Raises InvalidInput.
    """
    if not isinstance(policy, VmRental):
        return
    sizes = {node.slots(_CONTAINER) for node in nodes}
    if len(sizes) > 1 or sizes == {0}:
        raise InvalidInput(
            "rented VMs are like the nodes of the cluster, which differ or have no slots",
            where="capacity.vms_max",
            hint="give the cluster equal nodes with containers",
        )
    if vm_containers is not None and sizes != {vm_containers}:
        raise InvalidInput(
            f"a rented VM is a node, and a node has {sizes.pop()} containers",
            where="capacity.vm_containers",
            hint="leave it out, or give the cluster one node for each VM",
        )
