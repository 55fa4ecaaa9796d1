"""A configuration of queues takes effect in a running service.

The service has queues by its file. A configuration is the file of a scheduler (YARN, YuniKorn,
Kueue): guarantees become weights, and maximums limits in containers; what such a file has no word
for, such as the order `ltrf` or a quantum, stays as the queue has it. Queues keep their parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice.bootstrap.service.config import POOL_KEYS, ServiceConfig
from sluice.core.protocols import TaskPolicy
from sluice.ingest.document import read_document
from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.model.errors import InvalidInput
from sluice.model.ids import PoolId
from sluice.model.queue_tree import ROOT, AmountKind, ConfiguredQueue, LeafOrder, QueueTree
from sluice.model.queues import Pool, Queue, QueueOrder, inner_queues
from sluice.reporting.exports.workload_text import comment_text, yaml_text

Row = dict[str, Any]
WHERE = "queues"
_LEAST_WEIGHT = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """The change that takes effect. config: of the service with the new queues.

    leaves: the queues that jobs may be in.  record: what a new segment begins with.
    """

    config: ServiceConfig
    leaves: frozenset[PoolId]
    record: Mapping[str, Any]

    @property
    def pools(self) -> tuple[Pool, ...]:
        """All pools, as the scheduler takes them."""
        return self.config.workload.pools

    def check(self, pools: Iterable[PoolId]) -> None:
        """Raise InvalidInput if jobs that are open would lose their queue. pools: those of jobs."""
        lost = sorted({str(pool) for pool in pools} - {str(leaf) for leaf in self.leaves})
        if lost:
            raise InvalidInput(
                f"jobs are open in {', '.join(lost[:5])}, and the configuration has no such queue",
                where=WHERE, hint="wait until they have ended, or move them (PATCH /v1/jobs/ID)",
            )  # fmt: skip


def activation_of(
    config: ServiceConfig, tasks: TaskPolicy, message: Mapping[str, Any]
) -> Activation:
    """The queues of a message with `text`, `config`, `version` and `by`. Raises InvalidInput.

    tasks: the task policy of the service.
    """
    if not tasks.follows_queues and config.workload.queues:
        raise InvalidInput(f"{tasks.name} takes its queues when the service starts", where=WHERE,
                           hint="serve with fair, ltyarn, ltrf, mlrf or queue-tree")  # fmt: skip
    rows = _rows_of(config, str(message["text"]), str(message["config"]))
    changed = config.with_queues(rows)
    about = {key: message[key] for key in ("config", "version", "by")}
    return Activation(
        config=changed,
        leaves=frozenset(q.queue_id for q in changed.workload.queues)
        - inner_queues(changed.workload.queues),
        record={**about, "rows": rows, "of_file": config.file_queues_digest},
    )


def changed_service_file(config: ServiceConfig, text: str, name: str) -> str:
    """The file of a service with the queues of a configuration, in YAML. Raises InvalidInput.

    Comments of the file are lost; settings of the command line are not in it.
    """
    changed = config.with_queues(_rows_of(config, text, name))
    given: Any = read_document(config.text.content, source=config.text.name).value
    return comment_text(f"{config.text.name} with the queues of {name}") + yaml_text(
        {**given, **{key: changed.document[key] for key in POOL_KEYS if key in changed.document}}
    )


def _rows_of(config: ServiceConfig, text: str, name: str) -> list[Row]:
    if not config.workload.queues:
        raise InvalidInput("the service has no queues", where=WHERE,
                           hint="give its file `queues:`, and start it again")  # fmt: skip
    slots = sum(
        node.map_slots + node.reduce_slots + node.containers for node in config.cluster.nodes
    )
    return queue_rows(queue_tree_of(text.encode(), name), config.workload.queues, slots)


def queue_rows(tree: QueueTree, present: Sequence[Queue], slots: int) -> list[Row]:
    """The section `queues` of a service file with the amounts of a tree. slots: of the cluster.

    present: the queues now. Raises InvalidInput for one with another parent than it has now.
    """
    known = {str(queue.queue_id): queue for queue in present}
    tops = [queue for queue in present if queue.parent is None]
    is_rooted = len(tops) == 1 and tops[0].queue_id in inner_queues(tuple(present))
    amounts = tree.containers(slots)
    rows: dict[str, Row] = {}
    for queue in tree.queues:
        parent = None if queue.parent == ROOT else str(queue.parent).rpartition(".")[2]
        now = known.get(queue.name)
        if queue.name in rows:
            raise InvalidInput(f"two queues are called {queue.name!r}", where=WHERE,
                               hint="the queues of a service have a name each")  # fmt: skip
        is_moved = now is not None and (None if now.parent is None else str(now.parent)) != parent
        if is_moved or (now is None and parent is None and is_rooted):
            raise InvalidInput(f"{queue.name!r} would have another parent", where=WHERE,
                               hint="queues keep theirs while the service runs")  # fmt: skip
        least = queue.least
        if tree.idle_count and now is not None:  # a capacity scheduler's file has no word for it
            least = now.share_min
        guarantee, limit = amounts[queue.path]
        are_weights = all(
            one.capacity.kind is AmountKind.WEIGHT for one in tree.children(str(queue.parent))
        )
        weight = queue.capacity.value if are_weights else guarantee
        row = _row(queue, parent, now, max(_LEAST_WEIGHT, weight))
        if least:
            row["share_min"] = least
        if queue.maximum is not None and limit < slots:
            row["share_max"] = max(limit, least)
        rows[queue.name] = row
    return list(rows.values())


def _row(queue: ConfiguredQueue, parent: str | None, now: Queue | None, weight: float) -> Row:
    row: Row = {"id": queue.name, "weight": weight}
    if parent is not None:
        row["parent"] = parent
    new_order = QueueOrder.MLRF if queue.order is LeafOrder.FAIR else QueueOrder.FIFO
    row["order"] = str(new_order if now is None else now.order)
    if now is not None and now.quantum_s is not None:
        row["quantum_s"] = now.quantum_s
    if now is not None and now.round_s is not None:
        row["round_s"] = now.round_s or "none"
    return row
