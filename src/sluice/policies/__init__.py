"""Online rules, one a file: what to admit, what to release, which task goes where.

One folder for each question of a composition: `admission` (is the job taken), `release` (when does
it enter), `orders` (whose turn is it), `rooms` (which slot), `copies` (how many), `data` (near its
input), `machines` (whose). Systems with several answers have a folder of their own: `backfill`,
`dynamicmr`, `ltyarn`, `queue_tree`, `ras` and `yarn`. The files here put the answers together.

A new policy is one file and one line in one of these tables: `BUILT_IN` for a policy of a kind,
`ORDERS` and `ROOMS` for a part of a composition. A line names the class; its settings and what it
does are the class's own. Another package adds its own under the entry point group
`sluice.policies`, as `tasks.NAME`, `release.NAME`, `admission.NAME`, `pools.NAME` or `order.NAME`.
A class that takes settings has a `build(settings)`; the others are made without arguments. One
that needs a planner is made by `bootstrap`, for neighbours do not import each other.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

BUILT_IN: dict[str, str] = {
    "admission.all": "sluice.policies.defaults:AdmitAll",
    "admission.capacity": "sluice.policies.admission.capacity_admission:CapacityAdmission",
    "admission.vm-pools": "sluice.policies.admission.vm_admission:VmAdmission",
    "pools.keep": "sluice.policies.defaults:KeepPools",
    "release.input": "sluice.policies.defaults:ReleaseOnArrival",
    "release.mrorder": "sluice.bootstrap.ordering:PlannedMrOrder",
    "release.on-demand": "sluice.policies.release.on_demand:OnDemand",
    "tasks.decay": "sluice.policies.ltyarn.peers:Decay",
    "tasks.dynamicmr": "sluice.policies.dynamicmr.policy:DynamicMR",
    "tasks.fair": "sluice.policies.orders.fair:Fair",
    "tasks.fifo": "sluice.policies.orders.fifo:Fifo",
    "tasks.ras": "sluice.policies.ras.policy:Ras",
    "tasks.karma": "sluice.policies.ltyarn.peers:Karma",
    "tasks.ltrf": "sluice.policies.ltyarn.peers:LongTerm",
    "tasks.ltyarn": "sluice.policies.ltyarn.policy:LtYarn",
    "tasks.mlrf": "sluice.policies.ltyarn.peers:Memoryless",
    "tasks.queue-tree": "sluice.policies.queue_tree.policy:CapacityQueues",
    "tasks.static": "sluice.policies.rooms.static_slots:StaticSlots",
    "tasks.vm-pools": "sluice.bootstrap.vm_pools:PlannedVms",
    "tasks.yarn": "sluice.policies.yarn.policy:YarnTasks",
    "tasks.yarn-like": "sluice.policies.rooms.yarn_like:YarnLike",
}

# Whose turn it is. The first is the default. A policy that is no order of jobs has a tree of queues
# of which `LongTermOrder` makes one.
ORDERS: dict[str, str] = {
    "fair": "sluice.policies.orders.fair:Fair",
    "fifo": "sluice.policies.orders.fifo:Fifo",
    "deadline": "sluice.policies.orders.deadline:EarliestDeadline",
    "fewest": "sluice.policies.orders.fewest_running:FewestRunning",
    "mlrf": "sluice.policies.ltyarn.peers:Memoryless",
    "ltrf": "sluice.policies.ltyarn.peers:LongTerm",
    "ltyarn": "sluice.policies.ltyarn.policy:LtYarn",
    "karma": "sluice.policies.ltyarn.peers:Karma",
    "decay": "sluice.policies.ltyarn.peers:Decay",
    "queues": "sluice.policies.orders.queues:QueueOrder",
    "utility": "sluice.policies.orders.utility:LeastUtility",
    "critical-path": "sluice.policies.orders.critical_path:CriticalPath",
}

# Where a task may run. The first is the default.
ROOMS: dict[str, str] = {
    "typed": "sluice.policies.rooms.room:Room",
    "lent": "sluice.policies.rooms.room:Lent",
    "lent-by-pool": "sluice.policies.rooms.room:Lent",
    "containers": "sluice.policies.rooms.room:Containers",
    "resources": "sluice.policies.rooms.room:FreeResources",
    "rigid": "sluice.policies.rooms.room:Containers",
    "easy": "sluice.policies.rooms.room:Containers",
    "conservative": "sluice.policies.rooms.room:Containers",
}


def loaded(path: str) -> Any:  # noqa: ANN401  # the class that the path names
    """The class of a line of the tables, MODULE:CLASS."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
