"""The changes that a policy would make to a running YARN cluster now, as a steering plan.

Each policy reads what YARN says of its queues and applications, and wishes for values, or for the
end of attempts; it changes nothing. The difference to the present becomes calls later, in
`engines/yarn/steering/changes.py`, so a wish that is fulfilled already costs no call.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sluice.bootstrap.planners.kernel_loader import BackgroundLoader
from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.engines.yarn.steering.present import Present
from sluice.ingest.workload import parse_workload
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.model.steering import ApplicationWish, SteeringPlan
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.problem import problem_of
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import SearchContext
from sluice.planning.ordering.solver import OrderingMethod, solve
from sluice.planning.sharing.long_term_capacities import long_term_capacities
from sluice.store.profiles import Profiles

EVALUATIONS = 20_000  # of orders: a second or two for a hundred jobs
ROUND_S = 600.0  # how often `ltyarn` is taken to be run
_SHARE = "sluice-share"
_PRIORITY_MAX = "yarn.cluster.max-application-priority"
_APPLICATIONS = "/apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_OURS = "SLUICE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The changes that a policy wants. reasons: by what is changed, as a `Row` names its target."""

    plan: SteeringPlan = field(default_factory=SteeringPlan)
    notes: list[str] = field(default_factory=list)
    reasons: Mapping[str, str] = field(default_factory=dict)


def mrorder(rest: ResourceManagerRest, store: str | None) -> Decision:
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
    names = open_applications(rest)
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
        return Decision(notes=notes)
    slots = max(1, sum(node.vcores for node in rest.nodes()))
    found = _soonest(jobs, slots)
    wishes = {
        app_id: ApplicationWish(priority=max(1, highest - place))
        for place, app_id in enumerate(found)
    }
    reasons = {
        app_id: f"place {place} of {len(found)} in the order in which the work ends soonest, by the"
        f" last run of {names[app_id]}"
        for place, app_id in enumerate(found, 1)
    }
    if len(wishes) > highest:
        notes.append(
            f"{len(wishes)} applications share {highest} priorities: the last ones have the same"
        )
    return Decision(
        plan=SteeringPlan(applications=wishes, skips_gone=True), notes=notes, reasons=reasons
    )


def _soonest(jobs: list[dict[str, Any]], slots: int) -> list[str]:
    """The ids of jobs in the order in which all of them end soonest."""
    document = {
        "version": 1, "cluster": {"map_slots": slots, "reduce_slots": slots}, "jobs": jobs,
    }  # fmt: skip
    workload = parse_workload(json.dumps(document), source="the applications")
    budget = SearchBudget(time.perf_counter, evaluations=EVALUATIONS)
    with BackgroundLoader() as loader:
        context = SearchContext(problem_of(workload), budget, loader=loader)
        answer = solve(context, OrderingMethod.AUTO, Objective.MAKESPAN, random.Random(0))
    return [str(workload.jobs[place].job_id) for place in answer.best.order]


def ltyarn(rest: ResourceManagerRest, store: str | None) -> Decision:  # noqa: ARG001  # as all of them
    """Capacities that bring the long-term use of sibling leaves to their shares.

    A queue's share is its key `sluice-share`; at first its capacity, which is kept under that key.
    Its use is that of all applications that YARN still lists, in core-seconds. The next change is
    taken to come in `ROUND_S`. Source: LTYARN spec, section 4.
    """
    configured = Present(rest).configured
    used = _core_seconds(rest)
    coming = ROUND_S * max(1, sum(node.vcores for node in rest.nodes()))
    wishes: dict[str, dict[str, str | None]] = {}
    reasons: dict[str, str] = {}
    for key, names in configured.items():
        if not key.endswith(".queues"):
            continue
        parent = key.removesuffix(".queues")
        paths = [f"{parent}.{name.strip()}" for name in names.split(",") if name.strip()]
        shares = _shares(paths, configured)
        if shares is None or any(f"{path}.queues" in configured for path in paths):
            continue
        found = long_term_capacities(shares, used, coming)
        whole, all_used = sum(shares.values()), sum(used.get(path, 0.0) for path in paths)
        for path, percent in found.items():
            wishes[path] = {_SHARE: f"{shares[path]:g}", "capacity": f"{percent:g}"}
            had = used.get(path, 0.0)
            reasons[path] = (
                f"it had {had:,.0f} of {all_used:,.0f} core-seconds, and its share is"
                f" {100 * shares[path] / whole:.3g} %"
            )
    notes = []
    if not wishes:
        notes.append("no two sibling queues without queues of their own have percentages")
    return Decision(plan=SteeringPlan(queues=wishes), notes=notes, reasons=reasons)


