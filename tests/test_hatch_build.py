"""Building a wheel: when it compiles, and what it says. No module is really compiled here."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from tests import subject

HOUSE = subject.HOUSE
BUILT_FROM = ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "src", "examples")
FEW = (
    "sluice/core/indexes/group_sizes.py",
    "sluice/core/faults/repeats.py",
)  # they import nothing of ours
WHEEL = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
METADATA = """
import hatch_build, sys
print(hatch_build.prepare_metadata_for_build_wheel(sys.argv[1]))
print([name for name in sys.modules if name.partition(".")[0] in ("mypy", "mypyc", "setuptools")])
"""
# Compiles what comes before the translated modules, and fails at those.
FAILS_LATE = """#!/bin/sh
case "$*" in *__native*) exit 1; esac
while [ "$1" != -o ]; do shift; done
: > "$2"
"""


@pytest.fixture
def checkout(tmp_path):
    """The files that a wheel is built from."""
    copy = tmp_path / "checkout"
    copy.mkdir()
    for name in BUILT_FROM:
        source = HOUSE / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    return copy


def built(checkout, script, *, programs="", **more):
    """Return what a script prints on stdout and stderr, with only these programs on PATH."""
    for name in ("tmp", "dist"):
        (checkout.parent / name).mkdir()
    env = {name: value for name, value in os.environ.items() if name not in {"CC", "SLUICE_PURE"}}
    own = {
        "PATH": str(programs),
        "TMPDIR": str(checkout.parent / "tmp"),
        "PYTHONPATH": str(checkout),
    }
    child = subprocess.run(
        [sys.executable, "-c", script, str(checkout.parent / "dist")],
        cwd=checkout, env=env | own | more,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr[-3000:]
    return child.stdout, child.stderr


def files_of(folder):
    return {
        path.relative_to(folder) for path in folder.rglob("*") if "__pycache__" not in path.parts
    }


def assert_pure(checkout):
    """The one wheel is for every platform, and holds all modules as sources only."""
    (wheel,) = (checkout.parent / "dist").iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    modules = {path for path in files_of(checkout / "src") if path.suffix == ".py"}
    assert modules <= {Path(name) for name in names}
    assert [] == [name for name in names if name.endswith((".so", ".pyd"))]


def test_metadata_compiles_nothing(checkout):
    """An installer asks for it first, and again while it searches for versions that fit."""
    before = files_of(checkout)

    printed, _ = built(checkout, METADATA)

    folder, compilers = printed.splitlines()
    assert "[]" == compilers
    assert before == files_of(checkout)
    assert set() == files_of(checkout.parent / "tmp")
    dist = checkout.parent / "dist"
    assert {Path(folder), Path(folder, "METADATA")} == files_of(dist)
    found = Parser().parsestr((dist / folder / "METADATA").read_text("utf-8"))
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text("utf-8"))["project"]
    required = [line for line in found.get_all("Requires-Dist") if "extra ==" not in line]
    assert (project["name"], project["version"]) == (found["Name"], found["Version"])
    assert {line.lower() for line in project["dependencies"]} == {*map(str.lower, required)}


def test_a_pure_wheel_is_built_where_it_is_asked_for(checkout):
    _, said = built(checkout, WHEEL, programs=os.environ["PATH"], SLUICE_PURE="1")

    assert_pure(checkout)
    assert "Translating" not in said
    assert "without compiled modules" not in said


def test_without_a_compiler_the_wheel_is_pure_and_the_build_says_so(checkout):
    """At once: translating all modules first would take ten seconds for nothing."""
    _, said = built(checkout, WHEEL)

    assert_pure(checkout)
    assert "Sluice is built without compiled modules: " in said
    assert "Translating" not in said
    assert set() == files_of(checkout.parent / "tmp")


def test_a_build_says_what_it_does_and_a_compiler_that_fails_leaves_a_pure_wheel(checkout):
    hook = checkout / "hatch_build.py"
    text, found = re.subn(r"(?ms)^COMPILED = \(.*?^\)", f"COMPILED = {FEW!r}", hook.read_text())
    assert found == 1
    hook.write_text(text)
    programs = checkout.parent / "programs"
    programs.mkdir()
    compiler = programs / "cc"
    compiler.write_text(FAILS_LATE)
    compiler.chmod(0o755)

    _, said = built(checkout, WHEEL, programs="/usr/bin:/bin", CC=str(compiler))

    assert_pure(checkout)
    first, second, third = [line for line in said.splitlines() if line.strip()]
    assert "Translating 2 modules to C." == first
    assert re.fullmatch(
        r"Compiling \d+ C files on \d+ cores; SLUICE_PURE=1 leaves it out\.", second
    )
    assert third.startswith("Sluice is built without compiled modules: ")
