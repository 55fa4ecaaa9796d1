"""From a question about plans to the workload that is planned, and from a plan to jobs to submit.

Source: service spec, section 6 (`POST /v1/plans`, `/v1/plans/{id}/choice`) and pareto spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sluice.bootstrap.service.config import segment_config
from sluice.ingest.document import read_document
from sluice.model.errors import InvalidInput
from sluice.service.requests import PlanRequest
from sluice.store.rows import header_and_end
from sluice.store.service.places import ServicePlace

Values = dict[str, Any]
_OF_SERVICE = ("cluster", "prices", "limits")  # what a plan for its machines takes from its file


def planned_workload(body: PlanRequest, place: ServicePlace) -> Values:
    """The workload that is asked about. Raises InvalidInput.

    Jobs and profiles are planned for the machines and prices of the service.
    """
    found = _given(body)
    if found is None:
        jobs = body.jobs or [{"id": name, "profile": name} for name in body.profiles or ()]
        found = {"version": 1, **_of_service(place), "jobs": jobs}
    limits = dict(found.get("limits") or {})
    given = {"budget_usd_max": body.budget_usd, "deadline_s": body.deadline_s}
    limits |= {name: value for name, value in given.items() if value is not None}
    return {**found, "limits": limits} if limits else found


def chosen_jobs(
    workload: Mapping[str, Any], result: Mapping[str, Any], number: int
) -> list[Values]:
    """The jobs of a plan as they are submitted: each with its slots as its weight, and its reduces.

    Raises InvalidInput where there is no such plan.
    """
    plan = _plan(result, number)
    return [_as_planned(job, plan["jobs"][str(job["id"])]) for job in workload["jobs"]]


def rented(result: Mapping[str, Any], number: int) -> int:
    """How many VMs a plan rents at a time."""
    return sum(int(job["vms"]) for job in _plan(result, number)["jobs"].values())


def _as_planned(job: Values, planned: Mapping[str, Any]) -> Values:
    kinds = ("map_slots", "reduce_slots", "containers")  # of a job of stages: containers alone
    slots = sum(planned.get(kind) or 0 for kind in kinds)
    made = {key: value for key, value in job.items() if key != "pool"}
    reduces = job.get("reduces")
    if isinstance(reduces, dict) and planned["reduce_tasks"]:
        made["reduces"] = {**reduces, "tasks": planned["reduce_tasks"]}
    return {**made, "weight": max(1, slots)}


def _plan(result: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    plans: Iterable[Mapping[str, Any]] = result["plans"]
    for plan in plans:
        if plan["number"] == number:
            return plan
    known = len(result["plans"])
    raise InvalidInput(f"there is no plan {number}", where="plan", hint=f"choose 1 to {known}")


def _given(body: PlanRequest) -> Values | None:
    if isinstance(body.workload, str):
        found = read_document(body.workload.encode(), source="workload").value
        if not isinstance(found, dict):
            raise InvalidInput(
                "it is no mapping", where="workload", hint="give `version` and `jobs`"
            )
        return found
    return body.workload


def _of_service(place: ServicePlace) -> Values:
    """The machines and prices of the service, as a plan counts them: a VM is a node."""
    segment = place.segments()[-1]
    header, _ = header_and_end(segment)
    config = segment_config(segment, header)
    found = {key: config.document[key] for key in _OF_SERVICE if key in config.document}
    cluster, nodes = dict(found.get("cluster") or {}), config.cluster.nodes
    if nodes:
        cluster.setdefault("map_slots_per_vm", nodes[0].map_slots or nodes[0].containers)
        cluster.setdefault("reduce_slots_per_vm", nodes[0].reduce_slots or nodes[0].containers)
    return {**found, "cluster": cluster}
