"""Pools of VMs at task level, put together: nodes and predictions, the policy and its planner.

`sluice pools` plans whole jobs; the simulator and real runs know tasks on nodes. Here the two meet:
each VM becomes a node, `PlannedVms` lets the online schedulers of `planning.pools` decide which VMs
a job gets and when, and the task policy gives its tasks no others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.bootstrap.preparation.vm_nodes import (
    has_own_vms,
    has_vm_nodes,
    is_about_vms,
    with_vm_nodes,
)
from sluice.bootstrap.settings import resolved_settings
from sluice.core.entries import JobEntry
from sluice.core.protocols import TaskPolicy
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.slot_kind import SlotKind
from sluice.model.vm_pools import PowerRule, ReconfigureRule, VmPools
from sluice.model.workload import Workload
from sluice.planning.pools.choice import VmChoice
from sluice.planning.pools.packing import servers_needed
from sluice.planning.pools.schedule import PoolOutcome
from sluice.policies.composition import PRESETS
from sluice.policies.machines.vm_pools import PooledVms
from sluice.policies.machines.vm_settings import VmPoolSettings
from sluice.reporting.history.past_runs import OwnNodes
from sluice.reporting.pools.choice import VmChoiceResult

if TYPE_CHECKING:
    from sluice.planning.pools.online_reservations import OnlineReservations


_OWN_PARTS = PRESETS["vm-pools"]
_OWNER = "machines"  # of the settings of VM pools
_USED = ("slots", "copies")  # axes that decide something on nodes that one job has to itself


class PlannedVms(PooledVms):
    """Pools of VMs with the schedulers of `sluice pools` as their planner."""

    def __init__(
        self,
        planner: OnlineReservations,
        settings: VmPoolSettings,
        others: TaskPolicy | None = None,
    ) -> None:
        super().__init__(planner, settings, others)
        self._reservations = planner

    def follow(self, job_id: JobId) -> None:
        """Note why this job gets its VMs. A replay of the same events gives the same reasons."""
        self._reservations.follow(job_id)

    def choice(self, job: JobEntry) -> VmChoiceResult | None:
        """Why the followed job got its VMs, and what others would have cost; None without any."""
        choice, is_refused = self._reservations.choice(), job.job.job_id in self._refused
        if choice is None or choice.job.job_id != job.job.job_id:
            return None
        if job.has_ended and self._rows.get(job.job.job_id) is None and not is_refused:
            return None  # it was killed before it had any VMs
        return VmChoiceResult(
            choice,
            self._outcome(job, choice),
            self._reservations.types(),
            self.settings.vm_server_units,
            is_past=True,
        )

    def _outcome(self, job: JobEntry, choice: VmChoice) -> PoolOutcome:
        """Return what is known of the job so far."""
        job_id, slot = job.job.job_id, choice.slot
        row, late = self._rows.get(job_id), self._reservations.late_offer(job_id)
        deadline_at_s = math.inf if job.job.deadline_at_s is None else job.job.deadline_at_s
        cost = 0.0 if slot is None else slot.option.cost_server_s
        started_at_s = self._leases[job_id].given_s if job_id in self._leases else None
        if row is not None:
            started_at_s = row["started_at_s"]
            cost = row["unit_s"] / (self.settings.vm_server_units or 1.0)
        return PoolOutcome(
            job=replace(choice.job, deadline_at_s=deadline_at_s),
            option=None if slot is None else slot.option,
            started_at_s=started_at_s,
            finished_at_s=None if row is None else row["finished_at_s"],
            cost_server_s=cost,
            why=self._why_late(is_refused=job_id in self._refused),
            least_deadline_at_s=late.least_deadline_at_s if late else None,
            is_refused=job_id in self._refused,
        )

    def _why_late(self, *, is_refused: bool) -> str:
        if not is_refused:
            return "no VMs were free in time"
        if self.settings.vm_service == "immediate":
            return "no VMs were free at its arrival"
        return "no cluster of idle pools can meet its deadline"

    def notes(self, job: JobEntry) -> Iterable[tuple[float, str, str]]:
        found = self.choice(job)
        noted = () if found is None else found.notes()
        return sorted([*noted, *super().notes(job)], key=lambda note: note[0])

    @classmethod
    def build(cls, settings: VmPoolSettings, others: TaskPolicy | None = None) -> PooledVms:
        from sluice.planning.pools.online_reservations import OnlineReservations
        from sluice.planning.pools.pool_change import Servers

        units, servers = settings.vm_server_units, None
        if settings.vm_reconfigure and units is not None and settings.vm_servers is not None:
            servers = Servers(units, settings.vm_servers)
        planner = OnlineReservations(
            settings.vm_rule,
            boot_s=settings.vm_boot_s,
            tick_s=settings.vm_tick_s,
            bound_s=math.inf if settings.vm_window_s is None else settings.vm_window_s,
            server_units=1.0 if units is None else units,
            servers=servers,
            resize_rule=ReconfigureRule(
                window_s=settings.vm_check_s,
                beta=settings.vm_beta,
                vm_change_server_s=settings.vm_change_server_s,
                weighted=settings.vm_weighted,
                keeps_largest=settings.vm_keep_largest,
            ),
            power=_power(settings),
        )
        return cls(planner, settings, others)


def _power(settings: VmPoolSettings) -> PowerRule | None:
    down_s = settings.vm_power_down_s
    if down_s is None:
        return None
    if settings.vm_reconfigure:
        raise InvalidInput(
            "servers cannot be shut down while pools change their sizes",
            where="vm_power_down_s",
            hint="leave out vm_power_down_s or vm_reconfigure",
        )
    if settings.vm_server_units is None:
        raise InvalidInput(
            "server_units is missing, and vm_power_down_s needs it",
            where="vm_power_down_s",
            hint="give the resource units of one server",
        )
    return PowerRule(down_after_s=down_s, up_s=settings.vm_power_up_s)


def on_vm_nodes(
    workload: Workload,
    tasks: Iterable[ChosenPolicy],
    overrides: Mapping[str, object] | Iterable[str] = (),
) -> tuple[Workload, bool]:
    """The workload whose VMs are nodes, and whether a policy gives jobs VMs of their own.

    tasks: the policies that will see it.  overrides: settings over those of the file. Where pools
    change their sizes, VMs that the servers could have instead are spare nodes.  A workload with a
    cluster, or whose VM types have no slots, is returned as it is. Raises InvalidInput as
    `with_vm_nodes`.
    """
    if not has_vm_nodes(workload):
        return workload, False
    pools = workload.vm_pools
    chosen = [one for one in tasks if is_about_vms(one)]
    if pools is None or not chosen:
        return with_vm_nodes(workload), False
    settings = dict(workload.settings)
    for key, value in _given(pools).items():
        _set_by_default(settings, key, value)
    resolved = resolved_settings(settings, overrides, chosen)
    own = [resolved.of(VmPoolSettings, one.name) for one in chosen]
    servers = _servers(own, pools, workload.source)
    if servers is not None:
        _set_by_default(settings, "vm_servers", servers)
    made = with_vm_nodes(workload, servers=servers)
    return replace(made, settings=settings), True


def _set_by_default(settings: dict[str, object], key: str, value: object) -> None:
    """Set what the file does not, under the old bare name of the setting or under its own."""
    if key not in settings:
        settings.setdefault(f"{_OWNER}.{key}", value)


def _given(pools: VmPools) -> dict[str, object]:
    """The settings that a file gives as `windows`, `server_units` and `reconfigure`."""
    found: dict[str, object] = {}
    if math.isfinite(pools.bound_s):
        found["vm_window_s"] = pools.bound_s
    if pools.server_units is not None:
        found["vm_server_units"] = pools.server_units
    if pools.power is not None:
        found["vm_power_down_s"] = pools.power.down_after_s
        found["vm_power_up_s"] = pools.power.up_s
    rule = pools.reconfigure
    if rule is not None:
        found |= {
            "vm_check_s": rule.window_s,
            "vm_beta": rule.beta,
            "vm_weighted": rule.weighted,
            "vm_keep_largest": rule.keeps_largest,
        }
        if rule.vm_change_server_s is not None:
            found["vm_change_server_s"] = rule.vm_change_server_s
    return found


def _servers(own: Iterable[VmPoolSettings], pools: VmPools, source: str) -> int | None:
    """Servers under pools that change their sizes; None for pools that keep theirs."""
    changing = [one for one in own if one.vm_reconfigure]
    if not changing:
        return None
    units = changing[0].vm_server_units
    if units is None:
        raise InvalidInput(
            "server_units is missing, and vm_reconfigure needs it",
            where=source,
            hint="give the resource units of one server",
        )
    needed = servers_needed(
        [one.vms for one in pools.vm_types], [one.units for one in pools.vm_types], units
    )
    return changing[0].vm_servers or pools.servers or needed


def vm_pools_note(cluster: Cluster, tasks: ChosenPolicy) -> str | None:
    """Return what to say of parts that decide nothing on this cluster; None if all do.

    tasks: a policy that `is_about_vms`.
    """
    parts = {} if tasks.composition is None else tasks.composition.differences(_OWN_PARTS)
    if has_own_vms(cluster, tasks):
        listed = ", ".join(f"{axis}={name}" for axis, name in parts.items() if axis not in _USED)
        if not listed:
            return None
        return f"{listed} decides nothing on nodes with a VM type: each job has its VMs to itself"
    served = "its other parts serve all nodes" if parts else "it serves tasks as fifo does"
    return f"no node has a VM type, so that {served}; give vm_types with slots, and no cluster"


def own_nodes(report: Mapping[str, Any], cluster: Cluster) -> dict[JobId, OwnNodes]:
    """The VMs that jobs had to themselves. report: of the task policy, after the run."""
    if "vm_pools" not in report:
        return {}
    first = {node.vm_type: node for node in reversed(cluster.nodes)}
    kinds = (SlotKind.MAP, SlotKind.REDUCE)
    return {
        job_id: OwnNodes(
            {
                kind.value: row["vms"]
                * (first[row["vm_type"]].slots(kind) or first[row["vm_type"]].containers)
                for kind in kinds
            },
            row["started_at_s"],
        )
        for job_id, row in report["vm_pools"]["jobs"].items()
    }
