"""Which settings the reproductions, the examples, the benchmarks, the docs and the presets set.

`python -m tests.setting_users` prints them, a line each, with the reason of those that have none.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from sluice.bootstrap.settings import declarations
from sluice.model.settings import Setting

ROOT = Path(__file__).resolve().parent.parent
PLACES = {
    "reproductions": "src/sluice/reproductions",
    "examples": "examples",
    "demonstration": "src/sluice/cli/demonstration",
    "bench": "bench",
    "docs": "docs",
    "presets": "src/sluice/bootstrap/presets.py",
}
LISTS_ALL = "workload-file.md"  # the table of all settings is no use of one
_KINDS = {".py", ".yaml", ".yml", ".json", ".md", ".sh"}


@cache
def _texts() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Name and text of the files of each place."""
    found = {}
    for place, where in PLACES.items():
        path = ROOT / where
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        found[place] = tuple(
            (one.name, one.read_text(encoding="utf-8"))
            for one in files
            if one.suffix in _KINDS and one.name != LISTS_ALL
        )
    return found


def is_set(key: str, file: str, text: str) -> bool:
    """Whether a file gives the setting a value: as an argument, as a key, or after `--set`."""
    bare = key.rpartition(".")[2]
    if bare not in text:  # most files: a search for the name costs little
        return False
    either = f"(?:{re.escape(key)}|{bare})"
    # An argument has no spaces around its equals sign; an assignment to a local name has.
    written = rf"(?<![\w.-]){either}(?:=(?![= ])|[\"']:)"
    if not file.endswith(".py"):
        written += rf"|(?:^\s+|[{{,]\s*){either}: "
    return re.search(written, text, re.MULTILINE) is not None


def users(key: str) -> Iterator[str]:
    """The files that set a setting, each after its place."""
    for place, texts in _texts().items():
        for file, text in texts:
            if is_set(key, file, text):
                yield f"{place}/{file}"


def all_settings() -> Mapping[str, Setting]:
    """Every setting of `sluice settings` by its key."""
    return declarations().all_settings()


if __name__ == "__main__":
    for name, setting in all_settings().items():
        listed = list(users(name))
        print(f"{name}: {', '.join(listed[:4]) or f'no user; {setting.reason}'}")
