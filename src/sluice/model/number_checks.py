"""The check of described numbers that a program gives, see `model.described`."""

from __future__ import annotations

import math
from functools import cache

from sluice.model.described import file_keys
from sluice.model.errors import wrong_value


@cache
def _numbers(kind: type) -> tuple[tuple[str, bool], ...]:
    return tuple((key.name, key.is_above_zero) for key in file_keys(kind) if key.type_name != "str")


def check_numbers(value: object, where: str) -> None:
    """Raise InvalidInput for a described number that is not finite or below its range."""
    kind: type = type(value)
    for name, is_above_zero in _numbers(kind):
        held = getattr(value, name)
        if held is None or 0 < held < math.inf or (held == 0 and not is_above_zero):
            continue
        unit = " of seconds" if name.endswith("_s") else ""
        least = "above 0" if is_above_zero else "of at least 0"
        raise wrong_value(name, held, where, f"give a finite number{unit} {least}")
