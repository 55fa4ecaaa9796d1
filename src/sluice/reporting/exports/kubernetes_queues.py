"""A queue tree as the Kubernetes file it was read from: YuniKorn's queues or Kueue's objects.

Only amounts are changed, in proportion: a queue that gets half as much again has each of its
resources half as large again, in every flavor. All else of the file (namespaces, access, keys that
the model does not read) stays as it was. What these files cannot say, such as a weight, is named in
a comment.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from sluice.ingest.scheduler_configs.amounts import ContainerSize, kubernetes_quantity
from sluice.ingest.scheduler_configs.kubernetes import kubernetes_tree
from sluice.model.queue_tree import ROOT, AmountKind, ConfiguredQueue, QueueAmount, QueueTree
from sluice.reporting.exports.workload_text import comment_text, yaml_text

_CPU = frozenset({"cpu", "vcore"})
_MIB = 2**20
_TINY = 1e-6  # containers
_ROUNDED = 0.01  # by thousandths of cores and whole MiB
Document = dict[str, Any]


def kubernetes_queues_yaml(tree: QueueTree, size: ContainerSize, *, comment: str = "") -> str:
    """The text of the file. tree: with the documents that it was read from.

    size: of one container, as when it was read.
    """
    documents, lost = _changed_documents(tree, size)
    lost_line = f"Not expressed: {', '.join(lost)}." if lost else ""
    head = comment_text("\n".join(line for line in (comment, lost_line) if line))
    return head + "---\n".join(yaml_text(document) for document in documents)


def kubernetes_queues_diff(old: QueueTree, new: QueueTree, size: ContainerSize) -> str:
    """A unified diff of two trees with documents: a line for each amount."""
    before, after = (
        sorted(_amount_lines(_changed_documents(tree, size)[0])) for tree in (old, new)
    )
    names = (old.source or "old", new.source or "new")
    return "\n".join(unified_diff(before, after, *names, lineterm="", n=0))


def _changed_documents(tree: QueueTree, size: ContainerSize) -> tuple[list[Document], list[str]]:
    """The documents with the amounts of the tree, and what they cannot say."""
    documents: list[Document] = copy.deepcopy([dict(one) for one in tree.documents])
    old = kubernetes_tree(documents, size, tree.source)
    if old.queues == tree.queues:
        return documents, []
    change = _Change(old, tree, size)
    if "partitions" in documents[0]:
        _change_yunikorn(documents[0]["partitions"][0].get("queues"), "", change)
    else:
        _change_kueue(documents, change)
    again = kubernetes_tree(documents, size, tree.source)
    return documents, list(_differences(change.wanted(), again))


class _Change:
    """How the amounts of each queue change. size: of one container."""

    def __init__(self, old: QueueTree, new: QueueTree, size: ContainerSize) -> None:
        self.old = {queue.path: queue for queue in old.queues}
        self.new = {queue.path: queue for queue in new.queues}
        self.size = size
        # Guarantees that exceed that of the cohort are cut, as the model cuts them.
        self._cuts = {
            queue.path: min(1.0, queue.capacity.value / held)
            for queue in new.queues
            if (held := _held(new.children(queue.path))) and _is_counted(queue)
        }

    def wanted(self) -> Iterator[ConfiguredQueue]:
        """The new queues with the guarantees that the file should give them."""
        for path, queue in self.new.items():
            kind = queue.capacity.kind
            yield replace(queue, capacity=QueueAmount(kind, self.guarantee(path)[1]))

    def guarantee(self, path: str) -> tuple[float, float]:
        """Containers before and after."""
        queue = self.new[path]
        cut = self._cuts.get(queue.parent or ROOT, 1.0)
        return self.old[path].capacity.value, queue.capacity.value * cut

    def of_cohort(self, path: str) -> tuple[float, float]:
        """Containers of a cohort's own quota before and after: beyond that of its queues."""
        pairs = [self.guarantee(one.path) for one in self.new.values() if one.parent == path]
        before, after = self.guarantee(path)
        return before - sum(b for b, _ in pairs), after - sum(a for _, a in pairs)


