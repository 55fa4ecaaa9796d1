"""Builds the object graph: names and settings in, a scheduler, a simulation or a live run out.

The one place that knows every class.
"""

from __future__ import annotations

from sluice.bootstrap.profiles import with_profiles
from sluice.bootstrap.scheduler import (
    policy_names,
    reports,
    scheduler_for,
    simulation_settings,
)

__all__ = ["policy_names", "reports", "scheduler_for", "simulation_settings", "with_profiles"]
