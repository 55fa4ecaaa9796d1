"""Online rules, one a file: what to admit, what to release, which task goes where.

One folder for each question of a composition: `admission` (is the job taken), `release` (when does
it enter), `orders` (whose turn is it), `rooms` (which slot), `copies` (how many), `data` (near its
input), `machines` (whose). Systems with several answers have a folder of their own: `backfill`,
`dynamicmr`, `ltyarn`, `queue_tree`, `ras` and `yarn`. The files here put the answers together.

A new policy is one file and one line of `BUILT_IN`: the question, the name, and the class, whose
settings and summary are its own. Another package adds its own under the entry point group
`sluice.policies`, by the same key: `tasks.NAME`, `order.NAME`, `slots.NAME` and so on. A class that
takes settings has a `build(settings)`; the others are made without arguments. One that needs a
planner is made by `bootstrap`, for neighbours do not import each other.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The first of each question about tasks is the default. A member without a class adds nothing.
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
    "tasks.yarn": "sluice.policies.yarn.memory:RememberedYarn",
    "tasks.yarn-like": "sluice.policies.rooms.yarn_like:YarnLike",
    # Whose turn it is. A policy that is no order of jobs has a tree of queues, and an order of it.
    "order.fair": "sluice.policies.orders.fair:Fair",
    "order.fifo": "sluice.policies.orders.fifo:Fifo",
    "order.deadline": "sluice.policies.orders.deadline:EarliestDeadline",
    "order.fewest": "sluice.policies.orders.fewest_running:FewestRunning",
    "order.mlrf": "sluice.policies.ltyarn.peers:Memoryless",
    "order.ltrf": "sluice.policies.ltyarn.peers:LongTerm",
    "order.ltyarn": "sluice.policies.ltyarn.policy:LtYarn",
    "order.karma": "sluice.policies.ltyarn.peers:Karma",
    "order.decay": "sluice.policies.ltyarn.peers:Decay",
    "order.queues": "sluice.policies.queue_tree.policy:CapacityQueues",
    "order.utility": "sluice.policies.orders.utility:LeastUtility",
    "order.critical-path": "sluice.policies.orders.critical_path:CriticalPath",
    # Which deadlines come first: an `OrderDecorator`.
    "goals.off": "",
    "goals.first": "sluice.policies.orders.goals:GoalsFirst",
    "goals.guarded": "sluice.policies.orders.goals:Goals",
    # Where a task may run: a `Room`.
    "slots.typed": "sluice.policies.rooms.room:Room",
    "slots.lent": "sluice.policies.rooms.room:Lent",
    "slots.lent-by-pool": "sluice.policies.rooms.room:Lent",
    "slots.containers": "sluice.policies.rooms.room:Containers",
    "slots.resources": "sluice.policies.rooms.room:FreeResources",
    "slots.rigid": "sluice.policies.rooms.room:Containers",
    "slots.easy": "sluice.policies.rooms.room:Containers",
    "slots.conservative": "sluice.policies.rooms.room:Containers",
    # Which slow tasks get a second attempt: a `CopyOrder`, or a rule of `composing`.
    "copies.none": "",
    "copies.late": "sluice.policies.copies.late:Late",
    "copies.sepb": "sluice.policies.copies.sepb:PendingFirst",
    # How far from its input a task may run: an `OrderDecorator`, or a rule of `composing`.
    "data.none": "",
    "data.delay": "sluice.policies.data.delay:DelayScheduling",
    "data.prescheduling": "sluice.policies.dynamicmr.prescheduling:ExtraSlot",
    # Which nodes there are, and whose: a `Decorator` of the task policy, or a rule of `composing`.
    "machines.fixed": "",
    "machines.plan": "sluice.policies.orders.capped:Capped",
    "machines.vm-pools": "sluice.bootstrap.vm_pools:PlannedVms",
}


def members(kind: str) -> tuple[str, ...]:
    """The names that a question has in the table, the default first."""
    prefix = f"{kind}."
    return tuple(key.removeprefix(prefix) for key in BUILT_IN if key.startswith(prefix))


def loaded(path: str) -> Any:  # noqa: ANN401  # the class that the path names
    """The class of a line of the tables, MODULE:CLASS."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
