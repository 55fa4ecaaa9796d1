"""The lines of a record of steering, as they are read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

RECORD_NAME = "steering.jsonl"
BEGUN = "begun"  # the outcome of a change that is about to be made

Entry = dict[str, Any]


def entries_with(path: Path, words: str) -> Iterator[Entry]:
    """Decisions of a record whose lines have these words, the oldest first, as far as they end.

    path: of the record's file; the one that was put aside is read before it.
    """
    sought = json.dumps(words)[1:-1].encode()
    for each in (path.with_suffix(".old.jsonl"), path):
        with suppress(FileNotFoundError), each.open("rb") as file:
            for line in file:
                if sought in line:
                    with suppress(ValueError, KeyError, TypeError):  # a crash may leave half a line
                        entry = json.loads(line)
                        if entry["outcome"] != BEGUN:
                            yield entry
