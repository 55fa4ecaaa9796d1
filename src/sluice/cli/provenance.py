"""The provenance of the answer of a command: taken from its arguments and from what it read.

`CommandGroup` notes the command that it runs. The arguments are parsed again when an answer is
written, which reads no file.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.reporting.provenance import InputDigest, Provenance

# Arguments that are no settings: where answers go, and stores, whose addresses may hold a password.
_OUTPUTS = frozenset({"trace", "plot", "export", "out", "output", "as_json", "_as_json"})
_PLACES = frozenset({"store", "address", "processes"})
_SEEDS = frozenset({"seed", "seeds"})
_STDIN = "-"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class RunningCommand:
    """A command of the command line, with its unparsed arguments. parent: the group's context."""

    command: Any  # click's, or Typer's copy of it
    name: str
    arguments: tuple[str, ...]
    parent: Any

    @property
    def path(self) -> list[str]:
        """The words of the command below `sluice`: ["runs", "show"]."""
        return [*self.parent.command_path.split()[1:], self.name]

    def values(self) -> Mapping[str, Any]:
        """The values of its parameters by name, defaults included."""
        context = self.command.make_context(self.name, list(self.arguments), parent=self.parent)
        values: Mapping[str, Any] = context.params
        return values


_running: ContextVar[RunningCommand | None] = ContextVar("_running", default=None)


def note_command(command: RunningCommand) -> None:
    """Remember the command that is run now."""
    _running.set(command)


def flag_of(parameter: str) -> str | None:
    """The option of the running command that gives the parameter, such as `--deadline-s`."""
    running = _running.get()
    known = running.command.params if running is not None else ()
    flags = [one.opts[0] for one in known if one.name == parameter]
    return flags[0] if flags and flags[0].startswith("--") else None


def current_provenance() -> Provenance | None:
    """The provenance of what the running command answers; None outside of a command."""
    running = _running.get()
    if running is None:
        return None
    import sluice

    values = running.values()
    paths = list(_input_paths(values))
    return Provenance(
        version=sluice.__version__,
        command=" ".join(running.path),
        words=shlex.join(["sluice", *running.path, *map(_without_folder, running.arguments)]),
        inputs=tuple(_inputs(paths)),
        settings={
            name: _plain(value)
            for name, value in values.items()
            if name not in _OUTPUTS | _PLACES | _SEEDS
            and value not in (None, [], ())
            and not any(text in paths for text in _texts(value))
        },
        seeds=_seeds(values),
    )


def _seeds(values: Mapping[str, Any]) -> tuple[int, ...]:
    if isinstance(values.get("seeds"), int):
        return tuple(range(values["seeds"]))
    return (values["seed"],) if isinstance(values.get("seed"), int) else ()


def _texts(value: object) -> list[str]:
    held = value if isinstance(value, list | tuple) else [value]
    return [text for text in held if isinstance(text, str)]


def _input_paths(values: Mapping[str, Any]) -> Iterator[str]:
    """Arguments that name a file or folder that exists, or standard input; each once."""
    found: dict[str, None] = {}
    for name, value in values.items():
        if name in _OUTPUTS | _PLACES:
            continue
        for text in _texts(value):
            policy_file, separator, _ = text.rpartition(":")
            if text == _STDIN or _exists(text):
                found[text] = None
            elif separator and policy_file.endswith(".py") and _exists(policy_file):
                found[policy_file] = None
    return iter(found)


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False


def _inputs(paths: Sequence[str]) -> Iterator[InputDigest]:
    """The inputs with the digest of the bytes that were read, or else of their bytes now."""
    from sluice.ingest.reading import digests_read

    read = digests_read()
    for path in paths:
        digest = read.get(path) or _digest(Path(path))
        yield InputDigest(name=_without_folder(path), digest=digest)


def _digest(path: Path) -> str | None:
    try:
        if path.is_file():
            return f"sha256:{_file_digest(path)}"
        if not path.is_dir():
            return None  # a pipe or a device cannot be read again
        files = sorted(one for one in path.rglob("*") if one.is_file())
        lines = (f"{_file_digest(one)}  {one.relative_to(path).as_posix()}\n" for one in files)
        return f"sha256:{hashlib.sha256(''.join(lines).encode('utf-8', 'replace')).hexdigest()}"
    except OSError:
        return None


def _file_digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _without_folder(word: str) -> str:
    """A word of the command line, with a path reduced to its last part.

    >>> _without_folder("jobs/night.yaml"), _without_folder("--plot=out/a.html")
    ('night.yaml', '--plot=a.html')
    """
    flag, separator, value = word.partition("=") if word.startswith("--") else ("", "", word)
    if os.sep in value:
        value = Path(value).name or value
    return f"{flag}{separator}{value}"


def _plain(value: object) -> object:
    """The value for JSON, without folders."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    return _without_folder(str(value))
