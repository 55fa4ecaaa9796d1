"""Documents of dataclasses: the JSON values of the attributes that are named.

A result whose document has the names of its fields says these names once, in their order. Values
that are computed or renamed for the document are written out next to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter


def document_of(value: object, names: str) -> dict[str, object]:
    """Attributes of a value as plain JSON values.

    names: in the order of the document, parted by blanks. `a.b` becomes the key `b`, and `key=a.b`
    the key `key`.

    >>> document_of(1.5 + 2j, "real imaginary=imag")
    {'real': 1.5, 'imaginary': 2.0}
    """
    document: dict[str, object] = {}
    for name in names.split():
        key, _, path = name.rpartition("=")
        document[key or path.rpartition(".")[2]] = plain(attrgetter(path)(value))
    return document


def plain(value: object) -> object:
    """The value as JSON has it. What has a `document` decides itself.

    >>> plain({"a": (1, None)})
    {'a': [1, None]}
    """
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "document"):
        return value.document()
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
