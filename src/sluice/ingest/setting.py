"""One setting: its kind, its range, and how a raw value becomes a checked one."""

from __future__ import annotations

import json
import math
from dataclasses import Field, dataclass, field
from enum import Enum
from typing import Any

from sluice.ingest.yaml_notation import plain_value
from sluice.model.errors import InvalidInput

NUMBER_MAX = 1e12


class SettingKind(Enum):
    """What a setting's value is; a span is a number or a range such as 3..6."""

    NUMBER = "a number"
    WHOLE = "a whole number"
    CHOICE = "a word"
    FLAG = "true or false"
    SPAN = "a number or a range such as 3..6"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key: what it means and which values it takes.

    low, high: the range; above, below: the same without the end itself.
    choices: the words of a choice.  may_be_none: whether `none` switches it off.
    """

    name: str
    kind: SettingKind
    default: object
    meaning: str
    low: float = 0.0
    high: float = NUMBER_MAX
    above: float = -math.inf
    below: float = math.inf
    choices: tuple[str, ...] = ()
    may_be_none: bool = False

    @property
    def hint(self) -> str:
        """What to give: "give a number from 0 to 1"."""
        none = ", or none" if self.may_be_none else ""
        if self.kind is SettingKind.CHOICE:
            return f"give {' or '.join(self.choices)}{none}"
        if self.kind is SettingKind.FLAG:
            return f"give {self.kind.value}"
        low = f"above {self.above:g}" if self.above >= self.low else f"from {self.low:g}"
        if self.below <= self.high:
            return f"give {self.kind.value} {low} to below {self.below:g}{none}"
        high = f" to {self.high:g}" if self.high < NUMBER_MAX else " up"
        if self.above >= self.low and self.high >= NUMBER_MAX:
            high = ""
        return f"give {self.kind.value} {low}{high}{none}"

    def checked(self, raw: object) -> object:
        """The value that `raw` means. Raises InvalidInput naming the setting."""
        if self.may_be_none and (raw is None or raw == "none"):
            return None
        if self.kind is SettingKind.CHOICE:
            if raw not in self.choices:
                raise self._refused(raw)
            return raw
        if self.kind is SettingKind.FLAG:
            return self._flag(raw)
        if self.kind is SettingKind.SPAN:
            return self._span(raw)
        return self._number(raw)

    def _flag(self, raw: object) -> bool:
        if not isinstance(raw, bool):
            raise self._refused(raw)
        return raw

    def _number(self, raw: object) -> float | int:
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise self._refused(raw)
        if not self.low <= raw <= self.high or not self.above < raw < self.below:
            raise self._refused(raw)
        if self.kind is not SettingKind.WHOLE:
            return float(raw)
        if raw != int(raw):
            raise self._refused(raw)
        return int(raw)

    def _span(self, raw: object) -> tuple[float, float]:
        ends: object = raw
        if isinstance(raw, str) and raw.count("..") == 1:
            ends = [plain_value(end.strip()) for end in raw.split("..")]
        if isinstance(ends, int | float):
            ends = [ends, ends]
        if not isinstance(ends, list | tuple) or len(ends) != 2:  # noqa: PLR2004  # a range has two ends
            raise self._refused(raw)
        low, high = self._number(ends[0]), self._number(ends[1])
        if low > high:
            raise self._refused(raw)
        return (low, high)

    def _refused(self, raw: object) -> InvalidInput:
        shown = json.dumps(raw, default=str)[:60] if not isinstance(raw, str) else repr(raw)[:60]
        # Nobody minds the bound that every number has before exceeding it.
        is_huge = isinstance(raw, int | float) and raw > self.high == NUMBER_MAX
        most = f", at most {NUMBER_MAX:g}" if is_huge else ""
        return InvalidInput(f"{self.name} is {shown}", hint=f"{self.hint}{most}")


def declared(kind: SettingKind, default: object, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # it stands for a value of any field's type
    """A field that declares a setting; limits are the other fields of `Setting`."""
    return field(default=default, metadata={"kind": kind, "meaning": meaning, **limits})


def number(default: float | None, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A field for a number; one that is None by default may be switched off."""
    limits.setdefault("may_be_none", default is None)
    return declared(SettingKind.NUMBER, default, meaning, **limits)


def whole(default: int | None, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A field for a whole number, likewise."""
    limits.setdefault("may_be_none", default is None)
    return declared(SettingKind.WHOLE, default, meaning, **limits)


def share(default: float, meaning: str) -> Any:  # noqa: ANN401  # as above
    """A field for a number from 0 to 1."""
    return declared(SettingKind.NUMBER, default, meaning, high=1.0)


def word(default: str, meaning: str, *choices: str) -> Any:  # noqa: ANN401  # as above
    """A field for one of some words."""
    return declared(SettingKind.CHOICE, default, meaning, choices=choices)


def flag(meaning: str) -> Any:  # noqa: ANN401  # as above
    """A field for a switch, off by default."""
    return declared(SettingKind.FLAG, default=False, meaning=meaning)


def setting_of(declared_field: Field[Any]) -> Setting:
    """The setting that a field made by `declared` tells."""
    return Setting(
        name=declared_field.name, default=declared_field.default, **declared_field.metadata
    )
