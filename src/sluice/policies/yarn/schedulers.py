"""The scheduler of YARN that a configuration is for: its rules, and its preemption."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.model.ids import NodeId
from sluice.model.queue_tree import QueueTree
from sluice.policies.yarn.applications import Host
from sluice.policies.yarn.capacity_preemption import CapacityPreemption
from sluice.policies.yarn.fair_preemption import FairPreemption
from sluice.policies.yarn.preemption import Preemption
from sluice.policies.yarn.queues import CapacityRules, FairRules, SchedulerRules


def rules_of(tree: QueueTree | None) -> SchedulerRules:
    """The rules of the scheduler; without a configuration, those of the fair one."""
    return FairRules(tree) if tree is None or not tree.idle_count else CapacityRules(tree)


def preemption_of(rules: SchedulerRules, hosts: Mapping[NodeId, Host], node_s: float) -> Preemption:
    """The preemption of the scheduler. node_s: seconds between heartbeats of a node."""
    after_s = None if rules.tree is None else rules.tree.preempts_after_s
    if after_s is None:
        return Preemption()
    if isinstance(rules, CapacityRules):
        return CapacityPreemption(rules, after_s)
    return FairPreemption(rules, hosts, node_s, after_s)
