"""A price list as a file writes it: VM types, and what an hour of each costs on which terms."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from sluice.ingest.file_schema.fields import (
    Amount,
    AmountAboveZero,
    Identity,
    Seconds,
    Shape,
    SlotsAboveZero,
    Text,
    Version,
    key,
    required,
)

_FACTOR_MAX = 1e6
_DAY_LETTERS = len("2025-01-31")


def _day(text: str) -> str:
    from datetime import date

    try:
        is_day = len(text) == _DAY_LETTERS and bool(date.fromisoformat(text))
    except ValueError:
        is_day = False
    if not is_day:
        error = {"what": f'is "{text[:40]}", not a day', "hint": "write it as '2025-01-31'"}
        raise PydanticCustomError("refused", "{what}", error)
    return text


Day = Annotated[str, AfterValidator(_day)]
Factor = Annotated[float, Field(gt=0, le=_FACTOR_MAX)]


class ListedTypeShape(Shape):
    """One VM type: what it holds, how fast it is, what its hour costs."""

    id: Identity = required("the name of the type, 1 to 200 printable characters")
    map_slots_per_vm: SlotsAboveZero = required("a whole number of 1 or more")
    reduce_slots_per_vm: SlotsAboveZero = required("a whole number of 1 or more")
    containers_per_vm: SlotsAboveZero | None = key(
        "for jobs of phases, a whole number of 1 or more; by default all slots"
    )
    speed: Factor = key("how many times faster than where lengths were measured, above 0", 1.0)
    on_demand_hour_usd: Amount | None = key("dollars an hour, 0 or more")
    reserved_hour_usd: Amount | None = key("dollars an hour, 0 or more")
    spot_hour_usd: Amount | None = key("dollars an hour, 0 or more")
    spot_slowdown: float = key(
        "how many times longer tasks take for spot VMs are taken back, 1 or more",
        1.0,
        ge=1,
        le=_FACTOR_MAX,
    )


class PriceListShape(Shape):
    """Prices of one day."""

    version: Version = required("1, the version of this format: start the file with `version: 1`")
    listed_on: Day = required("the day of the prices in quotes, as in '2025-01-31'")
    note: Text = key("whose prices they are, as text", "")
    billing_s: Seconds | None = key("seconds of one paid unit of time, 0 for exact time")
    io_op_usd: Amount | None = key("dollars for an I/O operation, 0 or more")
    io_bytes_per_op: AmountAboveZero | None = key("bytes of an I/O operation, above 0")
    vm_types: list[ListedTypeShape] = required("a list of VM types with their prices", min_length=1)
