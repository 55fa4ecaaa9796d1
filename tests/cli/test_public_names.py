"""`import sluice`: the verbs and errors for programs."""

import ast
from pathlib import Path

import pytest

import sluice

NAMES = vars(sluice)["__all__"]


def test_every_public_name_can_be_had():
    assert [] == [name for name in NAMES if getattr(sluice, name, None) is None]
    assert set(NAMES) <= set(dir(sluice))


def test_the_stub_shows_the_same_names_from_the_same_rooms():
    """A type checker reads the stub, Python reads the table."""
    stub = ast.parse(Path(sluice.__file__).with_suffix(".pyi").read_text())
    said = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert sluice._HOMES == said


def test_an_unknown_name_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="simulat"):
        getattr(sluice, "simu" + "lat")


def test_every_error_is_of_one_family():
    """Callers need one `except`."""
    errors = [
        value for name in NAMES if isinstance(value := getattr(sluice, name), type)
        and issubclass(value, Exception)
    ]  # fmt: skip

    assert len(errors) >= 6
    assert all(issubclass(error, sluice.SluiceError) for error in errors)
