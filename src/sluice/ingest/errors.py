"""Errors in a document, in one format: what is wrong, where, and how to fix it.

    cluster.yaml line 12, job "etl-7": deadline_s is -5. Give seconds after submission, above 0.

A `FieldError` names its field by its path. `raise_complaints` finds the lines, names the job,
class, member or type by its id, and sorts the errors by their position in the file.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from sluice.ingest.document import Document
from sluice.ingest.positions import Path, Place
from sluice.model.errors import InvalidInput

SHOWN_MAX = 5
SORTED_MAX = 4 * SHOWN_MAX  # limits the cost of finding positions and near names

_OWNERS = {
    "jobs": "job",
    "pools": "pool",
    "queues": "queue",
    "classes": "class",
    "members": "member",
    "vm_types": "type",
    "node_groups": "node group",
}
_SHOWN_CHARACTERS_MAX = 60


UNKNOWN_KEY = "unknown key"  # as `FieldError.what`; the message then names the key after it


class FieldError(NamedTuple):
    """`what` follows the field's name: "is -5"."""

    path: Path
    what: str
    hint: str


class Refusal(Exception):
    """A field error being raised; its path starts at the value that raised it."""

    def __init__(self, what: str, *, at: Path = (), hint: str) -> None:
        super().__init__(what)
        self.complaint = FieldError(at, what, hint)

    def under(self, path: Path) -> FieldError:
        """The error with `path` in front of its own path."""
        return self.complaint._replace(path=path + self.complaint.path)


class SeveralInvalid(InvalidInput):
    """Several errors in one file; `what`, `where` and `hint` are those of the first.

    has_more: there are further errors that are not listed.
    """

    def __init__(self, errors: Sequence[InvalidInput], *, has_more: bool) -> None:
        first = errors[0]
        super().__init__(first.what, where=first.where, hint=first.hint)
        self.errors = tuple(errors)
        self.has_more = has_more

    def __str__(self) -> str:
        lines = [str(error) for error in self.errors]
        if self.has_more:
            lines.append("There are more errors after these.")
        return "\n".join(lines)


def shown(value: object) -> str:
    """A value as a message shows it: short, printable, as written in the file.

    >>> [shown(value) for value in (True, None, "x", [1], -5)]
    ['true', 'null', '"x"', 'a list', '-5']
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    return quoted(value) if isinstance(value, str) else _cut(repr(value))


def quoted(text: str) -> str:
    """Text in double quotes, shortened, everything unprintable escaped."""
    short = text if len(text) <= _SHOWN_CHARACTERS_MAX else f"{text[:_SHOWN_CHARACTERS_MAX]}..."
    inner = repr(f"'{short}")[2:-1]  # the leading quote makes repr choose double quotes outside
    return f'"{inner}"'


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS_MAX else f"{text[:_SHOWN_CHARACTERS_MAX]}..."


def raise_complaints(document: Document, complaints: Sequence[FieldError]) -> NoReturn:
    """Raise InvalidInput for one error, SeveralInvalid for more, in the order of the file."""
    document.check_depth()
    found = list(dict.fromkeys(complaints))
    places = document.places(complaint.path for complaint in found[:SORTED_MAX])
    ordered = sorted(found[:SORTED_MAX], key=lambda complaint: places[complaint.path])
    errors = [_invalid_input(document, each, places[each.path]) for each in ordered[:SHOWN_MAX]]
    if len(errors) == 1:
        raise errors[0]
    raise SeveralInvalid(errors, has_more=len(found) > len(errors))


def _invalid_input(document: Document, complaint: FieldError, place: Place) -> InvalidInput:
    owner, field_path = _owner(document.value, complaint.path)
    where = f"{document.source} {document.line} {place.line}"
    subject = dotted(field_path)
    if owner:
        where = f"{where}, {owner}"
        subject = subject or f"this {_OWNERS[owner_list(complaint.path)]}"
    what = f"{subject or 'the file'} {complaint.what}"
    if complaint.what == UNKNOWN_KEY:
        what = f"{UNKNOWN_KEY} `{subject}`"
    return InvalidInput(what, where=where, hint=complaint.hint)


def owner_list(path: Path) -> str:
    """The list that a path passes through ("jobs", "node_groups"), "" if there is none."""
    for name, index in itertools.pairwise(path):
        if name in _OWNERS and isinstance(index, int):
            return str(name)
    return ""


def _owner(value: object, path: Path) -> tuple[str, Path]:
    """The owner of a path, by its id ('job "etl-7"'), and the rest of the path."""
    name = owner_list(path)
    if not name:
        return "", path
    length = path.index(name) + 2
    index = path[length - 1]
    for step in path[:length]:
        value = value[step]  # type: ignore[index]  # the path was found in this very value
    name_given = value.get("id") if isinstance(value, dict) else None
    if isinstance(name_given, str) and name_given:
        return f"{_OWNERS[name]} {quoted(name_given)}", path[length:]
    return f"{_OWNERS[name]} number {int(index) + 1}", path[length:]


def dotted(path: Path) -> str:
    """A path as people write it.

    >>> dotted(("maps", "rows", 3, 0))
    'maps.rows[3][0]'
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = (
                step
                if step.isprintable() and 0 < len(step) <= _SHOWN_CHARACTERS_MAX
                else quoted(step)
            )
            text += f".{name}" if text else name
    return text
