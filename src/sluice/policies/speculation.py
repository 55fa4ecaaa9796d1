"""Second copies in a line of turns and the kill rule around a policy, as settings ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluice.core.protocols import TaskPolicy
from sluice.policies.dynamicmr.targets import Fractions
from sluice.policies.job_order import JobOrder
from sluice.policies.late import AnyJob, CopyGate, Late, LateLimits
from sluice.policies.sepb import PendingFirst
from sluice.policies.slow_kill import SlowKill

NOTHING_LENT = Fractions(0.0, 0.0)


def with_copies(
    line: JobOrder, settings: Mapping[str, Any], fractions: Fractions = NOTHING_LENT
) -> JobOrder:
    """The line with what `speculation` and `sepb` ask for in it."""
    if settings.get("speculation", "none") != "late":
        return line
    limits = LateLimits(
        spec_cap=settings.get("spec_cap", 0.1),
        slow_task=settings.get("slow_task", 25.0),
        slow_node=settings.get("slow_node", 25.0),
        min_age_s=settings.get("min_age_s", 60.0),
    )
    return Late(line, _gate(settings, fractions), limits)


def with_kills(inner: TaskPolicy, settings: Mapping[str, Any]) -> TaskPolicy:
    """The policy with the kill rule around it, if `kill_slow` asks for that."""
    return SlowKill(inner) if settings.get("kill_slow", False) else inner


def _gate(settings: Mapping[str, Any], fractions: Fractions) -> CopyGate:
    """Without a fraction no other job is asked, which is plain LATE."""
    is_by_pool = settings.get("sepb_mode", "global") == "pool"
    fraction: float = settings.get("sepb_pool" if is_by_pool else "sepb", 0.0)
    if not fraction:
        return AnyJob()
    return PendingFirst(
        fraction,
        is_by_pool=is_by_pool,
        lends_map=fractions.pct_map > 0,
        lends_reduce=fractions.pct_reduce > 0,
    )
