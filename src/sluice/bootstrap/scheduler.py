"""From names and settings to a scheduler: policies by name, ours or another package's."""

from __future__ import annotations

from dataclasses import fields, replace
from importlib import import_module, metadata
from typing import Any

from sluice.core.protocols import ReleasePolicy
from sluice.core.scheduler import Policies, Rules, Scheduler
from sluice.ingest.settings import Settings
from sluice.ingest.suggestions import suggestion
from sluice.model.cluster import Pool
from sluice.model.errors import InvalidInput
from sluice.policies import BUILT_IN
from sluice.simulation.settings import SimulationSettings

_GROUP = "sluice.policies"


def policy_names(kind: str) -> list[str]:
    """Names of the policies of a kind: admission, release, tasks or pools."""
    names = set(BUILT_IN) | {entry.name for entry in metadata.entry_points(group=_GROUP)}
    return sorted(name.removeprefix(f"{kind}.") for name in names if name.startswith(f"{kind}."))


def policy(kind: str, name: str | object, settings: Settings) -> Any:  # noqa: ANN401  # one of four protocols
    """The policy of that kind and name, or the object itself where one is given.

    Raises InvalidInput with the nearest name.
    """
    if not isinstance(name, str):
        return name
    path = BUILT_IN.get(f"{kind}.{name}") or _foreign(kind, name)
    module, _, attribute = path.partition(":")
    made = getattr(import_module(module), attribute)
    if hasattr(made, "build"):
        return made.build(settings.for_policy(name).values())
    return made()


def _foreign(kind: str, name: str) -> str:
    """Where another package keeps a policy that it offers under our entry point group."""
    for entry in metadata.entry_points(group=_GROUP):
        if entry.name == f"{kind}.{name}":
            return entry.value
    known = policy_names(kind)
    raise InvalidInput(
        f"{name!r} is no known policy", where=f"--{kind}", hint=suggestion(name, known)
    )


def task_policy(name: str, settings: Settings) -> Any:  # noqa: ANN401  # it may also end attempts, divide slots ..
    """The task policy of that name, with second copies and kills around it where it takes them.

    A fraction of SEPB asks for copies by itself, unless `speculation` says otherwise.
    """
    own = settings.for_policy(name)
    if own.speculation == "none" and "speculation" not in own.given and (own.sepb or own.sepb_pool):
        settings = replace(settings, speculation="late")
    made = policy("tasks", name, settings)
    from sluice.policies.job_order import JobOrder
    from sluice.policies.speculation import with_copies, with_kills

    if not isinstance(made, JobOrder):
        return made  # it has put its parts together already, or knows no copies
    own_values = settings.for_policy(name).values()
    return with_kills(with_copies(made, own_values), own_values)


def scheduler_for(
    *,
    settings: Settings,
    tasks: str = "fifo",
    release: str | ReleasePolicy = "input",
    admission: str = "all",
    pools: tuple[Pool, ...] = (),
    is_live: bool = False,
) -> Scheduler:
    """A fresh scheduler made of one policy of each kind. Live engines report as things happen."""
    own = settings.for_policy(tasks)
    policies = Policies(
        admission=policy("admission", admission, settings),
        release=policy("release", release, settings),
        tasks=task_policy(tasks, settings),
        pools=policy("pools", "keep", settings),
    )
    rules = Rules(
        slowstart=own.slowstart,
        by_heartbeat=own.heartbeat_s > 0 and not is_live,
        failures_max=own.failures_max,
    )
    return Scheduler(policies, pools=pools, rules=rules)


def simulation_settings(settings: Settings) -> SimulationSettings:
    """The part of the settings that describes the simulated world."""
    values: dict[str, Any] = settings.values()
    return SimulationSettings(
        **{field.name: values[field.name] for field in fields(SimulationSettings)}
    )


def reports(policies: Policies) -> dict[str, object]:
    """What the policies have to tell of a run, for its document."""
    told: dict[str, object] = {}
    for each in (policies.admission, policies.release, policies.tasks, policies.pools):
        told |= each.report()
    return told
