"""`fair-scheduler.xml` of Hadoop YARN: a queue for each job, with the slots of its plan.

The queues manager of the paper writes such a file, with a queue of exactly the planned slots for
each job. YARN has containers, memory and cores instead of typed slots. A queue gets the larger of
its map and reduce slots as containers, because reduces follow maps, and one container for the
application master.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from sluice.reporting.exports.capacity_scheduler import comment_lines, queue_names

MASTERS = 1  # containers without a task, for each job
_CONTAINER_MB = 1024  # of a container of one core


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotQueue:
    """The queue of a job. vms: rented for it; also the weight of the queue.

    stage_slots: containers for tasks of any stage, in place of typed slots.
    """

    name: str
    map_slots: int
    reduce_slots: int
    vms: int
    stage_slots: int = 0

    @property
    def containers(self) -> int:
        """Containers in use at once, with the application master."""
        return max(self.map_slots, self.reduce_slots, self.stage_slots) + MASTERS


def fair_scheduler_xml(queues: Sequence[SlotQueue], *, comment: str = "") -> str:
    """The text of the file."""
    names = queue_names(queue.name for queue in queues)
    lines = ['<?xml version="1.0"?>', *comment_lines(comment), "<allocations>"]
    for name, queue in zip(names, queues, strict=True):
        containers = queue.containers
        room = f"{containers * _CONTAINER_MB} mb, {containers} vcores"
        lines += _queue(name, queue, room)
    return "\n".join([*lines, "</allocations>", ""])


def _queue(name: str, queue: SlotQueue, room: str) -> Iterator[str]:
    yield f'  <queue name="{escape(name)}">'
    if queue.stage_slots:
        yield f"    <!-- containers for tasks of any stage: {queue.stage_slots} -->"
    else:
        yield f"    <!-- map slots: {queue.map_slots}, reduce slots: {queue.reduce_slots} -->"
    yield f"    <minResources>{room}</minResources>"
    yield f"    <maxResources>{room}</maxResources>"
    yield "    <maxRunningApps>1</maxRunningApps>"
    yield f"    <weight>{queue.vms:.1f}</weight>"
    yield "    <schedulingPolicy>fifo</schedulingPolicy>"
    yield "  </queue>"
