"""Command lines to paste, in terminals of any encoding."""

from __future__ import annotations

import shlex

from sluice.reporting.formatting import visible

_ASCII, _SPECIAL = 128, b"\\'"


def shell_words(*words: str, encoding: str = "utf-8") -> str:
    r"""A command line from which a shell reads back each word as it is, whatever is in it.

    encoding: of the terminal that shows it. A word that the terminal cannot show, or would obey,
    is written in bytes; bash, ksh and zsh read those.

    >>> print(shell_words("sluice", "why", "night load", "caf\u00e9", encoding="ascii"))
    sluice why 'night load' $'caf\303\251'
    """
    return " ".join(_quoted(word, encoding) for word in words)


def _quoted(word: str, encoding: str) -> str:
    is_shown = word.encode(encoding, "ignore").decode(encoding) == word == visible(word)
    if is_shown and "\n" not in word and "\t" not in word:
        return shlex.quote(word)
    letters = (
        chr(byte) if chr(byte).isprintable() and byte < _ASCII and byte not in _SPECIAL
        else f"\\{byte:03o}"
        for byte in word.encode(errors="surrogateescape")
    )  # fmt: skip
    return f"$'{''.join(letters)}'"
