"""Command lines run without a shell: what needs one is refused, and quoted text is left alone."""

import pytest

from sluice.ingest.run_specs import shell_word
from sluice.ingest.workload import parse_workload
from sluice.model.errors import InvalidInput

NEEDS_A_SHELL = [
    ("cut -f1 | sort", "|"),
    ("cut -f1 |sort", "|sort"),
    ("cut -f1| sort", "-f1|"),
    ("cat|sort", "cat|sort"),
    ("false || true", "||"),
    ("cd data && cat", "&&"),
    ("cat ; true", ";"),
    ("cat; true", "cat;"),
    ("sleep 9 &", "&"),
    ("sort > out", ">"),
    ("sort >out", ">out"),
    ("sort >> out", ">>"),
    ("cat < in", "<"),
    ("cat <<EOF", "<<EOF"),
    ("cat 2>&1", "2>&1"),
    ("cat 2>/dev/null", "2>/dev/null"),
    ("cat &>log", "&>log"),
    ("grep $(cat words)", "$(cat"),
    ("grep `cat words`", "`cat"),
    ("cat $HOME/x", "$HOME/x"),
    ("cat pre${NAME}post", "pre${NAME}post"),
    ("LC_ALL=C sort", "LC_ALL=C"),
]

NEEDS_NONE = [
    "cat",
    'grep "a|b"',
    "grep -E a|b",
    "awk '{print $1; x = 1 > 2}'",
    'awk "{print $1}"',
    "awk -F'|' '{print $2}'",
    "sed s/a/b/;s/c/d/",
    r"find . -name x -exec cat {} \;",
    r"grep \$HOME",
    "grep foo$",
    "curl http://host/?a=1&b=2",
    "python -c 'import os; print(os.environ[\"HOME\"])'",
    "sh -c 'cut -f1 | sort > /dev/null 2>&1'",
    'sh -c "cat && true"',
    "sort --key=1,1",
    "tr a-z A-Z",
    "grep '$(x)' \"`\"",
]


@pytest.mark.parametrize(("line", "word"), NEEDS_A_SHELL, ids=lambda each: each)
def test_shell_syntax_is_found_with_its_word(line, word):
    assert word == shell_word(line)


@pytest.mark.parametrize("line", NEEDS_NONE)
def test_ordinary_arguments_are_no_shell_syntax(line):
    assert shell_word(line) is None


@pytest.mark.parametrize("part", ["mapper", "combiner", "reducer"])
def test_a_workload_with_a_pipe_is_refused_with_the_line_to_write(part):
    run = {"input": ["a"], "output": "b", "mapper": "cat"} | {part: "cut -f1 | sort"}

    with pytest.raises(InvalidInput) as caught:
        parse_workload(f'{{"version": 1, "jobs": [{{"id": "a", "run": {run!r}}}]}}')

    message = str(caught.value)
    assert f'run.{part} holds "|", which needs a shell' in message
    assert "Write sh -c 'cut -f1 | sort', or put the word in quotes" in message


def test_what_the_hint_says_is_accepted():
    line = "grep 'a b' | sort > /dev/null"
    with pytest.raises(InvalidInput) as caught:
        parsed(line)

    advice = caught.value.hint.removeprefix("write ").removesuffix(
        ", or put the word in quotes if it is an argument"
    )

    assert parsed(advice).jobs[0].run.mapper == ("sh", "-c", line)


def parsed(mapper):
    document = f"""
version: 1
jobs:
  - id: a
    run:
      input: [a]
      output: b
      mapper: |
        {mapper}
"""
    return parse_workload(document)
