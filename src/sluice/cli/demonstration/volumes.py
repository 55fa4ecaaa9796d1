"""Real text that every machine has: the sources of Python's standard library, as a few volumes."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

VOLUME_BYTES = 1024 * 1024
# Not of the standard library, or on some machines only: distributions pack the tests apart.
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}


def sources(library: Path) -> Iterator[Path]:
    """The Python files of the library, in order."""
    for path in sorted(library.rglob("*.py")):
        if path.is_file() and LEFT_OUT.isdisjoint(path.relative_to(library).parts):
            yield path


def write_volumes(
    folder: Path,
    *,
    library: Path | None = None,
    volume_bytes: int = VOLUME_BYTES,
    count: int | None = None,
) -> list[Path]:
    """Join the sources to text files of about that size; returns them in order.

    A volume is called after the first and last module in it: `3_distutils-encodings.txt`.
    count: how many full volumes to write, repeating the sources as needed; None: each source once.
    """
    library = library or Path(sysconfig.get_path("stdlib"))
    written: list[Path] = []
    bound: list[Path] = []
    texts: list[bytes] = []
    found = list(sources(library))
    for source in chain.from_iterable(repeat(found)) if count and found else found:
        bound.append(source.relative_to(library))
        texts.append(_text(source))
        if sum(map(len, texts)) >= volume_bytes:
            written.append(_bind(folder, len(written) + 1, bound, texts))
            bound, texts = [], []
            if len(written) == count:
                break
    if bound:
        written.append(_bind(folder, len(written) + 1, bound, texts))
    return written


def _text(source: Path) -> bytes:
    """The source as UTF-8 whose last line ends; a few old modules are written in Latin-1."""
    text = source.read_bytes().decode("utf-8", "replace").encode()
    return text if text.endswith(b"\n") or not text else text + b"\n"


def _bind(folder: Path, number: int, bound: list[Path], texts: list[bytes]) -> Path:
    first, last = (Path(path.parts[0]).stem.strip("_") for path in (bound[0], bound[-1]))
    volume = folder / f"{number}_{first}-{last}.txt"
    volume.write_bytes(b"".join(texts))
    return volume