def _shares(paths: list[str], configured: Mapping[str, str]) -> dict[str, float] | None:
    """The share of each queue; None where they are not percentages, or not of several queues."""
    found: dict[str, float] = {}
    for path in paths:
        said = configured.get(f"{path}.{_SHARE}") or configured.get(f"{path}.capacity", "")
        try:
            share = float(said)
        except ValueError:
            return None
        if not 0 < share < math.inf:
            return None
        found[path] = share
    return found if len(found) > 1 else None


def _core_seconds(rest: ResourceManagerRest) -> dict[str, float]:
    """Core-seconds of all applications that are listed, by path of their queue."""
    said = rest.call("GET", "/apps")
    used: dict[str, float] = {}
    try:
        for row in (said.get("apps") or {}).get("app", []):
            queue = str(row["queue"])
            path = queue if queue.startswith("root.") else f"root.{queue}"
            used[path] = used.get(path, 0.0) + max(0.0, float(row.get("vcoreSeconds", 0)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise EngineUnavailable(
            f"{rest.base}: its list of applications cannot be read: {error!r}"
        ) from error
    return used


def dynamicmr(rest: ResourceManagerRest, store: str | None) -> Decision:  # noqa: ARG001  # as all of them
    """Kills second attempts of tasks while other tasks of the job wait for a container.

    Of the two the one with less progress is killed. Source: DynamicMR spec, section 5 (speculative
    execution performance balancing).
    """
    kills: dict[str, str] = {}
    waiting = 0
    for app_id in open_applications(rest):
        number = app_id.removeprefix("application_")
        base = f"/proxy/{app_id}/ws/v1/mapreduce/jobs"
        try:
            said = rest.request("GET", f"{base}/job_{number}")
            job = said["job"]
            pending = {"m": int(job["mapsPending"]), "r": int(job["reducesPending"])}
            tasks = rest.request("GET", f"{base}/job_{number}/tasks")["tasks"]["task"]
            for kind in (kind for kind, left in pending.items() if left):
                waiting += pending[kind]
                for task in (one for one in tasks if f"_{kind}_" in one["id"]):
                    path = f"{base}/job_{number}/tasks/{task['id']}"
                    why = f"its task has another attempt, and {pending[kind]} tasks of its job wait"
                    kills |= dict.fromkeys(_copies_on(rest, path, task), why)
        except (EngineUnavailable, AttributeError, KeyError, TypeError, ValueError):
            continue  # not MapReduce, or its ApplicationMaster does not answer yet
    notes = [] if kills else [f"{waiting} tasks wait, and no task has a second attempt"]
    plan = SteeringPlan(kill_attempts=tuple(kills), skips_gone=True)
    return Decision(plan=plan, notes=notes, reasons=kills)


def _copies_on(
    rest: ResourceManagerRest, path: str, task: Mapping[str, Any]
) -> list[str]:  # fmt: skip
    """The running attempts of a task without the one that is furthest."""
    if task["state"] != "RUNNING":
        return []
    said = rest.request("GET", f"{path}/attempts")["taskAttempts"]["taskAttempt"]
    running = [one for one in said if one["state"] == "RUNNING"]
    running.sort(key=lambda one: (-float(one["progress"]), int(one["startTime"]), str(one["id"])))
    return [str(one["id"]) for one in running[1:]]


POLICIES: Mapping[str, Callable[[ResourceManagerRest, str | None], Decision]] = {
    "mrorder": mrorder,
    "ltyarn": ltyarn,
    "dynamicmr": dynamicmr,
}


def open_applications(rest: ResourceManagerRest) -> dict[str, str]:
    """The names of the applications of others that wait or run, by id, as they came."""
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
