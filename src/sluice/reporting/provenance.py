"""Where a result comes from: version, inputs, settings and seeds.

It has no wall time and no folder, so the same command on the same files gives the same provenance
on any machine and at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

_DIGEST_SHOWN = 12  # characters; as many as a reader compares


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDigest:
    """A file that was read. name: without its folder; "-" for standard input.

    digest: "sha256:..." of its bytes, or of the names and bytes of all files of a folder; None if
    it could not be read again.
    """

    name: str
    digest: str | None

    def __str__(self) -> str:
        if self.digest is None:
            return self.name
        return f"{self.name} {_short(self.digest)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of a result.

    command: a verb, such as "simulate".  words: the command line, without folders.
    settings: options of the command by name, defaults included.  seeds: of random numbers; empty
    if the command draws none.
    """

    version: str
    command: str
    words: str
    inputs: tuple[InputDigest, ...]
    settings: Mapping[str, object]
    seeds: tuple[int, ...]

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        return {
            "version": self.version,
            "command": self.command,
            "inputs": [asdict(one) for one in self.inputs],
            "settings": dict(self.settings),
            "seeds": list(self.seeds),
        }

    def lines(self, digest: str | None = None) -> tuple[str, ...]:
        """The footer of a chart. digest: of the result, if it has one."""
        parts = [f"sluice {self.version}", *map(str, self.inputs)]
        if self.seeds:
            parts.append(_seeds_text(self.seeds))
        if digest is not None:
            parts.append(f"result {_short(digest)}")
        return self.words, "  ·  ".join(parts)


def _short(digest: str) -> str:
    kind, _, letters = digest.rpartition(":")
    return f"{kind}:{letters[:_DIGEST_SHOWN]}…"


def _seeds_text(seeds: tuple[int, ...]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    return f"seeds {seeds[0]} to {seeds[-1]}"
