"""The examples in docstrings, run with the names of their module as it is imported.

pytest's own collector would import a compiled module a second time, from its source.
"""

import ast
import doctest
import importlib
from pathlib import Path

import pytest
from tests.subject import PACKAGE

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PARSER = doctest.DocTestParser()


def examples_of(path: Path) -> list[tuple[str, str, int]]:
    """The docstrings of a file with an example in them, as (name, text, first line)."""
    found: list[tuple[str, str, int]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node, clean=False) or ""
            if ">>>" in text:
                name = "" if isinstance(node, ast.Module) else node.name
                found.append((name, text, node.body[0].lineno - 1))
    return found


# Not parsed before its test: each test process finds all of these names.
MODULES = {
    ".".join(["sluice", *path.relative_to(PACKAGE).with_suffix("").parts]): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>>" in path.read_text("utf-8")
}


def test_there_are_examples():
    assert len(MODULES) > 100


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_show(name):
    module = importlib.import_module(name.removesuffix(".__init__"))
    said: list[str] = []
    for inside, text, line in examples_of(MODULES[name]):
        example = PARSER.get_doctest(text, vars(module).copy(), f"{name}.{inside}", name, line)
        doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=said.append)

    assert [] == said
