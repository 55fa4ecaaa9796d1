"""Price lists: a dated file of VM types, read once; nothing asks a network.

One is shipped with Sluice, an example to be edited: `example`. Its figures are round numbers of the
order of public clouds' prices, no provider's offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from sluice.ingest.document import read_document
from sluice.ingest.errors import FieldError, raise_complaints
from sluice.ingest.file_schema.fields import same_fields
from sluice.ingest.file_schema.prices import ListedTypeShape, PriceListShape
from sluice.ingest.nulls import without_nulls
from sluice.ingest.reading import read_source, source_name
from sluice.ingest.tables.prices import listed_types
from sluice.ingest.tables.rows import SUFFIXES, Table, is_table, read_table, table_of
from sluice.ingest.translation import validated
from sluice.model.machines import PriceList, Rent, VmOffer, VmShape

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
