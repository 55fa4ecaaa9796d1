"""Builds the object graph: names and settings in, a scheduler, a simulation or a live run out.

The one place that knows every class.
"""

from __future__ import annotations

from sluice.bootstrap.policy_classes import chosen_policy, policy_names
from sluice.bootstrap.profiles import with_profiles
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import declarations, resolved_settings, settings_notes

__all__ = [
    "chosen_policy",
    "declarations",
    "policy_names",
    "resolved_settings",
    "scheduler_for",
    "settings_notes",
    "with_profiles",
]
