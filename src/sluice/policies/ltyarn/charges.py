"""The charges of late arrivals, so that they do not start with nothing used (PAR)."""

from __future__ import annotations

from sluice.policies.ltyarn.rules import ShareRules
from sluice.policies.ltyarn.tree import AppNode, ShareNode


def charge_of(node: ShareNode, rules: ShareRules, now_s: float) -> float:
    """phi, equation (16): the highest level of the siblings that were active before."""
    if node.parent is None or not _is_charged(node, rules):
        return 0.0
    levels = [
        sibling.usage.used(now_s) / sibling.weight
        for sibling in node.parent.active
        if sibling.first_active_at_s is not None and sibling.first_active_at_s < now_s
    ]
    return node.weight * max(levels, default=0.0)


def _is_charged(node: ShareNode, rules: ShareRules) -> bool:
    if isinstance(node, AppNode):
        return rules.charges_apps
    is_late = node.registered_at_s > node.round.at_s
    return rules.charges_idle or (rules.charges_queues and is_late)
