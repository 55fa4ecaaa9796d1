"""`fair-scheduler.xml` of Hadoop YARN.

Read: queues with weight, minResources, maxResources, maxRunningApps, schedulingPolicy,
minSharePreemptionTimeout and allowPreemptionFrom; the defaults of all queues. YARN makes the queue
`root.default` and, unless yarn.scheduler.fair.allow-undeclared-pools is false, each that jobs name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sluice.ingest.scheduler_configs.amounts import (
    ContainerSize,
    containers_amount,
    flag_in,
    hadoop_resources,
    number_in,
)
from sluice.ingest.scheduler_configs.tree_reader import (
    TreeReader,
    jobs_max_in,
    masters_share_in,
    most_in,
    yarn_rules_in,
)
from sluice.ingest.scheduler_configs.xml_elements import XmlElement
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import (
    ROOT,
    AmountKind,
    ConfiguredQueue,
    LeafOrder,
    QueueAmount,
    QueueTree,
)

PREEMPTION = "yarn.scheduler.fair.preemption"
UNDECLARED = "yarn.scheduler.fair.allow-undeclared-pools"
_MASTERS = "0.5"  # YARN's default
_SITE = "yarn-site.xml"
_MULTIPLE = "yarn.scheduler.fair.assignmultiple"
_HALF = "yarn.scheduler.fair.dynamic.max.assign"
_ASSIGNED = "yarn.scheduler.fair.max.assign"
_WAITS = tuple(f"yarn.scheduler.fair.locality.threshold.{one}" for one in ("node", "rack"))
_SHARE_WAIT = "defaultFairSharePreemptionTimeout"
_KNOWN = frozenset(
    {"weight", "minResources", "maxResources", "maxRunningApps", "schedulingPolicy",
     "allowPreemptionFrom", "maxAMShare"}
)  # fmt: skip
_DEFAULTS = frozenset({"queueMaxAppsDefault", "queueMaxAMShareDefault", "queueMaxResourcesDefault",
                       "defaultQueueSchedulingPolicy", _SHARE_WAIT})  # fmt: skip
_QUEUE_TAGS = frozenset({"queue", "pool"})


def fair_tree(
    root: XmlElement, site: Mapping[str, str], size: ContainerSize, name: str
) -> QueueTree:
    """The tree. site: the properties of yarn-site.xml. Raises InvalidInput that names the queue."""
    reader = _Reader(root, size, name)
    for element in root.children:
        if element.tag in _QUEUE_TAGS:
            reader.read(element, ROOT)
        elif element.tag not in _DEFAULTS:
            reader.unknown.append(element.tag)
    after_s = None
    if flag_in(site.get(PREEMPTION, "false") or "false", f"{name}, {PREEMPTION}"):
        wait = reader.defaults.get(_SHARE_WAIT)
        after_s = None if wait is None else number_in(wait, f"{name}, {_SHARE_WAIT}")
        if wait is None:
            reader.notes.append(f"preemption needs {_SHARE_WAIT}: without it there is none")
    default = reader.undeclared(f"{ROOT}.default")
    if all(queue.path != default.path for queue in reader.queues):
        reader.queues.append(default)
    makes_them = flag_in(site.get(UNDECLARED, "true") or "true", f"{name}, {UNDECLARED}")
    return reader.tree(
        after_s,
        undeclared=default if makes_them else None,
        idle_count=False,
        yarn=replace(
            yarn_rules_in(site, _WAITS, _SITE, most=1.0), containers_max=_containers_max(site)
        ),
    )


def _containers_max(site: Mapping[str, str]) -> float | None:
    """Containers at a heartbeat; None for half of what is free. Raises InvalidInput.

    Without a yarn-site.xml these are several, although YARN's default is one.
    """
    if not site:
        return None
    if not flag_in(site.get(_MULTIPLE, "false") or "false", f"{_SITE}, {_MULTIPLE}"):
        return 1.0
    if flag_in(site.get(_HALF, "true") or "true", f"{_SITE}, {_HALF}"):
        return None
    return most_in(site.get(_ASSIGNED, "-1") or "-1", f"{_SITE}, {_ASSIGNED}")


class _Reader(TreeReader):
    def __init__(self, root: XmlElement, size: ContainerSize, name: str) -> None:
        super().__init__(size, name)
        self.defaults = {child.tag: child.text for child in root.children if child.tag in _DEFAULTS}

    def read(self, element: XmlElement, parent: str) -> None:
        """The queue and all below it; the depth of the file is bounded."""
        name = element.attributes.get("name", "").strip()
        if name == ROOT and parent == ROOT:
            path = ROOT
        elif not name or any(letter in name for letter in ". ,"):
            raise InvalidInput(
                f"{name[:60]!r} is not the name of a queue", where=self._name,
                hint='give it a name without dots and blanks, as in <queue name="etl">',
            )  # fmt: skip
        else:
            path = f"{parent}.{name}"
        values: dict[str, str] = {}
        below = []
        for child in element.children:
            if child.tag in _QUEUE_TAGS:
                below.append(child)
            elif child.tag in _KNOWN:
                values[child.tag] = child.text
            else:
                self.unknown.append(f"{path}.{child.tag}")
        if path != ROOT:
            self.queues.append(self._queue(path, values))
        for child in below:
            self.read(child, path)

    def undeclared(self, path: str) -> ConfiguredQueue:
        """A queue that YARN makes, with the defaults of the file."""
        return self._queue(path, {})

    def _queue(self, path: str, values: Mapping[str, str]) -> ConfiguredQueue:
        where = f"{self._name}, queue {path}"
        policy = values.get(
            "schedulingPolicy", self.defaults.get("defaultQueueSchedulingPolicy", "fair")
        )
        if policy.lower() not in {"fifo", "fair"}:
            self.notes.append(f"queue {path}: schedulingPolicy {policy} is simulated as fair")
        least = values.get("minResources")
        most = values.get("maxResources", self.defaults.get("queueMaxResourcesDefault"))
        jobs_max = values.get("maxRunningApps", self.defaults.get("queueMaxAppsDefault"))
        masters = values.get("maxAMShare", self.defaults.get("queueMaxAMShareDefault", _MASTERS))
        return ConfiguredQueue(
            path=path,
            capacity=QueueAmount(
                AmountKind.WEIGHT, number_in(values.get("weight", "1"), f"{where}, weight")
            ),
            maximum=None if most is None else self._most(most, f"{where}, maxResources"),
            least=0.0
            if least is None
            else hadoop_resources(least, self._size, f"{where}, minResources"),
            order=LeafOrder.FIFO if policy.lower() == "fifo" else LeafOrder.FAIR,
            jobs_max=jobs_max_in(jobs_max, f"{where}, maxRunningApps"),
            is_preemptible=flag_in(
                values.get("allowPreemptionFrom", "true"), f"{where}, allowPreemptionFrom"
            ),
            masters_share=masters_share_in(masters, f"{where}, maxAMShare"),
            masters_of_guarantee=True,
        )

    def _most(self, text: str, where: str) -> QueueAmount:
        if "%" not in text:
            return containers_amount(hadoop_resources(text, self._size, where))
        shares = [
            number_in(part.partition("%")[0].rpartition("=")[2].strip(), where)
            for part in text.split(",")
        ]
        return QueueAmount(AmountKind.PERCENT, min(shares))
