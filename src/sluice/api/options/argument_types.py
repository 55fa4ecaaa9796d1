"""The types of arguments of public functions, for the type checker and for the check of calls.

The modules that declare options import from here under TYPE_CHECKING: it imports names of policies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sluice.bootstrap.policy_classes import Spec
from sluice.model.machines import PriceList
from sluice.model.name_types import (
    AdmissionPolicyName,
    BoundName,
    CopiesName,
    DataName,
    EngineName,
    GoalsName,
    IoModelName,
    LeaveOutName,
    LeftoversName,
    LogFormatName,
    MachinesName,
    ObjectiveName,
    OneNightName,
    OrderingMethodName,
    OrderName,
    PlanSearchName,
    PresetName,
    ReleasePolicyName,
    RentName,
    SharingPolicyName,
    SingleWaveName,
    SlotsName,
    TaskPolicyName,
    TuningName,
    VmPolicyName,
    VmServiceName,
)
from sluice.model.queue_tree import QueueTree
from sluice.model.workload import Workload


@runtime_checkable
class DataFrame(Protocol):
    """A data frame of any library, as a table of jobs."""

    @property
    def columns(self) -> Any:  # noqa: ANN401  # each library has its own type
        """Its columns, or their names."""


# A path, a workload, a document of one, or a table: a data frame, a list of dicts, a dict.
Source = str | Path | Workload | DataFrame | Mapping[Any, Any] | Sequence[Mapping[Any, Any]]

PriceSource = str | Path | PriceList | DataFrame | Mapping[Any, Any] | Sequence[Mapping[Any, Any]]

GivenSettings = Mapping[str, object] | Sequence[str]

OnMessage = Callable[[str], None]

__all__ = [
    "AdmissionPolicyName",
    "Any",
    "BoundName",
    "Callable",
    "Collection",
    "CopiesName",
    "DataName",
    "EngineName",
    "GivenSettings",
    "GoalsName",
    "IoModelName",
    "LeaveOutName",
    "LeftoversName",
    "LogFormatName",
    "MachinesName",
    "Mapping",
    "ObjectiveName",
    "OnMessage",
    "OneNightName",
    "OrderName",
    "OrderingMethodName",
    "Path",
    "PlanSearchName",
    "PresetName",
    "PriceList",
    "PriceSource",
    "QueueTree",
    "ReleasePolicyName",
    "RentName",
    "Sequence",
    "SharingPolicyName",
    "SingleWaveName",
    "SlotsName",
    "Source",
    "Spec",
    "TaskPolicyName",
    "TuningName",
    "VmPolicyName",
    "VmServiceName",
]
