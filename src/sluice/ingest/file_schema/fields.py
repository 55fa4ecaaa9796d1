"""The kinds of fields a workload file has, with their limits.

Numbers are strict: no text, no booleans, nothing infinite. A whole number may be written `3.0`, as
JSON Schema has it. Bounds keep sums and products of what a file says finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from operator import itemgetter
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from sluice.model.cluster import NODES_MAX, SLOTS_MAX
from sluice.model.described import FileKey, file_keys
from sluice.model.errors import InvalidInput
from sluice.model.ids import ID_LENGTH_MAX, checked_id
from sluice.model.job import TASKS_MAX
from sluice.model.resources import RESOURCE_NAMES
from sluice.model.settings import NUMBER_MIN

SECONDS_MAX = 1e12
AMOUNT_MAX = 1e15
COUNT_MAX = 10**9
BYTES_MAX = 2**50

OTHER_RESOURCES = "further resources by name, as in {gpu: 2}"
OTHER_RESOURCES_MAX = 20
PRINTABLE_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"


# A node has these in keys of their own.
_NO_FURTHER_RESOURCE = (*RESOURCE_NAMES, "slots")


class Shape(BaseModel):
    """Base of all shapes: unknown keys and look-alike types are refused."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=False
    )

    def __init_subclass__(
        cls,
        *,
        of: type | None = None,
        order: Sequence[str] = (),
        **config: Any,  # noqa: ANN401  # pydantic's own
    ) -> None:
        """of: the dataclass of the model whose described fields are keys, too.

        order: names of keys; those without a name there come after them.
        """
        super().__init_subclass__(**config)
        if of is None:
            return
        # Pydantic collects the fields after this, in the order of the annotations.
        own = cls.__annotations__
        for one in file_keys(of):
            if one.name not in own:
                own[one.name] = _annotation(one)
                setattr(cls, one.name, key(one.description, one.default))
        for name in [*order, *(name for name in own if name not in order)]:
            own[name] = own.pop(name)


def key(description: str, default: object = None, **limits: Any) -> Any:  # noqa: ANN401  # pydantic's own
    """A key that may be left out. description: what to give, for the schema and for messages."""
    return Field(default, description=description, **limits)


