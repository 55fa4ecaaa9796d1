"""Amounts of memory and cores in the notations of the schedulers, as containers.

The model has containers of one size. An amount of memory and cores is as many containers as fit
into it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import AmountKind, QueueAmount

_NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")
_PART = re.compile(r"(?P<amount>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z%]*)")
# What Hadoop and Kubernetes write after a number, in MiB.
_MB = {
    "": 1.0, "m": 1.0, "mb": 1.0, "mi": 1.0, "g": 1024.0, "gb": 1024.0, "gi": 1024.0,
    "k": 1 / 1024, "ki": 1 / 1024, "t": 1024.0**2, "ti": 1024.0**2,
}  # fmt: skip
_DECIMAL_MB = {
    "K": 1e3 / 2**20,
    "k": 1e3 / 2**20,
    "M": 1e6 / 2**20,
    "G": 1e9 / 2**20,
    "T": 1e12 / 2**20,
}

_QUANTITY = {
    "": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSize:
    """The resources of one container. Source: yarn.scheduler.minimum-allocation-mb and -vcores."""

    mb: float = 1024.0
    vcores: float = 1.0

    def containers(self, mb: float | None, vcores: float | None) -> float:
        """How many fit into an amount; a resource that is not given does not limit."""
        limits = [
            amount / size
            for amount, size in ((mb, self.mb), (vcores, self.vcores))
            if amount is not None
        ]
        return min(limits)


def number_in(text: str, where: str, *, low: float = 0.0, high: float = 1e12) -> float:
    """A plain number. Raises InvalidInput that names the key."""
    found = float(text) if _NUMBER.fullmatch(text.strip()) and len(text) < 40 else -1.0  # noqa: PLR2004  # digits
    if not low <= found <= high:
        raise InvalidInput(
            f"{text[:60]!r} is not a number from {low:g} to {high:g}",
            where=where,
            hint="correct it",
        )
    return found


def flag_in(text: str, where: str) -> bool:
    """True or false. Raises InvalidInput that names the key."""
    if text.strip().lower() not in {"true", "false"}:
        raise InvalidInput(
            f"{text[:60]!r} is neither true nor false", where=where, hint="correct it"
        )
    return text.strip().lower() == "true"


def hadoop_resources(text: str, size: ContainerSize, where: str) -> float:
    """Containers in "1024 mb, 4 vcores", "memory-mb=1024, vcores=4" or "[memory=1024,vcores=4]"."""
    mb = vcores = None
    for part in text.strip().strip("[]").split(","):
        key, equals, value = part.rpartition("=")
        found = _PART.fullmatch(value.strip())
        if found is None or "%" in found["unit"]:
            raise InvalidInput(
                f"{text[:60]!r} is not an amount of memory and cores", where=where,
                hint='write it as "4096 mb, 4 vcores" or "[memory=4096,vcores=4]"',
            )  # fmt: skip
        named = (key.strip() if equals else found["unit"]).lower()
        if named.startswith("vcore"):
            vcores = float(found["amount"])
        elif named.startswith("memory") if equals else named in _MB:
            mb = float(found["amount"]) * _MB.get(found["unit"].lower(), 1.0)
    if mb is None and vcores is None:
        raise InvalidInput(
            f"{text[:60]!r} has neither memory nor vcores", where=where, hint="give one of them"
        )
    return size.containers(mb, vcores)


def kubernetes_resources(
    given: Mapping[str, object], size: ContainerSize, where: str
) -> float | None:
    """Containers in {memory: 4Gi, cpu: 4}; None if neither is limited."""
    mb = vcores = None
    for key, value in given.items():
        text = str(value).strip()
        if key == "memory":
            mb = _memory_mb(text, where)
        elif key in {"cpu", "vcore"}:
            milli = text.endswith("m")
            vcores = number_in(text.removesuffix("m"), where) / (1000 if milli else 1)
    if mb is None and vcores is None:
        return None
    return size.containers(mb, vcores)


def kubernetes_quantity(text: str, where: str) -> float:
    """The number in 8, 500m, 4k or 2Gi. Raises InvalidInput that names the key."""
    found = _PART.fullmatch(text.strip())
    if found is None or found["unit"] not in _QUANTITY:
        raise InvalidInput(
            f"{text[:60]!r} is not a quantity", where=where, hint="write a number, as in 8"
        )
    return float(found["amount"]) * _QUANTITY[found["unit"]]


def _memory_mb(text: str, where: str) -> float:
    found = _PART.fullmatch(text)
    unit = "" if found is None else found["unit"]
    if found is not None and not unit:
        return float(found["amount"]) / 2**20
    if found is not None and unit in _DECIMAL_MB:
        return float(found["amount"]) * _DECIMAL_MB[unit]
    if found is not None and unit in {"Ki", "Mi", "Gi", "Ti"}:
        return float(found["amount"]) * _MB[unit.lower()]
    raise InvalidInput(
        f"{text[:60]!r} is not an amount of memory", where=where, hint="write it as 4Gi"
    )


def containers_amount(value: float) -> QueueAmount:
    """That many containers."""
    return QueueAmount(AmountKind.CONTAINERS, value)
