"""The undo plan of a cluster that is steered over time: the values from before the first change."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from sluice.bootstrap.steering.record import SteeringRecord
from sluice.engines.yarn.steering.changes import Change
from sluice.engines.yarn.steering.steering import merged, undo_of
from sluice.ingest.steering_plans import load_steering_plan, plan_document
from sluice.model.steering import ApplicationWish, SteeringPlan
from sluice.reporting.exports.workload_text import workload_text
from sluice.store.journal_file import sync_folder
from sluice.store.private import open_private_file

_COMMENT = "Takes back what the service has changed: sluice steer {name} --address {address}"


class UndoFile:
    """path: of the file, which is there while something can be taken back."""

    def __init__(self, path: Path, address: str) -> None:
        """Read it, if it is there. Raises InvalidInput for one that was edited wrong."""
        self.path = path
        self._address = address
        self.plan = load_steering_plan(str(path), 0.0) if path.exists() else SteeringPlan()

    def keep(self, changes: Iterable[Change], record: SteeringRecord) -> None:
        """Add what takes these changes back. It is on the disk when this returns.

        A value of the file stays, unless others have changed it since: theirs takes its place.
        """
        changes = list(changes)
        old = self.plan
        for row in (row for change in changes for row in change.rows):
            if record.is_own(row) is False:
                old = _without(old, row.target, row.setting)
        self.write(merged((undo_of(changes), old)))

    def drop_ended(self, open_ids: Collection[str]) -> None:
        """Forget applications that are over."""
        left = {one: wish for one, wish in self.plan.applications.items() if one in open_ids}
        self.write(replace(self.plan, applications=left))

    def write(self, plan: SteeringPlan) -> None:
        """Put a plan in its place; no file for an empty one."""
        if plan == self.plan:
            return
        if is_empty(plan):
            self.path.unlink(missing_ok=True)
        else:
            comment = _COMMENT.format(name=self.path, address=self._address)
            text = workload_text(plan_document(plan), name=self.path.name, comment=comment)
            draft = self.path.with_suffix(".new")
            descriptor = open_private_file(draft, os.O_WRONLY | os.O_TRUNC)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
        sync_folder(self.path.parent)
        self.plan = plan


def is_empty(plan: SteeringPlan) -> bool:
    """Whether a plan changes nothing."""
    return replace(plan, skips_gone=False) == SteeringPlan()


def parts_of(plan: SteeringPlan) -> Iterator[SteeringPlan]:
    """The plan in parts that can be made each on its own: all queues are one of them."""
    rest = replace(plan, applications={}, kill_attempts=(), skips_gone=True)
    if not is_empty(rest):
        yield rest
    for app_id, wish in plan.applications.items():
        yield SteeringPlan(applications={app_id: wish}, skips_gone=True)
    for attempt in plan.kill_attempts:
        yield SteeringPlan(kill_attempts=(attempt,), skips_gone=True)


def _without(plan: SteeringPlan, target: str, setting: str) -> SteeringPlan:
    """The plan without one value of a queue or an application."""
    if target in plan.queues:
        keys = {key: one for key, one in plan.queues[target].items() if key != setting}
        return replace(plan, queues={**plan.queues, target: keys})
    wish = plan.applications.get(target)
    if wish is None or setting not in {"priority", "queue"}:
        return plan
    left = ApplicationWish(
        priority=None if setting == "priority" else wish.priority,
        queue=None if setting == "queue" else wish.queue,
    )
    return replace(plan, applications={**plan.applications, target: left})
