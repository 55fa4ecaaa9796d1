"""Fields of the model that are keys of the workload file under their own names.

Such a field is described once, where it is declared. From the description follow the key with its
check, its hint and its place in the published schema (`ingest/file_schema`), the field's value, the
check of a value that a program gives, and the key in a file that is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class FileKey:
    """One key. type_name: of its value, which may also be None if None is the default.

    meaning: for schema and messages.  is_above_zero: a number is above 0, and else at least 0.
    """

    name: str
    type_name: str
    default: object
    meaning: str
    is_above_zero: bool

    @property
    def description(self) -> str:
        """The meaning, with the range of a number."""
        if self.type_name not in ("float", "int"):
            return self.meaning
        return f"{self.meaning}, {'above 0' if self.is_above_zero else '0 or more'}"


def in_file(meaning: str, default: object = None, *, above_zero: bool = False) -> Any:  # noqa: ANN401  # the default of a field of any type
    """A field for a number, a text or a flag that the workload file has under the same name.

    above_zero: whether a number must be above 0; it is at least 0 in any case, and finite.
    """
    return field(default=default, metadata={"meaning": meaning, "is_above_zero": above_zero})


@cache
def file_keys(kind: type) -> tuple[FileKey, ...]:
    """The keys that a dataclass describes, in its order.

    >>> from sluice.model.job import Job
    >>> [key.description for key in file_keys(Job) if key.name == "weight"]
    ['a relative weight, above 0']
    """
    return tuple(
        FileKey(one.name, str(one.type).removesuffix(" | None"), one.default, **one.metadata)
        for one in fields(kind)
        if "meaning" in one.metadata
    )
