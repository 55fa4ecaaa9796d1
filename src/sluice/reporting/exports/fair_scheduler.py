"""`fair-scheduler.xml` of Hadoop YARN: a queue for each job, held to the slots of its plan.

The paper's queues manager wrote such a file, with a queue of exactly the planned slots for every
job. YARN counts containers, memory and cores instead of typed slots: a queue gets as many
containers as its job has slots of the kind it has more of (maps and reduces follow each other), and
one more for the job's application master.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from sluice.reporting.exports.capacity_scheduler import comment_lines, queue_names

MASTERS = 1  # containers that hold no task, for each job


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotQueue:
    """One job's queue. vms: machines that are rented for it, and its weight."""

    name: str
    map_slots: int
    reduce_slots: int
    vms: int

    @property
    def containers(self) -> int:
        """Containers in use at once, the application master among them."""
        return max(self.map_slots, self.reduce_slots) + MASTERS


def fair_scheduler_xml(
    queues: Sequence[SlotQueue],
    *,
    comment: str = "",
    container_mb: int = 1024,
    container_vcores: int = 1,
) -> str:
    """The file's text. container_mb, container_vcores: what one task takes."""
    names = queue_names(queue.name for queue in queues)
    lines = ['<?xml version="1.0"?>', *comment_lines(comment), "<allocations>"]
    for name, queue in zip(names, queues, strict=True):
        containers = queue.containers
        room = f"{containers * container_mb} mb, {containers * container_vcores} vcores"
        lines += _queue(name, queue, room)
    return "\n".join([*lines, "</allocations>", ""])


def _queue(name: str, queue: SlotQueue, room: str) -> Iterator[str]:
    yield f'  <queue name="{escape(name)}">'
    yield f"    <!-- map slots: {queue.map_slots}, reduce slots: {queue.reduce_slots} -->"
    yield f"    <minResources>{room}</minResources>"
    yield f"    <maxResources>{room}</maxResources>"
    yield "    <maxRunningApps>1</maxRunningApps>"
    yield f"    <weight>{queue.vms:.1f}</weight>"
    yield "    <schedulingPolicy>fifo</schedulingPolicy>"
    yield "  </queue>"
