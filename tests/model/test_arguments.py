"""Public functions refuse arguments of another type before any work begins."""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.cli.terminal import sluice as command

import sluice
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput

WORKLOAD = "{version: 1, cluster: {map_slots: 2}, jobs: [{id: a, maps: {tasks: 4, avg_s: 3}}]}"
FUNCTIONS = [
    name
    for name in vars(sluice)["__all__"]
    if inspect.isfunction(value := getattr(sluice, name)) and inspect.signature(value).parameters
]
PARAMETERS = [
    (name, parameter)
    for name in FUNCTIONS
    for parameter in inspect.signature(getattr(sluice, name)).parameters.values()
    if "Spec" not in parameter.annotation  # policies are classes and objects
]


def fitting(annotation):
    if any(word in annotation for word in ("[", "str", "Source", "Config")):
        return [] if "[" in annotation and not annotation.startswith("str |") else "x"
    return sluice.parse_workload(WORKLOAD)


@checked_arguments
def taken(
    word: str = "",
    count: int = 0,
    number: float | None = None,
    yes: bool = False,  # a parameter like those of public functions
    words: Sequence[str] = (),
    path: str | Path = "",
    table: Mapping[str, object] | None = None,
    on_end: Callable[[], None] | None = None,
) -> tuple[object, ...]:
    """Its arguments, as they arrive."""
    return word, count, number, yes, words, path, table, on_end


def test_there_are_functions_with_parameters_to_check():
    assert len(FUNCTIONS) > 30
    assert len(PARAMETERS) > 100


@pytest.mark.parametrize(
    ("name", "parameter"), PARAMETERS, ids=lambda one: getattr(one, "name", one)
)
def test_every_parameter_of_every_public_function_refuses_an_object(
    name, parameter, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # for a function that does not refuse it
    function = getattr(sluice, name)
    given = {
        other.name: fitting(other.annotation)
        for other in inspect.signature(function).parameters.values()
        if other.default is inspect.Parameter.empty
    }
    with pytest.raises(
        InvalidInput, match=f"^{parameter.name}: object is not (a|bytes|True)"
    ) as caught:
        function(**{**given, parameter.name: object()})

    assert "value" not in caught.value.hint, "each type has words"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"word": 7}, "word: 7 is not a text. Give a text."),
        ({"word": b"x"}, "word: b'x' is not a text. Give a text."),
        ({"count": True}, "count: True is not a whole number. Give a whole number."),
        ({"count": 1.0}, "count: 1.0 is not a whole number. Give a whole number."),
        ({"number": float("nan")}, "number: nan is not a number. Give a number."),
        ({"number": np.float64("nan")}, "number: nan is not a number. Give a number."),
        ({"number": False}, "number: False is not a number. Give a number."),
        ({"yes": "no"}, "yes: 'no' is not True or False. Give True or False."),
        ({"yes": 0}, "yes: 0 is not True or False. Give True or False."),
        ({"words": "abc"}, "words: 'abc' is not a list. Give a list."),
        ({"words": [1]}, "words: 1 is not a text. Give a text."),
        ({"path": b"x"}, "path: b'x' is not a text or a Path. Give a text or a Path."),
        ({"table": [("a", 1)]}, "table: list is not a mapping. Give a mapping."),
        ({"on_end": 1}, "on_end: 1 is not a function. Give a function."),
        ({"word": 10**99}, "word: int is not a text. Give a text."),
    ],
)
def test_what_is_refused_is_named_with_what_fits(given, said):
    with pytest.raises(InvalidInput) as caught:
        taken(**given)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "position", "arrives"),
    [
        ({"count": np.int64(3)}, 1, 3),
        ({"number": np.float32(0.5)}, 2, 0.5),
        ({"number": 3}, 2, 3),
        ({"number": Fraction(1, 2)}, 2, 0.5),
        ({"yes": np.bool_(True)}, 3, True),
        ({"words": ["a", np.str_("b")]}, 4, ("a", "b")),
        ({"words": (word for word in "ab")}, 4, ("a", "b")),
        ({"words": np.array(["a", "b"])}, 4, ("a", "b")),
        ({"path": Path("a")}, 5, Path("a")),
    ],
)
def test_numpy_scalars_and_iterables_arrive_as_pythons(given, position, arrives):
    found = taken(**given)[position]

    assert arrives == found
    assert type(arrives) is type(found)


def test_a_seed_from_numpy_can_be_written_as_json():
    result = sluice.simulate(sluice.parse_workload(WORKLOAD), seed=np.int64(3))

    assert 3 == json.loads(json.dumps(result.document()))["seed"]


def test_a_missing_argument_is_an_ordinary_type_error():
    with pytest.raises(TypeError, match=r"simulate\(\) missing 1 required .* 'source'"):
        sluice.simulate()  # type: ignore[call-arg]  # that is the point


def test_python_without_checks_is_refused():
    """Assertions find wrong decisions; -O removes them."""
    code = f"import sluice; sluice.parse_workload({WORKLOAD!r})"
    done = subprocess.run(
        [sys.executable, "-O", "-c", code], capture_output=True, check=False, text=True
    )

    assert 1 == done.returncode
    assert "sluice.parse_workload: Python runs with -O" in done.stderr


def test_errors_name_arguments_in_python_and_options_on_the_command_line():
    workload = {"version": 1, "cluster": {"map_slots": 1, "reduce_slots": 1},
                "jobs": [{"id": "a", "maps": {"tasks": 1, "avg_s": 1}}]}  # fmt: skip

    with pytest.raises(InvalidInput, match=r"^tasks: unknown policy 'fare'"):
        sluice.simulate(workload, tasks="fare")
    with pytest.raises(InvalidInput, match=r"Give deadline_s for the whole night"):
        sluice.size(workload)

    text = json.dumps(workload).encode()
    answer = command("simulate", "-", "--tasks", "fare", stdin=text)
    assert answer.code == 2
    assert answer.err.startswith("--tasks: unknown policy 'fare'")
