"""VMs that one job of each class needs, and classes with a deadline that no capacity can meet.

A class gives its VMs per job, or they follow from its profile and deadline. Source: capacity
spec, sections 3.1, 3.2 and 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sluice.estimate.bounds import Bound, TimeLaw
from sluice.estimate.vm_need import (
    Containers,
    containers_per_job,
    shared_job,
    stages_law,
    vms_per_job,
)
from sluice.model.classes import ClassProfile, JobClass
from sluice.model.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNeed:
    """VMs and containers that one job of a class needs.

    law, containers, slack_s: None if the class gives only its VMs per job.
    shared_containers: of a class of phases, which needs no typed ones; else None.
    slack_s: deadline minus the time that containers cannot shorten, above 0.
    """

    vms_per_job: float
    law: TimeLaw | None = None
    containers: Containers[float] | None = None
    slack_s: float | None = None
    shared_containers: float | None = None


def least_deadlines_s(
    classes: Sequence[JobClass], bound: Bound, known: Mapping[str, ClassNeed]
) -> dict[str, float]:
    """Return the classes with an unreachable deadline, and the value each deadline must exceed.

    known: the need of each class that names a profile; its time is that of the fastest containers
    if the deadline is unreachable.
    Raises InvalidInput that names class and field if a profile has too few tasks for the bound.
    """
    fixed_s = {one.class_id: _law(one, bound) for one in classes if _has_tasks(one)}
    late_s = {
        one.class_id: law.xi_fixed_s
        for one in classes
        if one.class_id in known
        and (law := known[one.class_id].law) is not None
        and one.deadline_s is not None
        and one.deadline_s < law.xi_fixed_s
    }
    return late_s | {
        one.class_id: law.xi_fixed_s
        for one in classes
        if (law := fixed_s.get(one.class_id)) is not None
        and one.deadline_s is not None
        and one.deadline_s <= law.xi_fixed_s
    }


def class_needs(
    classes: Sequence[JobClass], bound: Bound, known: Mapping[str, ClassNeed]
) -> list[ClassNeed]:
    """Return the need of each class, in order; every deadline must be reachable.

    known: as for `least_deadlines_s`, which raises the same errors.
    """
    return [known.get(one.class_id) or _need(one, bound) for one in classes]


def _need(one: JobClass, bound: Bound) -> ClassNeed:
    if one.vms_per_job is not None:
        return ClassNeed(vms_per_job=one.vms_per_job)
    law = _law(one, bound)
    assert one.deadline_s is not None, "a class with a profile has a deadline"
    if one.phases:
        assert one.containers_per_vm is not None, "a class with phases has this"
        slack_s = one.deadline_s - law.xi_fixed_s
        shared = law.xi_map_s / slack_s
        return ClassNeed(
            vms_per_job=shared / one.containers_per_vm,
            law=law,
            slack_s=slack_s,
            shared_containers=shared,
        )
    assert one.maps_per_vm is not None, "it has both of these"
    assert one.reduces_per_vm is not None, "it has both of these"
    slack_s = one.deadline_s - law.xi_fixed_s
    fit = float(one.maps_per_vm), float(one.reduces_per_vm)
    return ClassNeed(
        vms_per_job=vms_per_job(law.xi_map_s, law.xi_reduce_s, slack_s, *fit),
        law=law,
        containers=containers_per_job(law.xi_map_s, law.xi_reduce_s, slack_s, *fit),
        slack_s=slack_s,
    )


def _has_tasks(one: JobClass) -> bool:
    return one.profile is not None or bool(one.phases)


def _law(one: JobClass, bound: Bound) -> TimeLaw:
    if one.phases:
        law = stages_law(one.phases, one.driver_s, bound)
        if law.xi_map_s <= 0:
            raise InvalidInput(
                f"phases have one task each, too few for bound {bound.value}",
                where=f"class {one.class_id!r}",
                hint="use --bound low or avg, or give vms_per_job instead of the phases",
            )
        return law
    assert one.profile is not None, "the class has one"
    law = shared_job(one.profile).law(bound)
    for field, xi_s in (("maps", law.xi_map_s), ("reduces", law.xi_reduce_s)):
        if xi_s <= 0:
            raise _too_few(one, one.profile, field, bound, xi_s)
    return law


def _too_few(
    one: JobClass, profile: ClassProfile, field: str, bound: Bound, xi_s: float
) -> InvalidInput:
    """Error for a class with too few tasks for the pessimistic law. Source: erratum E4."""
    tasks = profile.map_tasks if field == "maps" else profile.reduce_tasks
    lengths = "max_s" if field == "maps" else "(reduces.max_s + shuffle.max_s)"
    work = "avg_s" if field == "maps" else "(reduces.avg_s + shuffle.avg_s)"
    share = "2" if bound is Bound.UP else "1"
    others = [name for name in _positive(profile) if name != bound.value]
    offer = f"use --bound {' or '.join(others)}, or " if others else ""
    return InvalidInput(
        f"{field}.tasks is {tasks}, too few for bound {bound.value}:"
        f" tasks * {work} - {share} * {lengths} is {xi_s:g} s, not above 0",
        where=f"class {one.class_id!r}",
        hint=f"{offer}give vms_per_job instead of the profile",
    )


def _positive(profile: ClassProfile) -> Iterator[str]:
    """Yield the bounds that are valid for the profile."""
    for bound in Bound:
        law = shared_job(profile).law(bound)
        if law.xi_map_s > 0 and law.xi_reduce_s > 0:
            yield bound.value
