"""What a policy would have a running YARN cluster do now, as a steering plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sluice.api.order import order
from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.model.steering import ApplicationWish, SteeringPlan
from sluice.reporting.order.result import OrderResult
from sluice.store.profiles import Profiles

EVALUATIONS = 20_000  # of orders: a second or two for a hundred jobs
_PRIORITY_MAX = "yarn.cluster.max-application-priority"
_APPLICATIONS = "/apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_OURS = "SLUICE"

Answer = tuple[SteeringPlan, list[str]]


def mrorder(rest: ResourceManagerRest, store: str | None) -> Answer:
    """Priorities in the order that MROrder would release the jobs, and what is to be said of it.

    The jobs are the applications that wait or run; their tasks are those of the last run with the
    same name in the profile store. Others keep their priority. Source: ordering spec, section 6.
    """
    most = rest.configured(_PRIORITY_MAX)
    highest = int(most) if most.isdigit() else 0
    if highest < 1:
        raise InvalidInput(
            "the cluster has one priority for all",
            where=rest.base,
            hint=f"set {_PRIORITY_MAX} in yarn-site.xml, such as 10",
        )
    names = _names(rest)
    with Profiles.open(store) as profiles:
        runs = {name: profiles.newest(name, 1) for name in dict.fromkeys(names.values())}
    jobs = [
        job
        for app_id, name in names.items()
        if runs[name] and (job := _job(app_id, runs[name][0])) is not None
    ]
    unknown = sorted({name for app_id, name in names.items() if not runs[name]})
    notes = []
    if unknown:
        notes.append(f"no past run is known of {', '.join(unknown[:5])}: import their history")
    if not jobs:
        return SteeringPlan(), notes
    slots = max(1, sum(node.vcores for node in rest.nodes()))
    document = {
        "version": 1, "cluster": {"map_slots": slots, "reduce_slots": slots}, "jobs": jobs,
    }  # fmt: skip
    found = order(document, evaluations=EVALUATIONS)
    assert isinstance(found, OrderResult)  # its jobs have maps and reduces
    wishes = {
        str(app_id): ApplicationWish(priority=max(1, highest - place))
        for place, app_id in enumerate(found.order)
    }
    if len(wishes) > highest:
        notes.append(
            f"{len(wishes)} applications share {highest} priorities: the last ones have the same"
        )
    return SteeringPlan(applications=wishes), notes


POLICIES: Mapping[str, Callable[[ResourceManagerRest, str | None], Answer]] = {"mrorder": mrorder}


def _names(rest: ResourceManagerRest) -> dict[str, str]:
    """The names of the applications that wait or run, by id, as they came."""
    said = rest.call("GET", _APPLICATIONS)
    try:
        rows = (said.get("apps") or {}).get("app", [])
        rows = [row for row in rows if row.get("applicationType") != _OURS]
        came = sorted(rows, key=lambda row: (int(row["startedTime"]), str(row["id"])))
        return {str(row["id"]): str(row["name"]) for row in came}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EngineUnavailable(
            f"{rest.base}: its list of applications cannot be read: {error!r}"
        ) from error


def _job(app_id: str, run: PastRun) -> dict[str, Any] | None:
    """A job with the tasks of a past run: what reads input as maps, and the others as reduces."""
    maps = _tasks(phase for phase in run.phases if phase.kind == "map")
    reduces = _tasks(phase for phase in run.phases if phase.kind != "map")
    job: dict[str, Any] = {"id": app_id}
    if maps:
        job["maps"] = maps
    if reduces:
        job["reduces"] = reduces
    return job if maps else None


def _tasks(phases: Iterable[PastPhase]) -> dict[str, Any] | None:
    known = [phase for phase in phases if phase.tasks and phase.avg_s > 0]
    tasks = sum(phase.tasks for phase in known)
    if not tasks:
        return None
    return {"tasks": tasks, "avg_s": sum(phase.tasks * phase.avg_s for phase in known) / tasks}
