"""`capacity-scheduler.xml` of Hadoop YARN.

Read: queues, capacity (percent, weight as in `3w`, or `[memory=..,vcores=..]`), maximum-capacity,
ordering-policy, minimum-user-limit-percent, user-limit-factor, max-parallel-apps,
maximum-am-resource-percent, disable_preemption, state, and the switches of preemption.
Hadoop 1 has one level of queues under keys of its own
(`mapred.capacity-scheduler.queue.NAME.capacity`), read by `hadoop_1_tree`.
"""

from __future__ import annotations

import re
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
    YarnRules,
)

PREFIX = "yarn.scheduler.capacity."
HADOOP_1_PREFIX = "mapred.capacity-scheduler."
_HADOOP_1_QUEUE = re.compile(rf"{re.escape(HADOOP_1_PREFIX)}queue\.(.+)\.([^.]+)")
MONITOR = "yarn.resourcemanager.scheduler.monitor.enable"
_PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption."
KILL_WAIT = f"{_PREEMPTION}max_wait_before_kill"
INTERVAL = f"{_PREEMPTION}monitoring_interval"
_SITE = (MONITOR, KILL_WAIT, INTERVAL)
# Simulated by some policies only, so that they are also among the unknown keys.
_SHARES = {  # of a round of preemption, with YARN's defaults
    f"{_PREEMPTION}total_preemption_per_round": "0.1",
    f"{_PREEMPTION}natural_termination_factor": "0.2",
    f"{_PREEMPTION}max_ignored_over_capacity": "0.1",
}
_WAITS = (f"{PREFIX}node-locality-delay", f"{PREFIX}rack-locality-additional-delay")
_MULTIPLE = f"{PREFIX}per-node-heartbeat.multiple-assignments-enabled"
_ASSIGNED = f"{PREFIX}per-node-heartbeat.maximum-container-assignments"
_OFFSWITCH = f"{PREFIX}per-node-heartbeat.maximum-offswitch-assignments"
_KILL_WAIT_MS, _INTERVAL_MS = "15000", "3000"  # YARN's defaults
_QUEUE_KEYS = (
    "queues", "capacity", "maximum-capacity", "ordering-policy", "minimum-user-limit-percent",
    "user-limit-factor", "max-parallel-apps", "disable_preemption", "state",
    "maximum-am-resource-percent",
)  # fmt: skip
_MASTERS = "maximum-am-resource-percent"
_NAME = re.compile(r"[^\s.,]{1,200}")
_PERCENT_MAX = 100.0


def properties_of(root: XmlElement, name: str) -> dict[str, str]:
    """Names and values of a Hadoop configuration; the last of a name counts."""
    found: dict[str, str] = {}
    for element in root.named("property"):
        names = [child.text for child in element.named("name")]
        values = [child.text for child in element.named("value")]
        if len(names) != 1 or not names[0]:
            raise InvalidInput("a property has no name", where=name, hint="give it one")
        found[names[0]] = values[0] if values else ""
    return found


def capacity_tree(
    given: Mapping[str, str], site: Mapping[str, str], size: ContainerSize, name: str
) -> QueueTree:
    """The tree. given: properties of the file.  site: those of yarn-site.xml.

    Raises InvalidInput that names the key.
    """
    reader = _Reader(given, size, name)
    reader.read(ROOT)
    both = {**site, **given}
    after_s, yarn = None, _yarn_rules(both, name)
    if flag_in(both.get(MONITOR, "false") or "false", f"{name}, {MONITOR}"):
        keys = {KILL_WAIT: _KILL_WAIT_MS, INTERVAL: _INTERVAL_MS, **_SHARES}
        wait_ms, round_ms, *shares = (
            number_in(both.get(key, one), f"{name}, {key}") for key, one in keys.items()
        )
        after_s = (wait_ms + round_ms) / 1000
        yarn = replace(
            yarn, round_s=round_ms / 1000,
            round_share=shares[0], natural_share=shares[1], ignored_share=shares[2],
        )  # fmt: skip
    reader.unknown += [key for key in given if key not in reader.used and key not in _SITE]
    return reader.tree(after_s, yarn=yarn)


def _yarn_rules(given: Mapping[str, str], name: str) -> YarnRules:
    """The rules for a node's heartbeat. Raises InvalidInput that names the key."""
    most, offswitch = (
        most_in(given[key], f"{name}, {key}") if given.get(key) is not None else None
        for key in (_ASSIGNED, _OFFSWITCH)
    )
    if not flag_in(given.get(_MULTIPLE, "true") or "true", f"{name}, {_MULTIPLE}"):
        most = 1.0
    rules = yarn_rules_in(given, _WAITS, name)
    return replace(rules, containers_max=most, offswitch_max=offswitch)


def hadoop_1_tree(given: Mapping[str, str], size: ContainerSize, name: str) -> QueueTree:
    """The tree of Hadoop 1's queues. Raises InvalidInput that names the key."""
    reader = _Hadoop1Reader(given, size, name)
    reader.read(ROOT)
    reader.unknown += [key for key in given if key not in reader.used]
    return reader.tree()


