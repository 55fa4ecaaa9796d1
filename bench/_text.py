"""Text to count words in: a Zipf-like vocabulary, the same bytes at each making, kept on disk."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

FILES = 4
WORDS_PER_LINE = 12
VOCABULARY = 1_100_000
EXPONENT = 1.05  # with these, 28 million words are about a million different ones
CHUNK_WORDS = 1_200_000
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def made(folder: Path, megabytes: int) -> list[Path]:
    """Four files that together hold so many megabytes (10^6 bytes), made if not there."""
    place = folder / f"text-{megabytes}"
    paths = [place / f"part-{number}.txt" for number in range(FILES)]
    if not (place / "made").exists():
        place.mkdir(parents=True, exist_ok=True)
        words = vocabulary()
        for number, path in enumerate(paths):
            _write(path, megabytes * 1_000_000 // FILES, words, seed=number)
        (place / "made").touch()
    return paths


def vocabulary() -> list[bytes]:
    """Different words of random letters, the frequent ones short, as in a language."""
    draw = random.Random(1)
    words: dict[bytes, None] = {}
    while len(words) < VOCABULARY:
        longest = 4 + len(words).bit_length() // 2
        length = draw.randint(longest // 2, longest)
        words["".join(draw.choices(LETTERS, k=length)).encode()] = None
    return list(words)


def _write(path: Path, size_bytes: int, words: list[bytes], seed: int) -> None:
    draw = np.random.Generator(np.random.PCG64(seed))
    weights = np.arange(1, len(words) + 1, dtype=np.float64) ** -EXPONENT
    bounds = np.cumsum(weights / weights.sum())
    left = size_bytes
    with path.open("wb") as file:
        while left > 0:
            ranks = np.searchsorted(bounds, draw.random(CHUNK_WORDS)).clip(max=len(words) - 1)
            block = _lines([words[rank] for rank in ranks.tolist()])
            if len(block) > left:
                file.write(block[: block.rfind(b"\n", 0, left) + 1])
                return
            left -= file.write(block)


def _lines(text: list[bytes]) -> bytes:
    starts = range(0, len(text), WORDS_PER_LINE)
    return b"\n".join(b" ".join(text[at : at + WORDS_PER_LINE]) for at in starts) + b"\n"
