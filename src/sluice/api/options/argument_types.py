"""The types of arguments of public functions, for the type checker and for the check of calls.

The modules that declare options import from here under TYPE_CHECKING: it imports what is heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sluice.api.sources import GivenSettings, PriceSource, Source
from sluice.bootstrap.policy_classes import Spec
from sluice.model.machines import PriceList
from sluice.model.name_types import (
    AdmissionPolicyName,
    BoundName,
    EngineName,
    IoModelName,
    LeaveOutName,
    LeftoversName,
    LogFormatName,
    ObjectiveName,
    OneNightName,
    OrderingMethodName,
    PlanSearchName,
    ReleasePolicyName,
    RentName,
    SharingPolicyName,
    SingleWaveName,
    TaskPolicyName,
    TuningName,
    VmPolicyName,
    VmServiceName,
)
from sluice.model.queue_tree import QueueTree

OnMessage = Callable[[str], None]

__all__ = [
    "AdmissionPolicyName",
    "Any",
    "BoundName",
    "Callable",
    "Collection",
    "EngineName",
    "GivenSettings",
    "IoModelName",
    "LeaveOutName",
    "LeftoversName",
    "LogFormatName",
    "Mapping",
    "ObjectiveName",
    "OnMessage",
    "OneNightName",
    "OrderingMethodName",
    "Path",
    "PlanSearchName",
    "PriceList",
    "PriceSource",
    "QueueTree",
    "ReleasePolicyName",
    "RentName",
    "Sequence",
    "SharingPolicyName",
    "SingleWaveName",
    "Source",
    "Spec",
    "TaskPolicyName",
    "TuningName",
    "VmPolicyName",
    "VmServiceName",
]
