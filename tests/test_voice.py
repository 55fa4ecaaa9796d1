"""All text that people read is plain English: words that mark the wrong register stay rare."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent
SOURCE = HOUSE / "src" / "sluice"

ODD = re.compile(
    r"\b(told|tells?|telling|stands?|stood|beside|anew|nobody|somebody|whoever|lest|thereof|hence"
    r"|mend(?:s|ed)?)\b",
    re.IGNORECASE,
)
CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def texts_of(path: Path) -> Iterator[str]:
    """The texts of a file: a page without its code blocks; strings and comments of a module."""
    content = path.read_text("utf-8")
    if path.suffix == ".md":
        yield CODE_BLOCK.sub("", content)
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def place_of(path: Path) -> str:
    """The package or page that a file belongs to: `engines/agent`, `docs/logs.md`."""
    relative = path.relative_to(SOURCE if path.is_relative_to(SOURCE) else HOUSE)
    return str(relative if path.suffix == ".md" else relative.parent)


def files() -> list[Path]:
    """Everything whose text people read."""
    pages = [*HOUSE.glob("*.md"), *(HOUSE / "docs").rglob("*.md")]
    return sorted([*SOURCE.rglob("*.py"), *pages])


def test_odd_words_are_not_used():
    odd: Counter[str] = Counter()
    paths = files()
    for path in paths:
        if ODD.search(path.read_text("utf-8")):  # perhaps in a name, or in a block of code
            for text in texts_of(path):
                odd[place_of(path)] += len(ODD.findall(text))

    assert len(paths) > 500
    assert {} == {place: count for place, count in odd.items() if count}


def test_the_measure_finds_odd_words():
    text = "It is told. Nobody stands there."

    assert ["told", "Nobody", "stands"] == ODD.findall(text)


def test_docstrings_are_sentences_and_no_telegrams():
    telegram = re.compile(r'^\s*"""(?:What|The same|As|Of)\b.*', re.MULTILINE)
    in_tests = re.compile(r'^\s*"""(?:What\b|The same of\b|As `).*', re.MULTILINE)
    paths = [*SOURCE.rglob("*.py"), *(HOUSE / "tests").rglob("*.py")]
    found = {}
    for path in sorted(paths):
        odd = telegram if path.is_relative_to(SOURCE) else in_tests
        if lines := odd.findall(path.read_text("utf-8")):
            found[str(path.relative_to(HOUSE))] = lines

    assert len(paths) > 1000
    assert {} == found


def test_names_of_tests_say_what_is_shown_or_reported():
    odd = re.compile(r"^\s*(?:async )?def (\w*_(?:told|tells?|telling)_\w*)", re.MULTILINE)
    tests = HOUSE / "tests"
    found = {
        name: str(path.relative_to(HOUSE))
        for path in sorted(tests.rglob("test_*.py"))
        for name in odd.findall(path.read_text("utf-8"))
    }
    assert {} == found
