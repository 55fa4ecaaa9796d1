"""Changes of a running YARN cluster that keeps its own jobs."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from sluice.api.options.calls import called_with
from sluice.api.options.steering import SteerOptions
from sluice.bootstrap.steering.kinds import CALLS_PER_S_MAX
from sluice.bootstrap.steering.policies import POLICIES, Decision
from sluice.bootstrap.steering.undo_file import is_empty
from sluice.engines.yarn.rest import ResourceManagerRest, checked_address
from sluice.engines.yarn.steering.changes import Change, Row
from sluice.engines.yarn.steering.steering import made, planned, undo_of, with_ids
from sluice.ingest.steering_plans import load_steering_plan, plan_document, wrong_sum
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.reporting.exports.workload_text import workload_text
from sluice.reporting.steer.result import Call, SteeredValue, SteeringResult


@dataclass(frozen=True)
class SteerCall(SteerOptions):
    """Arguments of `steer`."""

    plan: str | Path
    address: str
    _: KW_ONLY
    store: str | None = None


@called_with(SteerCall)
def steer(given: SteerCall) -> SteeringResult:
    """Change a running YARN cluster to what a plan says, read it back, and compare.

    plan: a file of queues, applications, nodes, reservations; or the name of a policy: mrorder,
    ltyarn, dynamicmr.
    address: the ResourceManager's web address, such as http://rm:8088.
    undo: the file to write first; given as `plan` it takes all back. It must not exist.
    allocations: the Fair Scheduler's file, whose queues a plan changes; by default the one that the
    ResourceManager names, if it is on this machine.
    calls_per_s: the most calls a second.
    user: as whom to ask, where YARN takes anybody's word; by default the user of this process.
    store: path or URL of the profile store, from which a policy knows jobs.
    Raises InvalidInput, EngineUnavailable.
    """
    address, calls_per_s = given.address, given.calls_per_s
    if not 0 < calls_per_s <= CALLS_PER_S_MAX:
        raise InvalidInput(
            f"calls_per_s is {calls_per_s}", where="--rate", hint=f"give up to {CALLS_PER_S_MAX:g}"
        )
    now_s = time.time()
    rest = ResourceManagerRest(checked_address(address, "--address"), given.user)
    found = _wanted(str(given.plan), rest, now_s, given.store)
    file = None if given.allocations is None else str(given.allocations)
    notes = [*found.notes]
    on_gone = notes.append if found.plan.skips_gone else None
    changes = planned(found.plan, rest, now_s, wrong_sum, file, on_gone)
    found = replace(found, notes=notes)
    if given.dry_run or not changes:
        return _result(address, changes, found, is_dry_run=given.dry_run)
    changes = with_ids(changes, rest)
    undo = _undo_file(Path(given.undo), changes)
    results = [
        one
        for part in ([[one] for one in changes] if found.plan.skips_gone else [changes])
        for one in made(part, rest, calls_per_s=calls_per_s)
    ]
    if undo is not None and all(one.is_untouched for one in results):
        Path(undo).unlink(missing_ok=True)  # it would be in the way of another try
        undo = None
    values = [
        replace(_untried(one.row, found), after=one.after, refusal=one.refusal) for one in results
    ]
    return _result(address, changes, found, values=values, undo=undo)


def _wanted(plan: str, rest: ResourceManagerRest, now_s: float, store: str | None) -> Decision:
    """The plan in a file, or that of a policy."""
    policy = POLICIES.get(plan)
    if policy is not None and not Path(plan).exists():
        return policy(rest, store)
    if not Path(plan).suffix and plan != "-" and not Path(plan).exists():
        raise InvalidInput(
            f"there is no plan and no policy {plan!r}",
            where="PLAN",
            hint=suggestion(plan, list(POLICIES)) or f"give a file, or {', '.join(POLICIES)}",
        )
    return Decision(plan=load_steering_plan(plan, now_s))


def _undo_file(path: Path, changes: list[Change]) -> str | None:
    """Write the plan that takes the changes back; None if none of them can be taken back."""
    plan = undo_of(changes)
    if is_empty(plan):
        return None
    comment = f"Takes back what steer has changed: sluice steer {path.name}"
    text = workload_text(plan_document(plan), name=path.name, comment=comment)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InvalidInput(
            "it exists, and may be needed to go back", where=str(path), hint="give another --undo"
        ) from error
    except OSError as error:
        raise InvalidInput(
            f"it cannot be written: {error.strerror}", where=str(path), hint="give another --undo"
        ) from error
    return str(path)


def _result(
    address: str,
    changes: list[Change],
    found: Decision,
    *,
    values: list[SteeredValue] | None = None,
    is_dry_run: bool = False,
    undo: str | None = None,
) -> SteeringResult:
    rows = [row for change in changes for row in change.rows]
    tried = values or []
    untried = [_untried(row, found) for row in rows[len(tried) :]]
    return SteeringResult(
        address=address,
        is_dry_run=is_dry_run,
        values=(*tried, *untried),
        calls=tuple(Call(method=one.method, path=one.path, body=one.body) for one in changes),
        undo_file=undo,
        notes=tuple(found.notes),
    )


def _untried(row: Row, found: Decision) -> SteeredValue:
    return SteeredValue(
        target=row.target,
        setting=row.setting,
        before=row.before,
        wanted=row.wanted,
        reason=found.reasons.get(row.target, ""),
    )
