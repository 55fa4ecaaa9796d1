"""All task policies that come with Sluice; whatever is registered must keep the contract.

Under a name with a comma stands a policy with settings of its own, for one whose parts change what
it does altogether.
"""

from importlib import import_module

from sluice.bootstrap.scheduler import task_policy as composed
from sluice.ingest.settings import resolve_settings
from sluice.policies import BUILT_IN

_GROUP = "tasks."
_COPIES = ("speculation=late", "min_age_s=4", "spec_cap=0.5", "kill_slow=true")

VARIANTS = {
    "fair, copies": _COPIES,
    "dynamicmr, pi, all parts": (*_COPIES, "sepb=0.6", "prescheduling=true", "rack_wait_s=3"),
    "dynamicmr, pd, all parts": (*_COPIES, "sepb=1", "prescheduling=true", "mode=pd"),
}
NAMES = sorted(
    [name.removeprefix(_GROUP) for name in BUILT_IN if name.startswith(_GROUP)] + [*VARIANTS]
)


def task_policy(name):
    """A fresh policy, with its default settings or those of a variant."""
    if name in VARIANTS:
        settings = resolve_settings({}, ["heartbeat_s=3", *VARIANTS[name]])
        return composed(name.partition(",")[0], settings)
    module, _, attribute = BUILT_IN[_GROUP + name].partition(":")
    kind = getattr(import_module(module), attribute)
    return kind.build({}) if hasattr(kind, "build") else kind()
