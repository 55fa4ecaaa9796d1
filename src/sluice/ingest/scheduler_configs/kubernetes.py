"""Queues of Kubernetes: YuniKorn's `queues.yaml`, and Kueue's ClusterQueue and LocalQueue.

YuniKorn: guaranteed and maximum resources, maxapplications and the sorting policy of each queue.
Kueue: a ClusterQueue's nominal quota is its guarantee and its borrowing limit the rest of its
maximum; a cohort is the parent whose unused quota it may borrow, with the quota that a Cohort adds;
a LocalQueue is one more name. Jobs are admitted as a whole. A container takes one of any resource
but cpu and memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sluice.ingest.scheduler_configs.amounts import (
    ContainerSize,
    containers_amount,
    kubernetes_quantity,
    kubernetes_resources,
)
from sluice.ingest.scheduler_configs.tree_reader import TreeReader, jobs_max_in
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import (
    ROOT,
    AmountKind,
    ConfiguredQueue,
    LeafOrder,
    QueueAmount,
    QueueTree,
)

_EVEN = QueueAmount(AmountKind.WEIGHT, 1.0)
_LEVELS_MAX = 50
_QUEUE_KEYS = frozenset({"name", "queues", "resources", "properties", "maxapplications", "parent"})
_SORTING = "application.sort.policy"
# Kueue takes containers back at once; the model waits one second.
_KUEUE_PREEMPTS_AFTER_S = 1.0


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput("this is not a mapping", where=where, hint="give names with values")
    return value


def _sequence(value: object, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidInput("this is not a list", where=where, hint="give a list")
    return value


def kubernetes_tree(
    documents: Sequence[Mapping[str, Any]], size: ContainerSize, name: str
) -> QueueTree:
    """The queues of YuniKorn's one document, or of Kueue's several. Raises InvalidInput."""
    documents = [one for one in documents if one.get("kind") != "Workload"]  # jobs, not queues
    if "partitions" in documents[0]:
        tree = yunikorn_tree(documents[0], size, name)
    else:
        tree = kueue_tree(documents, size, name)
    return replace(tree, documents=tuple(documents))


# --- YuniKorn -------------------------------------------------------------------------------------


def yunikorn_tree(document: Mapping[str, Any], size: ContainerSize, name: str) -> QueueTree:
    """The queues of the first partition. Raises InvalidInput that names the queue."""
    partitions = _sequence(document.get("partitions"), f"{name}, partitions")
    if not partitions:
        raise InvalidInput("there is no partition", where=name, hint="define one with queues")
    first = _mapping(partitions[0], f"{name}, partitions")
    reader = _YuniKorn(size, name)
    if len(partitions) > 1:
        reader.notes.append("only the first partition is read")
    reader.unknown += [key for key in document if key != "partitions"]
    reader.unknown += [f"partitions.{key}" for key in first if key not in {"name", "queues"}]
    reader.read(first.get("queues"))
    return reader.tree()


class _YuniKorn(TreeReader):
    def read(self, top: object) -> None:
        """The queues of a partition, parents first."""
        lists: list[tuple[str, object]] = [("", top)]
        while lists:
            parent, given = lists.pop(0)
            for item in _sequence(given, f"{self._name}, queues of {parent or 'the partition'}"):
                queue = _mapping(item, f"{self._name}, queues")
                label = str(queue.get("name", ""))
                is_root = not parent and label.lower() == ROOT
                path = ROOT if is_root else f"{parent or ROOT}.{label}"
                if not label or "." in label or path.count(".") > _LEVELS_MAX:
                    raise InvalidInput(
                        f"{label[:60]!r} is not the name of a queue", where=f"{self._name}, queues",
                        hint="give a name without dots",
                    )  # fmt: skip
                self.unknown += [f"{path}.{key}" for key in queue if key not in _QUEUE_KEYS]
                if not is_root:
                    self.queues.append(self._queue(path, queue))
                lists.append((path, queue.get("queues")))

    def _queue(self, path: str, given: Mapping[str, Any]) -> ConfiguredQueue:
        where = f"{self._name}, queue {path}"
        resources = _mapping(given.get("resources"), f"{where}, resources")
        properties = _mapping(given.get("properties"), f"{where}, properties")
        self.unknown += [
            f"{path}.resources.{key}" for key in resources if key not in {"guaranteed", "max"}
        ]
        self.unknown += [f"{path}.properties.{key}" for key in properties if key != _SORTING]
        amounts = {
            key: kubernetes_resources(
                _mapping(resources.get(key), f"{where}, {key}"), self._size, f"{where}, {key}"
            )
            for key in ("guaranteed", "max")
        }
        most, guaranteed = amounts["max"], amounts["guaranteed"]
        jobs_max = given.get("maxapplications")
        return ConfiguredQueue(
            path=path,
            capacity=_EVEN if guaranteed is None else containers_amount(guaranteed),
            maximum=None if most is None else containers_amount(most),
            order=LeafOrder.FAIR if properties.get(_SORTING) == "fair" else LeafOrder.FIFO,
            jobs_max=jobs_max_in(str(jobs_max) if jobs_max else None, f"{where}, maxapplications"),
        )


# --- Kueue ----------------------------------------------------------------------------------------


def kueue_tree(documents: Sequence[Mapping[str, Any]], size: ContainerSize, name: str) -> QueueTree:
    """The ClusterQueues of a file by cohort, and its LocalQueues below them."""
    reader = _Kueue(size, name)
    for document in documents:
        kind = document.get("kind")
        if kind == "ClusterQueue":
            reader.cluster_queue(document)
        elif kind == "Cohort":
            reader.cohort(document)
        elif kind not in {"LocalQueue", "ResourceFlavor"}:
            reader.unknown.append(f"kind {kind}")
    for document in documents:
        if document.get("kind") == "LocalQueue":
            reader.local_queue(document)
    after_s = _KUEUE_PREEMPTS_AFTER_S if reader.preempts else None
    return replace(reader.tree(after_s, queues=reader.in_order()), admits_whole=True)


class _Kueue(TreeReader):
    def __init__(self, size: ContainerSize, name: str) -> None:
        super().__init__(size, name)
        self._cohorts: dict[str, float] = {}
        self._by_path: dict[str, ConfiguredQueue] = {}
        self._paths: dict[str, str] = {}
        self.preempts = False

    def cluster_queue(self, document: Mapping[str, Any]) -> None:
        """A ClusterQueue, below its cohort."""
        label = self._label(document)
        where = f"{self._name}, ClusterQueue {label}"
        spec = _mapping(document.get("spec"), f"{where}, spec")
        known = {"resourceGroups", "cohort", "queueingStrategy", "preemption", "namespaceSelector"}
        self.unknown += [f"{label}.spec.{key}" for key in spec if key not in known]
        nominal, borrowed = self._quotas(spec, where)
        cohort = spec.get("cohort")
        preemption = _mapping(spec.get("preemption"), f"{where}, preemption")
        reclaims = str(preemption.get("reclaimWithinCohort", "Never"))
        self.preempts |= reclaims != "Never"
        self.unknown += [
            f"{label}.spec.preemption.{key}" for key in preemption if key != "reclaimWithinCohort"
        ]
        path = f"{ROOT}.{label}" if cohort is None else f"{ROOT}.{cohort}.{label}"
        if cohort is None:
            most: float | None = nominal  # there is nothing to borrow from
        else:
            self._cohorts[str(cohort)] = self._cohorts.get(str(cohort), 0.0) + nominal
            most = None if borrowed is None else nominal + borrowed
        if label in self._paths:
            raise InvalidInput(f"ClusterQueue {label!r} is defined twice", where=self._name)
        self._paths[label] = path
        self._by_path[path] = ConfiguredQueue(
            path=path,
            capacity=containers_amount(nominal),
            maximum=None if most is None else containers_amount(most),
            is_strict=spec.get("queueingStrategy") == "StrictFIFO",
            admits_below=True,
        )

    def cohort(self, document: Mapping[str, Any]) -> None:
        """A Cohort: its own quota is added to that of its queues, and any of them may borrow it."""
        label = self._label(document)
        where = f"{self._name}, Cohort {label}"
        spec = _mapping(document.get("spec"), f"{where}, spec")
        self.unknown += [f"{label}.spec.{key}" for key in spec if key != "resourceGroups"]
        if spec.get("resourceGroups"):
            quota, _ = self._quotas(spec, where)
            self._cohorts[label] = self._cohorts.get(label, 0.0) + quota

    def local_queue(self, document: Mapping[str, Any]) -> None:
        """A LocalQueue: a child of its ClusterQueue, with all of that queue's quota."""
        label = self._label(document)
        spec = _mapping(document.get("spec"), f"{self._name}, LocalQueue {label}, spec")
        above = self._paths.get(str(spec.get("clusterQueue")))
        if above is None:
            raise InvalidInput(
                f"ClusterQueue {str(spec.get('clusterQueue'))[:60]!r} is not in the file",
                where=f"{self._name}, LocalQueue {label}", hint="add it to the file",
            )  # fmt: skip
        path = f"{above}.{label}"
        self._by_path[path] = ConfiguredQueue(path=path, capacity=_EVEN)

    def in_order(self) -> Iterator[ConfiguredQueue]:
        """Cohorts, then the queues in the order of the file."""
        for cohort, nominal in self._cohorts.items():
            yield ConfiguredQueue(
                path=f"{ROOT}.{cohort}",
                capacity=containers_amount(nominal),
                maximum=containers_amount(nominal),
            )
        yield from self._by_path.values()

    def _label(self, document: Mapping[str, Any]) -> str:
        metadata = _mapping(document.get("metadata"), f"{self._name}, metadata")
        label = str(metadata.get("name", ""))
        if not label or "." in label:
            raise InvalidInput(
                f"{label[:60]!r} is not a name that the model takes",
                where=f"{self._name}, metadata.name", hint="give a name without dots",
            )  # fmt: skip
        return label

    def _quotas(self, spec: Mapping[str, Any], where: str) -> tuple[float, float | None]:
        """Containers of the nominal quota and of the borrowing limit, over all flavors."""
        nominal: dict[str, float] = {}
        borrowed: dict[str, float] = {}
        for group in _sequence(spec.get("resourceGroups"), f"{where}, resourceGroups"):
            for flavor in _sequence(_mapping(group, where).get("flavors"), f"{where}, flavors"):
                resources = _sequence(_mapping(flavor, where).get("resources"), where)
                for item in resources:
                    self._add(_mapping(item, where), where, nominal, borrowed)
        if not nominal:
            label = where.rpartition(" ")[2]
            self.notes.append(f"ClusterQueue {label} has no quota: it admits nothing")
            return 0.0, 0.0
        return min(nominal.values()), min(borrowed.values()) if borrowed else None

    def _add(
        self,
        item: Mapping[str, Any],
        where: str,
        nominal: dict[str, float],
        borrowed: dict[str, float],
    ) -> None:
        resource = str(item.get("name"))
        for key, into in (("nominalQuota", nominal), ("borrowingLimit", borrowed)):
            if key in item:
                found = kubernetes_resources({resource: item[key]}, self._size, f"{where}, {key}")
                if found is None:  # of any other resource, a container takes one
                    found = kubernetes_quantity(str(item[key]), f"{where}, {key}")
                into[resource] = into.get(resource, 0.0) + found
        self.unknown += [
            f"{where.rpartition(' ')[2]}.{key}"
            for key in item
            if key not in {"name", "nominalQuota", "borrowingLimit"}
        ]
