"""The names in the types of public functions are those that are registered."""

import inspect

import pytest
from tests.name_types import FILE, text

import sluice

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


def test_the_types_have_the_names_that_are_registered():
    """Run `make names` after a change of what is registered."""
    assert text() == FILE.read_text("utf-8")


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