def _is_counted(queue: ConfiguredQueue) -> bool:
    return queue.capacity.kind is AmountKind.CONTAINERS


def _held(queues: Iterator[ConfiguredQueue]) -> float:
    return math.fsum(queue.capacity.value for queue in queues if _is_counted(queue))


# --- YuniKorn -------------------------------------------------------------------------------------


def _change_yunikorn(queues: Sequence[Document] | None, parent: str, change: _Change) -> None:
    for queue in queues or ():
        is_root = not parent and str(queue["name"]).lower() == ROOT
        path = ROOT if is_root else f"{parent or ROOT}.{queue['name']}"
        if path in change.new:
            _change_resources(queue, path, change)
        _change_yunikorn(queue.get("queues"), path, change)


def _change_resources(queue: Document, path: str, change: _Change) -> None:
    resources: Document = queue.get("resources") or {}
    old, new = change.old[path], change.new[path]
    if _is_counted(new) and new.capacity != old.capacity:
        before, after = change.guarantee(path)
        guaranteed = resources.get("guaranteed") if _is_counted(old) else None
        resources["guaranteed"] = _scaled(guaranteed, before, after, change.size)
    if new.maximum != old.maximum:
        most = resources.pop("max", None)
        if new.maximum is not None:
            before = 0.0 if old.maximum is None else old.maximum.value
            resources["max"] = _scaled(most, before, new.maximum.value, change.size)
    if resources:
        queue["resources"] = resources


def _scaled(
    given: Mapping[str, object] | None, before: float, after: float, size: ContainerSize
) -> Document:
    """Amounts by resource, in proportion; those of whole containers where there were none."""
    if not given or not before:
        return {"memory": _memory(after * size.mb * _MIB), "vcore": _milli(after * size.vcores)}
    return {name: _quantity(name, value, after / before) for name, value in given.items()}


# --- Kueue ----------------------------------------------------------------------------------------


def _change_kueue(documents: list[Document], change: _Change) -> None:
    members: dict[str, tuple[Document, float]] = {}  # of each cohort: a queue, its old guarantee
    cohorts: dict[str, Document] = {}
    for document in documents:
        if document.get("kind") == "ClusterQueue":
            spec = document["spec"]
            label, cohort = document["metadata"]["name"], spec.get("cohort")
            path = f"{ROOT}.{label}" if cohort is None else f"{ROOT}.{cohort}.{label}"
            before, after = change.guarantee(path)
            if cohort is not None and before:
                members.setdefault(f"{ROOT}.{cohort}", (copy.deepcopy(document), before))
            maximum = change.new[path].maximum
            limit = None if cohort is None or maximum is None else maximum.value - after
            _set_quotas(spec, (before, after), limit, change.old[path])
        elif document.get("kind") == "Cohort":
            cohorts[f"{ROOT}.{document['metadata']['name']}"] = document
    for path, (member, of_member) in members.items():
        before, after = change.of_cohort(path)
        if abs(after - before) <= _TINY:
            continue
        document = cohorts.get(path) or {}
        if before > _TINY:
            _set_quotas(document["spec"], (before, max(0.0, after)), None, None)
        elif after > _TINY:
            spec = member["spec"]
            _set_quotas(spec, (of_member, after), None, None)
            added = {
                "apiVersion": member.get("apiVersion"), "kind": "Cohort",
                "metadata": {"name": path.removeprefix(f"{ROOT}.")},
                "spec": {"resourceGroups": spec["resourceGroups"]},
            }  # fmt: skip
            documents.append(added)


