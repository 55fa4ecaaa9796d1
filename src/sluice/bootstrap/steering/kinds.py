"""Which policies steer a cluster of others, and what each of them changes there."""

from __future__ import annotations

from collections.abc import Mapping

# The part of a steering plan that a policy fills; `policies` has the policies themselves.
KINDS: Mapping[str, str] = {
    "mrorder": "applications",
    "ltyarn": "queues",
    "dynamicmr": "kill_attempts",
}
EFFECTS: Mapping[str, str] = {
    "applications": "priorities of applications",
    "queues": "capacities of queues",
    "kill_attempts": "kills of second attempts",
}
EVERY_S = 30.0
CALLS_PER_S = 5.0
CALLS_PER_S_MAX = 100.0
