"""Second copies in an order of jobs and the kill rule around a policy, as settings ask for them."""

from __future__ import annotations

from sluice.core.protocols import TaskPolicy
from sluice.model.slot_kind import SlotKind
from sluice.policies.copies.gate import CopyGate
from sluice.policies.copies.late import Late
from sluice.policies.copies.sepb import PendingFirst
from sluice.policies.copies.slow_kill import SlowKill
from sluice.policies.dynamicmr.targets import Fractions
from sluice.policies.job_order import JobOrder
from sluice.policies.settings import SpeculationSettings

NOTHING_LENT = Fractions(0.0, 0.0)


def with_copies(
    line: JobOrder, settings: SpeculationSettings, fractions: Fractions = NOTHING_LENT
) -> JobOrder:
    """The order of jobs with the second copies that `speculation` and `sepb` ask for."""
    if settings.speculation != "late":
        return line
    borrowers = {SlotKind.MAP: fractions.pct_reduce, SlotKind.REDUCE: fractions.pct_map}
    lent = frozenset(kind for kind, fraction in borrowers.items() if fraction > 0)
    return Late(line, _gate(settings, fractions), settings, lent)


def with_kills(inner: TaskPolicy, settings: SpeculationSettings) -> TaskPolicy:
    """The policy with the kill rule around it, if `kill_slow` is set."""
    return SlowKill(inner) if settings.kill_slow else inner


def _gate(settings: SpeculationSettings, fractions: Fractions) -> CopyGate:
    """Without a fraction no other job is asked, which is plain LATE."""
    is_by_pool = settings.sepb_mode == "pool"
    fraction = settings.sepb_pool if is_by_pool else settings.sepb
    if not fraction:
        return CopyGate()
    return PendingFirst(
        fraction,
        is_by_pool=is_by_pool,
        lends_map=fractions.pct_map > 0,
        lends_reduce=fractions.pct_reduce > 0,
    )
