"""The examples in the documents run, and print what the documents show.

Two kinds of fenced block are examples: `pycon` (a Python session, run as a doctest) and `console`
(lines that start with `$ sluice`, each followed by what it prints on stdout). In both, `...`
matches any text. The commands of a document run one after the other, in a copy of the files that
a checkout has; so real runs write their output there.
"""

import doctest
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from tests import warm_start

HOUSE = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    HOUSE / "README.md",
    HOUSE / "CONTRIBUTING.md",
    *sorted((HOUSE / "docs").rglob("*.md")),
]

BLOCK = re.compile(r"^```(?P<kind>pycon|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ sluice (?P<words>.*)\n(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
QUICK_COMMANDS_MAX = 7  # each starts an interpreter
WIDTH = 100  # columns, so that a table looks the same in every terminal


def blocks(document: Path, kind: str) -> str:
    """All blocks of one kind, joined: a later one may use what an earlier one made."""
    found = BLOCK.finditer(document.read_text("utf-8"))
    return "\n".join(block["text"] for block in found if block["kind"] == kind)


def with_commands() -> list[object]:
    """The documents; those with many commands are slow."""
    return [
        pytest.param(
            document,
            id=str(document.relative_to(HOUSE)),
            marks=[pytest.mark.slow] if len(commands_of(document)) > QUICK_COMMANDS_MAX else [],
        )
        for document in DOCUMENTS
    ]


def commands_of(document: Path) -> list[re.Match[str]]:
    return list(COMMAND.finditer(blocks(document, "console")))


@pytest.fixture
def checkout(tmp_path):
    """A folder with the files that the examples read."""
    folder = tmp_path / "checkout"
    for name in ("examples", "docs", "tests/data/logs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(HOUSE / name, folder / name, ignore=ignored)
    for path in (HOUSE / "LICENSE", *HOUSE.glob("*.md")):
        shutil.copy(path, folder)
    return folder


def printed_by(words: str, checkout: Path, home: Path) -> str:
    """Run `sluice WORDS` in a checkout, and return its stdout."""
    plain = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb", "SLUICE_HOME": str(home)}
    command = [sys.executable, "-m", "sluice", *shlex.split(words)]
    answer = warm_start.run(
        command, cwd=checkout, env=os.environ | plain, capture_output=True, check=False, text=True
    )
    return str(answer.stdout)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(HOUSE)))
def test_python_examples_give_what_they_show(document):
    session = doctest.DocTestParser().get_doctest(
        blocks(document, "pycon"), {}, document.name, str(document), 0
    )
    runner = doctest.DocTestRunner(optionflags=LENIENT)

    assert 0 == runner.run(session).failed


@pytest.mark.parametrize("document", with_commands())
def test_commands_print_what_they_show(document, checkout, tmp_path):
    for example in commands_of(document):
        printed = printed_by(example["words"], checkout, tmp_path / "home")
        alike = doctest.OutputChecker().check_output(example["printed"], printed, LENIENT)

        assert alike, f"$ sluice {example['words']}\n{printed}"
