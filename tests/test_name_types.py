"""The names in the types of public functions are those that are registered."""

import inspect
from typing import get_args

import pytest

import sluice
from sluice.api import plan, pools, share
from sluice.bootstrap.engines.registry import BUILT_IN as ENGINES
from sluice.bootstrap.policy_classes import policy_names
from sluice.bootstrap.presets import AUTO as AUTO_PRESET
from sluice.bootstrap.presets import RECOMMENDED
from sluice.estimate.bounds import Bound, SingleWave
from sluice.estimate.calibration import LeaveOut
from sluice.estimate.nights import OneNight
from sluice.ingest.logs.registry import AUTO
from sluice.ingest.logs.registry import BUILT_IN as FORMATS
from sluice.model import name_types
from sluice.model.machines import Rent
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.solver import OrderingMethod
from sluice.planning.pareto.plan_search import PlanSearch
from sluice.planning.pareto.problem import IoModel
from sluice.planning.sharing.problem import POLICIES as SHARING
from sluice.planning.stages.solver import StageMethod
from sluice.policies import BUILT_IN
from sluice.policies.composition import AXES, PRESETS
from sluice.reporting.run.chart_kinds import CHART_KINDS
from sluice.reproductions import REPRODUCTIONS


def values(enum):
    return [one.value for one in enum]


def ours(kind):
    """The policies of a kind that come with Sluice; other installed packages may have more."""
    return [name for name in policy_names(kind) if f"{kind}.{name}" in BUILT_IN]


REGISTERED = {
    "TaskPolicyName": sorted({*ours("tasks"), *PRESETS}),
    "ReleasePolicyName": ours("release"),
    "AdmissionPolicyName": ours("admission"),
    "OrderName": AXES["order"],
    "GoalsName": AXES["goals"],
    "SlotsName": AXES["slots"],
    "CopiesName": AXES["copies"],
    "DataName": AXES["data"],
    "MachinesName": AXES["machines"],
    "PresetName": (*RECOMMENDED, AUTO_PRESET, *PRESETS),
    "VmPolicyName": pools.POLICIES,
    "VmServiceName": pools.SERVICES,
    "SharingPolicyName": SHARING,
    "LeftoversName": share.LEFTOVERS,
    "EngineName": ENGINES,
    "LogFormatName": (AUTO, *FORMATS),
    "ChartName": CHART_KINDS,
    "EvaluationName": REPRODUCTIONS,
    "BoundName": values(Bound),
    "OrderingMethodName": {*values(OrderingMethod), *values(StageMethod)},
    "ObjectiveName": values(Objective),
    "PlanSearchName": values(PlanSearch),
    "TuningName": plan.TUNINGS,
    "SingleWaveName": values(SingleWave),
    "IoModelName": values(IoModel),
    "RentName": values(Rent),
    "OneNightName": values(OneNight),
    "LeaveOutName": values(LeaveOut),
}
PARAMETERS = {
    "admission": "AdmissionPolicyName",
    "bound": "BoundName",
    "engine": "EngineName",
    "format": "LogFormatName",
    "io_model": "IoModelName",
    "leave_out": "LeaveOutName",
    "leftovers": "LeftoversName",
    "method": "OrderingMethodName",
    "objective": "ObjectiveName",
    "one_night": "OneNightName",
    "release": "ReleasePolicyName",
    "rent": "RentName",
    "rents": "RentName",
    "schedulers": "TaskPolicyName",
    "search": "PlanSearchName",
    "service": "VmServiceName",
    "single_wave": "SingleWaveName",
    "tasks": "TaskPolicyName",
    "tune": "TuningName",
}
FUNCTIONS = [
    (name, parameter)
    for name in vars(sluice)["__all__"]
    if inspect.isfunction(found := getattr(sluice, name))
    for parameter in inspect.signature(found).parameters
    if parameter in PARAMETERS
]
SAME_PARAMETER = {
    ("pools", "policy"): "VmPolicyName",
    ("reproduce", "name"): "EvaluationName",
    ("share", "policy"): "SharingPolicyName",
}


@pytest.mark.parametrize("name", REGISTERED)
def test_a_type_has_the_names_that_are_registered(name):
    assert sorted(REGISTERED[name]) == sorted(get_args(getattr(name_types, name)))


def test_every_type_is_compared():
    assert set(REGISTERED) == {name for name in vars(name_types) if name.endswith("Name")}


@pytest.mark.parametrize(("name", "parameter"), [*FUNCTIONS, *SAME_PARAMETER])
def test_a_public_function_names_the_type_of_what_it_takes(name, parameter):
    annotation = str(inspect.signature(getattr(sluice, name)).parameters[parameter].annotation)

    assert (SAME_PARAMETER.get((name, parameter)) or PARAMETERS[parameter]) in annotation


def test_a_chart_is_named_by_its_type():
    annotation = str(inspect.signature(sluice.RunResult.plot).parameters["kind"].annotation)

    assert "ChartName" in annotation


def test_every_kind_of_name_is_met_in_some_function():
    assert set(PARAMETERS) == {parameter for _, parameter in FUNCTIONS}
    assert len(FUNCTIONS) > 30
