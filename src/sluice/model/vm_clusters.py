"""The clusters of VMs that one job could get, and how long it would run on each.

A pool holds VMs of one type. A job with predictions runs on VMs of one pool; each prediction is a
cluster that it could get. Source: Cura, spec sections 2 and 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.model.ids import checked_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Predicted run time of a job on `vms` VMs of a type, without an error margin.

    error: margin of this prediction, 0 or more; None for the margin of all predictions.
    """

    vm_type: str
    vms: int
    time_s: float
    error: float | None = None

    def __post_init__(self) -> None:
        field = f"predictions.{self.vm_type}"
        if self.vms < 1:
            raise InvalidInput(f"{field} is for {self.vms} VMs", hint="give 1 VM or more")
        if not 0 < self.time_s < math.inf:
            raise InvalidInput(
                f"{field}.{self.vms} is {self.time_s}", hint="give finite seconds above 0"
            )
        if self.error is not None and not 0 <= self.error < math.inf:
            raise InvalidInput(f"error of {field} is {self.error}", hint="give 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class VmRequest:
    """A cluster that the customer names, in place of one that the provider chooses.

    start_within_s: the job starts at most that long after its submission; None without a limit.
    Source: Cura, sections 2.1 (immediate execution, delayed start) and 2.3.
    """

    vm_type: str
    vms: int
    start_within_s: float | None = None

    def __post_init__(self) -> None:
        checked_id(self.vm_type, what="type")
        if self.vms < 1:
            raise InvalidInput(f"vm_request is for {self.vms} VMs", hint="give 1 VM or more")
        within_s = self.start_within_s
        if within_s is not None and not 0 <= within_s < math.inf:
            raise InvalidInput(
                f"vm_request.start_within_s is {within_s}", hint="give finite seconds, 0 or more"
            )