def _set_quotas(
    spec: Document, guarantee: tuple[float, float], limit: float | None, old: ConfiguredQueue | None
) -> None:
    """Scale the quotas of a ClusterQueue, or of a Cohort.

    guarantee: containers before and after.  limit: containers that it may borrow, None for all that
    there are.  old: the queue as it was; None for a Cohort, which has no limit of its own.
    """
    before, after = guarantee
    times = after / before if before else 1.0
    was = None if old is None or old.maximum is None else old.maximum.value - old.capacity.value
    for item in _quota_items(spec):
        given = item.get("nominalQuota", 0)
        item["nominalQuota"] = _quantity(item["name"], given, times)
        if limit is None or old is None:
            item.pop("borrowingLimit", None)
        elif "borrowingLimit" in item and was:
            item["borrowingLimit"] = _quantity(item["name"], item["borrowingLimit"], limit / was)
        elif before and (limit > _TINY or "borrowingLimit" in item):
            item["borrowingLimit"] = _quantity(item["name"], given, limit / before)


def _quota_items(spec: Mapping[str, Any]) -> Iterator[Document]:
    for group in spec.get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            yield from flavor.get("resources") or ()


# --- both -----------------------------------------------------------------------------------------


def _quantity(name: str, given: object, times: float) -> object:
    """An amount of a resource so many times as large; as it was written if it stays."""
    if abs(times - 1.0) <= _TINY:
        return given
    amount = kubernetes_quantity(str(given), name) * times
    if name in _CPU:
        return _milli(amount)
    return _memory(amount) if name == "memory" else str(round(amount))


def _milli(cores: float) -> str:
    """Cores in thousandths.

    >>> _milli(4.0), _milli(1.5)
    ('4', '1500m')
    """
    milli = round(cores * 1000)
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def _memory(size_bytes: float) -> str:
    """Bytes in whole units of 2**20 or 2**30.

    >>> _memory(3 * 2**30), _memory(1.5 * 2**30)
    ('3Gi', '1536Mi')
    """
    mib = round(size_bytes / _MIB)
    return f"{mib}Mi" if mib % 1024 else f"{mib // 1024}Gi"


def _differences(wanted: Iterable[ConfiguredQueue], written: QueueTree) -> Iterator[str]:
    """Differences of the written file from the queues, except for the rounding of amounts."""
    found = {queue.path: queue for queue in written.queues}
    for queue in wanted:
        there = found[queue.path]
        if not _are_near(queue.capacity, there.capacity):
            yield f"the capacity {_named(queue.capacity)} of {queue.path}"
        if not _are_near(queue.maximum, there.maximum):
            yield f"the maximum {_named(queue.maximum)} of {queue.path}"


def _are_near(one: QueueAmount | None, other: QueueAmount | None) -> bool:
    if one is None or other is None or one.kind is not other.kind:
        return one == other
    return math.isclose(one.value, other.value, rel_tol=_ROUNDED, abs_tol=_ROUNDED)


def _named(amount: QueueAmount | None) -> str:
    return "without a limit" if amount is None else f"{amount.value:g} ({amount.kind})"


def _amount_lines(documents: list[Document]) -> Iterator[str]:
    for document in documents:
        if "partitions" in document:
            yield from _yunikorn_lines(document["partitions"][0].get("queues"), "")
        elif document.get("kind") in {"ClusterQueue", "Cohort"}:
            name = f"{document['kind']} {document['metadata']['name']}"
            for item in _quota_items(document.get("spec") or {}):
                for key in ("nominalQuota", "borrowingLimit"):
                    if key in item:
                        yield f"{name} {item['name']} {key} = {item[key]}"


def _yunikorn_lines(queues: Sequence[Document] | None, parent: str) -> Iterator[str]:
    for queue in queues or ():
        path = f"{parent}.{queue['name']}" if parent else str(queue["name"])
        for key, amounts in (queue.get("resources") or {}).items():
            yield from (f"{path} {key} {name} = {value}" for name, value in amounts.items())
        yield from _yunikorn_lines(queue.get("queues"), path)
