"""An option is declared once: the command line and the Python function follow from it."""

import importlib
import inspect
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from dataclasses import dataclass, is_dataclass
from pathlib import Path

import pytest

import sluice
from sluice.api import options
from sluice.api.options.fields import count, flags_of, keywords, made_of, option, switch
from sluice.api.options.parsers import words
from sluice.cli.flattened import GivenNames, flattened
from sluice.model.errors import InvalidInput

ROOT = Path(__file__).parents[2]
NEW_LINE = '    remark: str | None = option("Words that go with the answer.", metavar="TEXT")\n'
PLACE = '"""Where the lengths of tasks come from."""\n\n'


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the sources with one line more: CONTRIBUTING.md shows it."""
    copy = tmp_path_factory.mktemp("copy") / "src"
    shutil.copytree(
        ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    )
    declared = copy / "sluice" / "api" / "options" / "scheduling.py"
    text = declared.read_text(encoding="utf-8")
    assert text.count(PLACE) == 1
    declared.write_text(text.replace(PLACE, PLACE + NEW_LINE), encoding="utf-8")
    return copy


def asked(changed, *arguments):
    """The output of Python with the changed sources."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(changed), "COLUMNS": "100", "NO_COLOR": "1"},
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_line_is_the_one_that_the_guide_shows():
    assert NEW_LINE.strip() in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_one_line_more_is_an_option_in_the_help(changed):
    helped = asked(changed, "-m", "sluice", "simulate", "--help")

    assert "--remark" in helped
    assert "Words that go with the answer." in helped


def test_one_line_more_is_an_option_of_the_answer(changed):
    """The provenance of a document names each setting that was given."""
    words = ("simulate", "examples/two_pools.yaml", "--remark", "night", "--json")
    document = json.loads(asked(changed, "-m", "sluice", *words))

    assert document["provenance"]["settings"]["remark"] == "night"


def test_one_line_more_is_a_keyword_of_the_function(changed):
    code = (
        "import inspect, sluice; print(inspect.signature(sluice.simulate).parameters['remark']);"
        "sluice.simulate('examples/two_pools.yaml', remark='night')"
    )

    assert asked(changed, "-c", code).strip() == "remark: 'str | None' = None"


def classes_of_options():
    for module in pkgutil.iter_modules(options.__path__):
        found = importlib.import_module(f"{options.__name__}.{module.name}")
        for name, one in vars(found).items():
            if is_dataclass(one) and one.__module__ == found.__name__:
                yield pytest.param(one, id=name)


CLASSES = list(classes_of_options())


@pytest.mark.parametrize("kind", CLASSES)
def test_no_two_options_of_a_command_have_one_flag(kind):
    flags = [flag.flag for _, flag in flags_of(kind)]
    names = [flag.name for _, flag in flags_of(kind)]

    assert len(set(flags)) == len(flags)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", CLASSES)
def test_without_arguments_options_are_their_defaults(kind):
    nothing = {flag.name: flag.default for _, flag in flags_of(kind)}

    assert vars(made_of(kind, nothing)) == vars(kind())


@dataclass(frozen=True, kw_only=True)
class Cooking:
    """Options to try."""

    minutes: int = count("How long.", 5, low=1)
    spices: list[str] = option("Which.", (), kind=str, reads=words)
    is_hot: bool = switch("Whether it is hot.", name="hot")


@flattened
def cook(dish: str = "rice", *, cooking: Cooking, names: GivenNames) -> int:
    """Return a number, as commands do."""
    assert dish == "rice"
    assert "hot" in names
    return cooking.minutes + len(cooking.spices)


def test_a_command_gets_its_options_as_one_value():
    parameters = inspect.signature(cook).parameters

    assert list(parameters) == ["dish", "minutes", "spices", "hot"]
    assert cook(dish="rice", minutes=7, spices="salt, dill", hot=True) == 9


def test_a_parser_names_the_flag():
    (_, flag), *_ = flags_of(Cooking)
    assert flag.parser is not None

    with pytest.raises(InvalidInput, match="--minutes"):
        flag.parser(flag.flag)("0")


def test_keywords_are_the_fields_that_are_options():
    assert keywords(Cooking(minutes=2)) == {"minutes": 2, "spices": (), "is_hot": False}


def test_an_argument_too_many_is_an_ordinary_type_error():
    with pytest.raises(TypeError, match=r"simulate\(\) got too many arguments"):
        sluice.simulate("a.yaml", "fair")  # type: ignore[call-arg]  # that is the point
    with pytest.raises(TypeError, match=r"simulate\(\) got an unexpected keyword argument 'taks'"):
        sluice.simulate("a.yaml", taks="fair")  # type: ignore[call-arg]  # that is the point
