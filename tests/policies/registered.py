"""All task policies that come with Sluice; whatever is registered must keep the contract."""

from importlib import import_module

from sluice.policies import BUILT_IN

_GROUP = "tasks."

NAMES = sorted(name.removeprefix(_GROUP) for name in BUILT_IN if name.startswith(_GROUP))


def task_policy(name):
    """A fresh policy with its default settings."""
    module, _, attribute = BUILT_IN[_GROUP + name].partition(":")
    kind = getattr(import_module(module), attribute)
    return kind.build({}) if hasattr(kind, "build") else kind()
