"""Find shell syntax in a command line that runs without a shell.

`run.mapper` and its relatives are split into words by the rules of a shell, but no shell runs them:
a pipe or a redirection would reach the program as an argument. Only unquoted characters count, so
`grep "a|b"` and `awk '{print $1}'` are ordinary command lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BLANKS = " \t\r\n"
_QUOTED = "\0"  # takes the place of a quoted character

_OPERATOR = re.compile(
    r"""
      \|.* | .*\|                # pipes, also without a blank on one side
    | &&?  | ;;?                 # whole words only: `&` and `;` are common inside arguments
    | .*;                        # `first; second`
    | (\d*|&)[<>].*              # redirections: `>`, `2>&1`, `&>file`, `<<EOF`
    """,
    re.VERBOSE,
)
_EXPANSION = re.compile(r"\$\(|\$\{|\$[A-Za-z_]|`")
_SCRIPT = re.compile(r"[|&;<>]|^[A-Za-z_]\w*=")  # in place of a program: `cat|sort`, `LANG=C sort`


class _Word(NamedTuple):
    """A word as it is written, and the same word with its quoted characters masked."""

    written: str
    bare: str


def shell_word(line: str) -> str | None:
    """The first word of a command line that only a shell understands; None if there is none.

    >>> shell_word("cut -f1 | sort"), shell_word("grep 'a|b' -e"), shell_word("cat $HOME/x")
    ('|', None, '$HOME/x')
    """
    for position, word in enumerate(_words(line)):
        is_script = position == 0 and _SCRIPT.search(word.bare)
        if is_script or _OPERATOR.fullmatch(word.bare) or _EXPANSION.search(word.bare):
            return word.written
    return None


def _words(line: str) -> Iterator[_Word]:
    """The words of a line, split as `shlex.split` does. Every quote must be closed."""
    start, bare, quote = 0, "", ""
    position = 0
    while position < len(line):
        character = line[position]
        if quote:
            bare += _QUOTED
            if character == "\\" and quote == '"':
                position += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            bare += _QUOTED
            quote = character
        elif character == "\\":
            bare += _QUOTED
            position += 1
        elif character in _BLANKS:
            if bare:
                yield _Word(line[start:position], bare)
            start, bare = position + 1, ""
        else:
            bare += character
        position += 1
    if bare:
        yield _Word(line[start:], bare)
