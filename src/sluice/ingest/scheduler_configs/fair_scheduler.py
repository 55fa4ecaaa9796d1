"""`fair-scheduler.xml` of Hadoop YARN.

Read: queues with weight, minResources, maxResources, maxRunningApps, schedulingPolicy, maxAMShare,
and what they say of preemption, which the queues below take over; the defaults of all queues. YARN
makes the queue `root.default` and, unless yarn.scheduler.fair.allow-undeclared-pools is false, each
that jobs name.
"""

from __future__ import annotations

import math
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
    Starvation,
)

PREEMPTION = "yarn.scheduler.fair.preemption"
UNDECLARED = "yarn.scheduler.fair.allow-undeclared-pools"
_MASTERS = "0.5"  # YARN's default
_SITE = "yarn-site.xml"
_MULTIPLE = "yarn.scheduler.fair.assignmultiple"
_HALF = "yarn.scheduler.fair.dynamic.max.assign"
_ASSIGNED = "yarn.scheduler.fair.max.assign"
_WAITS = tuple(f"yarn.scheduler.fair.locality.threshold.{one}" for one in ("node", "rack"))
_SHARE_WAIT = "fairSharePreemptionTimeout"
_SHARE_PART = "fairSharePreemptionThreshold"
_LEAST_WAIT = "minSharePreemptionTimeout"
_STARVATION = (_SHARE_WAIT, _SHARE_PART, _LEAST_WAIT)
_GIVES = "allowPreemptionFrom"


def _default_of(key: str) -> str:
    return f"default{key[0].upper()}{key[1:]}"


_KNOWN = frozenset(
    {"weight", "minResources", "maxResources", "maxRunningApps", "schedulingPolicy",
     "maxAMShare", _GIVES, *_STARVATION}
)  # fmt: skip
_DEFAULTS = frozenset({"queueMaxAppsDefault", "queueMaxAMShareDefault", "queueMaxResourcesDefault",
                       "defaultQueueSchedulingPolicy", *map(_default_of, _STARVATION)})  # fmt: skip
_QUEUE_TAGS = frozenset({"queue", "pool"})
_TAKES_BACK = (
    ("yarn.scheduler.fair.waitTimeBeforeKill", "15000"),
    ("yarn.scheduler.fair.waitTimeBeforeNextStarvationCheck", "10000"),
    (f"{PREEMPTION}.cluster-utilization-threshold", "0.8"),
)


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
    takes_back = flag_in(site.get(PREEMPTION, "false") or "false", f"{name}, {PREEMPTION}")
    after_s = reader.preempts_after_s() if takes_back else None
    default = reader.undeclared(f"{ROOT}.default")
    if all(queue.path != default.path for queue in reader.queues):
        reader.queues.append(default)
    makes_them = flag_in(site.get(UNDECLARED, "true") or "true", f"{name}, {UNDECLARED}")
    return reader.tree(
        after_s,
        undeclared=default if makes_them else None,
        idle_count=False,
        yarn=replace(
            yarn_rules_in(site, _WAITS, _SITE, most=1.0),
            containers_max=_containers_max(site),
            **(_preemption_in(site) if takes_back else {}),
        ),
    )


def _preemption_in(site: Mapping[str, str]) -> dict[str, float]:
    """The rules of preemption in yarn-site.xml, or YARN's defaults. Raises InvalidInput."""
    warning_ms, pause_ms, busy_share = (
        number_in(site.get(key) or default, f"{_SITE}, {key}") for key, default in _TAKES_BACK
    )
    return {"warning_s": warning_ms / 1000, "pause_s": pause_ms / 1000, "busy_share": busy_share}


def _starvation_in(said: Mapping[str, str], where: str) -> Starvation:
    """When containers are taken back for a queue, by what it says. Raises InvalidInput."""
    after_s, least_after_s = (
        math.inf if key not in said else number_in(said[key], f"{where}, {key}")
        for key in (_SHARE_WAIT, _LEAST_WAIT)
    )
    share = number_in(said.get(_SHARE_PART, "0.5"), f"{where}, {_SHARE_PART}")
    return Starvation(after_s, min(1.0, share), least_after_s)


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
        # What each queue says of preemption, or the nearest one above it that says something.
        self._said: dict[str, Mapping[str, str]] = {
            ROOT: {key: self.defaults[of] for key in _STARVATION
                   if (of := _default_of(key)) in self.defaults}
        }  # fmt: skip

    def preempts_after_s(self) -> float | None:
        """The time of the root, or else the least of all queues; None without any."""
        of_root = self.defaults.get(_default_of(_SHARE_WAIT))
        if of_root is not None:
            return number_in(of_root, f"{self._name}, {_default_of(_SHARE_WAIT)}")
        said = [queue.starvation for queue in self.queues]
        times = [one for each in said for one in (each.share_after_s, each.least_after_s)]
        found = min((one for one in times if one is not None), default=math.inf)
        if found < math.inf:
            return found
        self.notes.append(f"preemption needs {_default_of(_SHARE_WAIT)}: without it there is none")
        return None

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
        above = self._said[parent]
        own = {key: values[key] for key in (*_STARVATION, _GIVES) if key in values}
        gives = above.get(_GIVES, own.get(_GIVES, "true"))
        if path != ROOT and flag_in(gives, f"{self._name}, queue {path}, {_GIVES}"):
            gives = own.get(_GIVES, "true")
        self._said[path] = {**above, **own, _GIVES: gives}
        if path != ROOT:
            self.queues.append(self._queue(path, values))
        for child in below:
            self.read(child, path)

    def undeclared(self, path: str) -> ConfiguredQueue:
        """A queue that YARN makes, with the defaults of the file."""
        return self._queue(path, {})

    def _queue(self, path: str, values: Mapping[str, str]) -> ConfiguredQueue:
        where = f"{self._name}, queue {path}"
        said = self._said.get(path, self._said[ROOT])
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
            is_preemptible=flag_in(said.get(_GIVES, "true"), f"{where}, {_GIVES}"),
            starvation=_starvation_in(said, where),
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
