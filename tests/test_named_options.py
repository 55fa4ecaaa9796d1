"""Each setting and each option that users can give occurs in a test, by its name.

It shows no more than that: an option that no test even names can be ignored unnoticed. The table
of ranges, which names all numbers, does not count.
"""

import re

import pytest
import typer
from tests.subject import HOUSE

from sluice.bootstrap.settings import declarations
from sluice.cli.commands import with_all_commands

_WORDS = re.compile(r"-{0,2}\w[\w-]*"), re.compile(r"\b[a-z]\w*=")


@pytest.fixture(scope="module")
def words():
    """All words of the other tests, options with their dashes, and keywords with `=`."""
    texts = (
        path.read_text("utf-8")
        for path in (HOUSE / "tests").rglob("*.py")
        if path.name not in {"test_named_options.py", "test_setting_ranges.py"}
    )
    return {word for text in texts for pattern in _WORDS for word in pattern.findall(text)}


def test_each_setting_is_named_in_a_test(words):
    unnamed = {key for key in declarations().all_settings() if key.rpartition(".")[2] not in words}

    assert set() == unnamed


def commands(group, context, *words):
    """Each command below a group, with its words."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, context, *words, name)
        else:
            yield " ".join((*words, name)), command


def test_each_option_is_named_in_a_test(words):
    """By the command line, or as the keyword of the Python function."""
    group = typer.main.get_command(with_all_commands())
    found = dict(commands(group, group.make_context("sluice", [], resilient_parsing=True)))
    unnamed = {
        f"{command} {option}"
        for command, made in found.items()
        for one in made.params
        if f"{one.name}=" not in words
        for option in (*one.opts, *one.secondary_opts)
        if option.startswith("--") and option not in words
    }

    assert {"simulate", "workload day"} < found.keys()
    assert set() == unnamed