def required(description: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A key that must be given."""
    return Field(description=description, **limits)


def same_fields(shape: Shape, kind: type) -> dict[str, Any]:
    """The values of a shape for the fields of a dataclass of the model that have the same name."""
    names, values = _same_names(type(shape), kind)
    # Of a million jobs: getattr in a loop would take seconds more.
    return dict(zip(names, values(vars(shape)), strict=True))


@cache
def _same_names(
    shape: type[Shape], kind: type
) -> tuple[tuple[str, ...], Callable[[dict[str, Any]], tuple[Any, ...]]]:
    """The names, and a function that takes their values out of a mapping."""
    names = tuple(one.name for one in fields(kind) if one.name in shape.model_fields)
    return names, itemgetter(*names) if len(names) > 1 else lambda given: (given[names[0]],)


def given(*names: str) -> JsonDict:
    """The JSON Schema of a mapping with all of these fields; one that is null is not given."""
    return {
        "type": "object",
        "required": list(names),
        "properties": {name: {"not": {"type": "null"}} for name in names},
    }


def apart(*names: str) -> JsonDict:
    """The JSON Schema of a mapping without at least one of these fields."""
    return {"not": given(*names)}


def needs(name: str, other: str) -> JsonDict:
    """The JSON Schema of a mapping in which a field is not given without another one."""
    return {"anyOf": [apart(name), given(other)]}


def _annotation(one: FileKey) -> Any:  # noqa: ANN401  # annotations have no common type
    """The type of a key that the model describes; the unit at the end of a name gives its limit."""
    is_seconds = one.name.endswith("_s")
    kinds = {
        "float": (Seconds, SecondsAboveZero) if is_seconds else (Amount, AmountAboveZero),
        "int": (Count, CountAboveZero),
        "str": (Text, Text),
        "bool": (bool, bool),
    }
    kind = kinds[one.type_name][one.is_above_zero]
    return kind | None if one.default is None else kind


def _whole(value: object) -> object:
    return int(value) if type(value) is float and value.is_integer() else value


def _identity(text: str) -> str:
    try:
        return checked_id(text, what="id")
    except InvalidInput as error:
        what = error.what.removeprefix("id ")
        raise PydanticCustomError("refused", "{what}", {"what": what, "hint": error.hint}) from None


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError(
            "refused", "{what}", {"what": "holds a NUL character", "hint": "take it out"}
        )
    return text


def _not_tiny(number: float) -> float:
    """Refuse a number so small that a quotient by it is not finite."""
    if 0 < number < NUMBER_MIN:
        what = f"is {number!r}, too near to zero"
        hint = f"give {NUMBER_MIN:g} or more"
        raise PydanticCustomError("refused", "{what}", {"what": what, "hint": hint})
    return number


def _endless(value: object, check: ValidatorFunctionWrapHandler) -> float:
    return 0.0 if value == "none" else check(value)


def _further(amounts: dict[str, float]) -> dict[str, float]:
    for name in _NO_FURTHER_RESOURCE:
        if name in amounts:
            what = f"names {name!r}, which is not a further resource"
            hint = "write it next to `resources`, not in it"
            raise PydanticCustomError("refused", "{what}", {"what": what, "hint": hint})
    return amounts


# The bounds are part of the type, not of the field: there a `| None` would hide them from
# pydantic, which would then check them in Python and leave them out of the schema.
_FromFloat = BeforeValidator(_whole)
Slots = Annotated[int, Field(ge=0, le=SLOTS_MAX), _FromFloat]
SlotsAboveZero = Annotated[int, Field(ge=1, le=SLOTS_MAX), _FromFloat]
NodesAboveZero = Annotated[int, Field(ge=1, le=NODES_MAX), _FromFloat]
Tasks = Annotated[int, Field(ge=0, le=TASKS_MAX), _FromFloat]
TasksAboveZero = Annotated[int, Field(ge=1, le=TASKS_MAX), _FromFloat]
Count = Annotated[int, Field(ge=0, le=COUNT_MAX), _FromFloat]
CountAboveZero = Annotated[int, Field(ge=1, le=COUNT_MAX), _FromFloat]
BytesAboveZero = Annotated[int, Field(ge=1, le=BYTES_MAX), _FromFloat]
Version = Annotated[int, Field(ge=1, le=1), _FromFloat]
Seconds = Annotated[float, Field(ge=0, le=SECONDS_MAX), AfterValidator(_not_tiny)]
SecondsAboveZero = Annotated[float, Field(gt=0, le=SECONDS_MAX), AfterValidator(_not_tiny)]
Amount = Annotated[float, Field(ge=0, le=AMOUNT_MAX), AfterValidator(_not_tiny)]
AmountAboveZero = Annotated[float, Field(gt=0, le=AMOUNT_MAX), AfterValidator(_not_tiny)]
RoundLength = Annotated[
    float,
    Field(gt=0, le=SECONDS_MAX),
    AfterValidator(_not_tiny),
    WrapValidator(_endless, json_schema_input_type=float | Literal["none"]),
]
Identity = Annotated[
    str,
    AfterValidator(_identity),
    Field(
        json_schema_extra={"minLength": 1, "maxLength": ID_LENGTH_MAX, "pattern": PRINTABLE_PATTERN}
    ),
]
OtherResources = Annotated[
    dict[Identity, Amount],
    Field(max_length=OTHER_RESOURCES_MAX),
    AfterValidator(_further),
    Field(json_schema_extra={"not": {"anyOf": [given(name) for name in _NO_FURTHER_RESOURCE]}}),
]
Text = Annotated[str, AfterValidator(_without_nul)]
