"""Optional fields that are null: they count as not given, whatever their default.

The shapes themselves take null only where it is the default. Everything else is left out before.
"""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel

from sluice.ingest.translation import bare


def without_nulls(shape: Any, value: Any) -> Any:  # noqa: ANN401  # annotations, any value of a file
    """A value that is meant for a shape, without the optional fields that are null.

    shape: a model, or the annotation of a field. Keys that it does not know are kept: they are
    refused as such.
    """
    shape = bare(shape)
    if isinstance(value, list) and get_origin(shape) is list:
        (item,) = get_args(shape)
        return [without_nulls(item, one) for one in value]
    if not (isinstance(value, dict) and isinstance(shape, type) and issubclass(shape, BaseModel)):
        return value
    kept: dict[object, object] = {}
    for key, one in value.items():
        field = shape.model_fields.get(key)
        if field is None or (one is None and field.is_required()):
            kept[key] = one
        elif one is not None:
            kept[key] = without_nulls(field.annotation, one)
    return kept
