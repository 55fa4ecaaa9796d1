"""Online rules, one a file: what to admit, what to release, which task goes where.

One folder for each question of a composition: `admission` (is the job taken), `release` (when does
it enter), `orders` (whose turn is it), `rooms` (which slot), `copies` (how many), `data` (near its
input), `machines` (whose). Systems with several answers have a folder of their own: `backfill`,
`dynamicmr`, `ltyarn`, `queue_tree` and `ras`. The files here put the answers together.

A new policy is one file and one line in this table; another package adds its own under the entry
point group `sluice.policies`, as `tasks.NAME`, `release.NAME`, `admission.NAME` or `pools.NAME`.
A class that takes settings has a `build(settings)`; the others are made without arguments. One
that needs a planner is made by `bootstrap`, for neighbours do not import each other.
"""

from __future__ import annotations

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
    "tasks.yarn-like": "sluice.policies.rooms.yarn_like:YarnLike",
}