class _Reader(TreeReader):
    _masters = "0.1"  # YARN's default

    def __init__(self, given: Mapping[str, str], size: ContainerSize, name: str) -> None:
        super().__init__(size, name)
        self._given = given
        self.used: set[str] = set()

    def read(self, top: str) -> None:
        """The queues below a queue, parents first."""
        paths = [top]
        while paths:
            path = paths.pop(0)
            children = self._children(path)
            if path != ROOT:
                self.queues.append(self._queue(path, is_leaf=not children))
            else:
                for key in _QUEUE_KEYS:
                    self._value(path, key)
            paths += children

    def _value(self, path: str, key: str) -> str | None:
        return self._read(self._key(path, key))

    def _read(self, full: str) -> str | None:
        if full in self._given:
            self.used.add(full)
        return self._given.get(full)

    def _key(self, path: str, key: str) -> str:
        return f"{PREFIX}{path}.{key}"

    def _inherited(self, path: str, key: str) -> str | None:
        """The value of a queue or of the nearest queue above it."""
        while path:
            value = self._value(path, key)
            if value is not None:
                return value
            path = path.rpartition(".")[0]
        return self._general(key)

    def _general(self, key: str) -> str | None:
        """The value for queues without one of their own."""
        return self._read(f"{PREFIX}{key}")

    def _children(self, path: str) -> list[str]:
        names = [one.strip() for one in (self._value(path, "queues") or "").split(",")]
        names = [one for one in names if one]
        for one in names:
            if not _NAME.fullmatch(one):
                raise InvalidInput(
                    f"{one[:60]!r} is not the name of a queue",
                    where=f"{self._name}, {PREFIX}{path}.queues",
                    hint="use letters and digits, without dots",
                )
        if path.count(".") + 2 > 50 and names:  # noqa: PLR2004  # levels
            raise InvalidInput(f"queue {path[:60]!r} is nested too deep", where=self._name)
        return [f"{path}.{one}" for one in names]

    def _where(self, path: str, key: str) -> str:
        return f"{self._name}, {self._key(path, key)}"

    def _queue(self, path: str, *, is_leaf: bool) -> ConfiguredQueue:
        capacity = self._value(path, "capacity")
        if capacity is None:
            raise InvalidInput(
                f"queue {path!r} has no capacity", where=self._where(path, "capacity"),
                hint="give a percentage, a weight such as 3w, or [memory=..,vcores=..]",
            )  # fmt: skip
        maximum = self._value(path, "maximum-capacity")
        state = self._value(path, "state") or "RUNNING"
        if state.upper() != "RUNNING":
            self.notes.append(f"queue {path} is {state}; the simulation runs its jobs all the same")
        order = self._value(path, "ordering-policy") or "fifo"
        if is_leaf and order not in {"fifo", "fair"}:
            self.notes.append(f"queue {path}: ordering-policy {order} is simulated as fifo")
        percent = self._inherited(path, "minimum-user-limit-percent") or "100"
        factor = self._inherited(path, "user-limit-factor") or "1"
        jobs_max = self._value(path, "max-parallel-apps") or self._general("max-parallel-apps")
        stays = self._inherited(path, "disable_preemption") or "false"
        masters = self._general(_MASTERS) or self._masters
        masters = self._value(path, _MASTERS) or masters
        return ConfiguredQueue(
            path=path,
            capacity=self._amount(capacity, self._where(path, "capacity")),
            maximum=None
            if maximum is None or maximum.strip() in {"-1", "100", "100.0"}
            else self._amount(maximum, self._where(path, "maximum-capacity")),
            order=LeafOrder.FAIR if is_leaf and order == "fair" else LeafOrder.FIFO,
            user_limit_percent=number_in(
                percent, self._where(path, "minimum-user-limit-percent"), high=_PERCENT_MAX
            ),
            user_limit_factor=None
            if factor.strip() == "-1"
            else number_in(factor, self._where(path, "user-limit-factor")),
            jobs_max=jobs_max_in(jobs_max, self._where(path, "max-parallel-apps")),
            is_preemptible=not flag_in(stays, self._where(path, "disable_preemption")),
            masters_share=masters_share_in(masters, self._where(path, _MASTERS))
            if is_leaf
            else None,
        )

    def _amount(self, text: str, where: str) -> QueueAmount:
        text = text.strip()
        if text.startswith("["):
            return containers_amount(hadoop_resources(text, self._size, where))
        if text.endswith("w"):
            return QueueAmount(AmountKind.WEIGHT, number_in(text[:-1], where))
        return QueueAmount(
            AmountKind.PERCENT, number_in(text.removesuffix("%"), where, high=_PERCENT_MAX)
        )


class _Hadoop1Reader(_Reader):
    """Hadoop 1: one level of queues. One without a capacity has an even part of what is left."""

    _masters = "-1"  # it has no application masters

    def _key(self, path: str, key: str) -> str:
        return f"{HADOOP_1_PREFIX}queue.{path.removeprefix(f'{ROOT}.')}.{key}"

    def _general(self, key: str) -> str | None:
        return self._read(f"{HADOOP_1_PREFIX}default-{key}")

    def _children(self, path: str) -> list[str]:
        if path != ROOT:
            return []
        found = dict.fromkeys(
            match[1] for key in self._given if (match := _HADOOP_1_QUEUE.fullmatch(key))
        )
        for name in found:
            if not _NAME.fullmatch(name):
                raise InvalidInput(
                    f"{name[:60]!r} is not the name of a queue",
                    where=f"{self._name}, {HADOOP_1_PREFIX}queue.{name[:60]}",
                    hint="use letters and digits, without dots",
                )
        return [f"{ROOT}.{name}" for name in found]

    def _value(self, path: str, key: str) -> str | None:
        if path == ROOT:  # only the queues have keys
            return None
        value = super()._value(path, key)
        if key != "capacity" or (value is not None and value.strip() != "-1"):
            return value
        own = {name: super(_Hadoop1Reader, self)._value(name, key) for name in self._children(ROOT)}
        known = [one for one in own.values() if one is not None and one.strip() != "-1"]
        taken = sum(number_in(one, self._where(path, key)) for one in known)
        return str(max(0.0, _PERCENT_MAX - taken) / (len(own) - len(known)))
