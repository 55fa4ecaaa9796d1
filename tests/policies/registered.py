"""All task policies that come with Sluice; whatever is registered must keep the contract.

A name with a comma is a policy with other settings, if its parts change what it does.
"""

from sluice.bootstrap.scheduler import policy
from sluice.bootstrap.settings import resolved_settings
from sluice.policies import BUILT_IN

_GROUP = "tasks."
_COPIES = ("speculation=late", "min_age_s=4", "spec_cap=0.5", "kill_slow=true")

VARIANTS = {
    "fair, copies": _COPIES,
    "fair, waits": ("node_wait_s=4.5", "rack_wait_s=3"),
    "dynamicmr, pi, all parts": (*_COPIES, "sepb=0.6", "prescheduling=true", "rack_wait_s=3"),
    "dynamicmr, pd, all parts": (*_COPIES, "sepb=1", "prescheduling=true", "mode=pd"),
}
# The masters of `yarn` hold slots as well, so that work may never end on a small cluster, and it
# says so; test_yarn has its laws.
_WITH_MASTERS = {"tasks.yarn"}
NAMES = sorted(
    [name.removeprefix(_GROUP) for name in {*BUILT_IN} - _WITH_MASTERS if name.startswith(_GROUP)]
    + [*VARIANTS]
)


def task_policy(name):
    """A fresh policy, with its default settings or those of a variant."""
    if name in VARIANTS:
        settings = resolved_settings({}, ["heartbeat_s=3", *VARIANTS[name]])
        return policy("tasks", name.partition(",")[0], settings)
    return policy("tasks", name, resolved_settings({}))
