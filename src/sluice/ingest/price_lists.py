"""Price lists: a dated file of VM types, read once; nothing asks a network.

One is shipped with Sluice, an example to be edited: `example`. Its figures are round numbers of the
order of public clouds' prices, no provider's offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from sluice.ingest.document import read_document
from sluice.ingest.errors import FieldError, raise_complaints
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
    same_fields,
)
from sluice.ingest.nulls import without_nulls
from sluice.ingest.reading import read_source, source_name
from sluice.ingest.tables.prices import listed_types
from sluice.ingest.tables.rows import SUFFIXES, Table, is_table, read_table, table_of
from sluice.ingest.translation import validated
from sluice.model.machines import PriceList, Rent, VmOffer, VmShape

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


EXAMPLE = "example"
_EXAMPLE_FILE = "example_prices.yaml"


def load_price_list(source: object, needs: Mapping[str, float] | None = None) -> PriceList:
    """The price list in a file or table, or the shipped one for "example".

    needs: cpus and memory_bytes of the largest task, by which a table's types have containers.

    Raises InvalidInput naming file, line, field and type.
    """
    if source == EXAMPLE:
        return parse_price_list(example_text(), source=_EXAMPLE_FILE)
    if not isinstance(source, str | Path):
        return _of_table(table_of(source, "prices"), needs or {})
    content, name = read_source(str(source)), source_name(str(source))
    if is_table(content) or name.lower().endswith(SUFFIXES):
        return _of_table(read_table(content, name), needs or {})
    return parse_price_list(content, source=name)


def _of_table(table: Table, needs: Mapping[str, float]) -> PriceList:
    offers = tuple(
        VmOffer(
            vm_type=one.vm_type,
            rent=Rent.ON_DEMAND,
            shape=VmShape(map_slots=0, reduce_slots=0, containers=one.containers),
            hour_usd=one.hour_usd,
        )
        for one in listed_types(table, needs)
    )
    return PriceList(listed_on="", note=table.where, offers=offers)


def example_text() -> bytes:
    """The text of the shipped list, to copy and edit."""
    return (resources.files("sluice.ingest") / _EXAMPLE_FILE).read_bytes()


def parse_price_list(content: bytes | str, *, source: str = "price list") -> PriceList:
    """The price list in YAML or JSON text. Raises InvalidInput as `load_price_list` does."""
    document = read_document(content, source=source)
    shape = validated(document, PriceListShape, without_nulls(PriceListShape, document.value))
    found = list(_complaints(shape))
    if found:
        raise_complaints(document, found)
    offers = tuple(offer for one in shape.vm_types for offer in _offers(one))
    return PriceList(offers=offers, **same_fields(shape, PriceList))


def _complaints(shape: PriceListShape) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, one in enumerate(shape.vm_types):
        if one.id in seen:
            yield FieldError(("vm_types", index, "id"), "is given twice", "name each once")
        seen.add(one.id)
        if not list(_offers(one)):
            hint = "give on_demand_hour_usd, reserved_hour_usd or spot_hour_usd"
            yield FieldError(("vm_types", index), "has no price", hint)


def _offers(one: ListedTypeShape) -> Iterator[VmOffer]:
    shape = VmShape(
        map_slots=one.map_slots_per_vm,
        reduce_slots=one.reduce_slots_per_vm,
        containers=one.containers_per_vm,
    )
    terms = (
        (Rent.ON_DEMAND, one.on_demand_hour_usd, 1.0),
        (Rent.RESERVED, one.reserved_hour_usd, 1.0),
        (Rent.SPOT, one.spot_hour_usd, one.spot_slowdown),
    )
    for rent, hour_usd, slowdown in terms:
        if hour_usd is not None:
            yield VmOffer(
                vm_type=one.id,
                rent=rent,
                shape=shape,
                hour_usd=hour_usd,
                speed=one.speed / slowdown,
            )
