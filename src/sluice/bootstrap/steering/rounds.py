"""Rounds of steering: what policies want of a cluster now is made, or only listed, and recorded.

What is needed to go back is on the disk before a change is made. A round may be cut off at any
point: the next one compares with the cluster, so that nothing is made twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from sluice.bootstrap.steering.entries import RECORD_NAME
from sluice.bootstrap.steering.policies import POLICIES, open_applications
from sluice.bootstrap.steering.record import SteeringRecord
from sluice.bootstrap.steering.undo_file import UndoFile, is_empty, parts_of
from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.engines.yarn.steering.changes import Change
from sluice.engines.yarn.steering.steering import made, merged, planned
from sluice.ingest.steering_plans import wrong_sum
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.steering import SteeringPlan

UNDO_NAME = "undo.yaml"
TAKE_BACK_S = 40.0  # the changes that are left then stay in the undo file
_UNDO = "undo"


class SteeringRounds:
    """One cluster, and what is kept of it in a folder.

    applies: whether changes are made.  rate: the most calls a second.  stops: whether to end early.
    """

    def __init__(
        self,
        rest: ResourceManagerRest,
        folder: Path,
        *,
        applies: bool,
        rate: float,
        stops: Callable[[], bool] = lambda: False,
    ) -> None:
        self._rest, self._applies, self._rate, self._stops = rest, applies, rate, stops
        self.record = SteeringRecord(folder / RECORD_NAME)
        self.undo = UndoFile(folder / UNDO_NAME, rest.base)
        self.problems: Mapping[str, str] = {}

    def go_round(self, policies: Iterable[str]) -> None:
        """Ask each policy for its decisions, and make them. What fails is recorded."""
        problems: dict[str, str] = {}
        for name in policies:
            if self._stops():
                break
            try:
                if self.undo.plan.applications:
                    self.undo.drop_ended(open_applications(self._rest))
                decision = POLICIES[name](self._rest, None)
                self._decide(name, decision.plan, decision.reasons, problems)
            except SluiceError as error:
                problems[name] = str(error)
        for name, why in problems.items():
            self.record.problem(name, why)
        self.problems = problems

    def _decide(
        self, policy: str, plan: SteeringPlan, reasons: Mapping[str, str], problems: dict[str, str]
    ) -> None:
        """Make the parts of a plan, each on its own: what one lacks does not stop the others."""
        for part in parts_of(plan):
            if self._stops():
                return
            try:
                changes = self._planned(part)
            except InvalidInput as error:
                problems[policy] = str(error)
                continue
            if not self._applies:
                for row in (row for change in changes for row in change.rows):
                    self.record.list_only(policy, row, reasons.get(row.target, ""))
            elif changes and not any(map(self._was_refused, changes)):
                self.undo.keep(changes, self.record)
                self._make(policy, changes, reasons)

    def _planned(self, part: SteeringPlan) -> list[Change]:
        return planned(part, self._rest, time.time(), wrong_sum, on_gone=lambda _: None)

    def _was_refused(self, change: Change) -> bool:
        return any(map(self.record.was_refused, change.rows))

    def _make(self, policy: str, changes: list[Change], reasons: Mapping[str, str]) -> bool:
        """Whether all of the changes are made, and read back as they were wanted."""
        for row in (row for change in changes for row in change.rows):
            self.record.begin(policy, row, reasons.get(row.target, ""))
        results = made(changes, self._rest, calls_per_s=self._rate)
        for one in results:
            self.record.end(policy, one, reasons.get(one.row.target, ""))
        return all(one.is_done for one in results)

    def take_back(self, reason: str) -> None:
        """Make the undo plan, as far as the time reaches; the file keeps what is left."""
        give_up_at_s = time.monotonic() + TAKE_BACK_S
        left: list[SteeringPlan] = []
        for part in parts_of(self.undo.plan):
            if time.monotonic() > give_up_at_s:
                left.append(part)
                continue
            try:
                changes = self._planned(part)
                reasons = {row.target: reason for change in changes for row in change.rows}
                if not self._make(_UNDO, changes, reasons):
                    left.append(part)
            except SluiceError as error:
                self.record.problem(_UNDO, str(error))
                left.append(part)
        plan = merged(left)
        self.undo.write(SteeringPlan() if is_empty(plan) else plan)
