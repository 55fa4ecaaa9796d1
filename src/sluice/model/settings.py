"""How settings are declared: one frozen dataclass for each owner, one field for each setting.

A field made by `setting` (or by `number`, `share`, `word` ...) carries range, default and
description. A plain field, `decay: float = 0.5`, is a setting too, of any value of its type.
`settings_of_class` returns the declarations of a class; `Setting.checked` checks a value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from enum import Enum
from types import MappingProxyType, UnionType
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from sluice.model.errors import InvalidInput

T = TypeVar("T")

NUMBER_MAX = 1e12
NUMBER_MIN = 1e-100  # smaller ones are refused: what is divided by a number stays finite
NUMBERS_MAX = 10_000  # in one list
PAUSE_S_MIN = 0.001  # between two looks at anything; below, a run would consist of looks

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def check_pause(name: str, pause_s: float) -> None:
    """Raise InvalidInput if a pause is neither 0, which means none, nor long enough to end."""
    if 0 < pause_s < PAUSE_S_MIN:
        raise InvalidInput(
            f"{name} is {pause_s}", where="settings", hint=f"give 0, or at least {PAUSE_S_MIN}"
        )


class SettingKind(Enum):
    """The kind of a setting's value; a span is a number or a range such as 3..6."""

    NUMBER = "a number"
    WHOLE = "a whole number"
    CHOICE = "a word"
    FLAG = "true or false"
    SPAN = "a number or a range such as 3..6"
    TEXT = "text"
    NUMBERS = "a list of numbers such as [12, 30]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key: what it means and which values it takes.

    low, high: the range; above, below: the same without the end itself.
    choices: the words of a choice.  may_be_none: whether `none` switches it off.
    needs: what another setting of the same owner must be for this one to have an effect, such as
    "mode=pd", "policy=fti|ati", or "p_slow" for any value that is not zero, false or none.
    reason: why it exists, if no reproduction, example, benchmark or preset sets it.
    """

    name: str
    kind: SettingKind
    default: object
    meaning: str = ""
    low: float = 0.0
    high: float = NUMBER_MAX
    above: float = -math.inf
    below: float = math.inf
    choices: tuple[str, ...] = ()
    may_be_none: bool = False
    needs: str = ""
    reason: str = ""

    @property
    def hint(self) -> str:
        """Return what to give: "give a number from 0 to 1"."""
        none = ", or none" if self.may_be_none else ""
        if self.kind is SettingKind.CHOICE:
            return f"give {' or '.join(self.choices)}{none}"
        if (
            self.kind in {SettingKind.FLAG, SettingKind.TEXT, SettingKind.NUMBERS}
            or self._is_unbounded
        ):
            return f"give {self.kind.value}{none}"
        low = f"above {self.above:g}" if self.above >= self.low else f"from {self.low:g}"
        if self.below <= self.high:
            return f"give {self.kind.value} {low} to below {self.below:g}{none}"
        high = f" to {self.high:g}" if self.high < NUMBER_MAX else " up"
        if self.above >= self.low and self.high >= NUMBER_MAX:
            high = ""
        return f"give {self.kind.value} {low}{high}{none}"

    @property
    def _is_unbounded(self) -> bool:
        return self.low == -NUMBER_MAX and self.high == NUMBER_MAX and self.above < self.low

    def read(self, text: str) -> object:
        """The value that a person wrote: `.1`, `10%` for a share, `Late`, `yes`.

        >>> Setting(name="f", kind=SettingKind.NUMBER, default=0.0, high=1.0).read("10%")
        0.1
        """
        word = text.strip()
        if self.may_be_none and word.lower() in ("none", ""):
            return None
        if self.kind is SettingKind.FLAG:
            return self.checked(_FLAGS.get(word.lower(), word))
        if self.kind is SettingKind.CHOICE:
            near = [choice for choice in self.choices if choice.lower() == word.lower()]
            return self.checked(near[0] if near else word)
        if self.kind is SettingKind.TEXT:
            return text
        if self.kind in {SettingKind.SPAN, SettingKind.NUMBERS}:
            return self.checked(_listed(word))
        return self.checked(self._amount(word))

    def _amount(self, word: str) -> object:
        """The number in a word; the word itself if there is none."""
        is_share = self.high == 1 and word.endswith("%")
        found = as_number(word.removesuffix("%")) if is_share else as_number(word)
        if found is None:
            return word
        # Divided as written, so that 10% is the very number that 0.1 is.
        return float(f"{word.removesuffix('%')}e-2") if is_share else found

    def checked(self, raw: object) -> object:
        """The value that `raw` means. Raises InvalidInput naming the setting."""
        if self.may_be_none and (raw is None or raw == "none"):
            return None
        if self.kind in {SettingKind.CHOICE, SettingKind.TEXT}:
            return self._words(raw)
        if self.kind is SettingKind.FLAG:
            return self._flag(raw)
        if self.kind is SettingKind.SPAN:
            return self._span(raw)
        if self.kind is SettingKind.NUMBERS:
            return self._several(raw)
        return self._number(raw)

    def _words(self, raw: object) -> str:
        is_known = self.kind is SettingKind.TEXT or raw in self.choices
        if not (is_known and isinstance(raw, str)):
            raise self._refused(raw)
        return raw

    def _flag(self, raw: object) -> bool:
        if not isinstance(raw, bool):
            raise self._refused(raw)
        return raw

    def _number(self, raw: object) -> float | int:
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise self._refused(raw)
        if not self.low <= raw <= self.high or not self.above < raw < self.below:
            raise self._refused(raw)
        if 0 < abs(raw) < NUMBER_MIN:
            raise self._refused(raw)
        if self.kind is not SettingKind.WHOLE:
            return float(raw)
        if raw != int(raw):
            raise self._refused(raw)
        return int(raw)

    def _span(self, raw: object) -> tuple[float, float]:
        ends: object = raw
        if isinstance(raw, str) and raw.count("..") == 1:
            ends = [as_number(end.strip()) for end in raw.split("..")]
        if isinstance(ends, int | float):
            ends = [ends, ends]
        if not isinstance(ends, list | tuple) or len(ends) != 2:  # noqa: PLR2004  # a range has two ends
            raise self._refused(raw)
        low, high = self._number(ends[0]), self._number(ends[1])
        if low > high:
            raise self._refused(raw)
        return (low, high)

    def _several(self, raw: object) -> tuple[float, ...]:
        listed = raw if isinstance(raw, list | tuple) else [raw]
        if len(listed) > NUMBERS_MAX:
            raise self._refused(raw)
        try:
            return tuple(float(self._number(one)) for one in listed)
        except InvalidInput:
            raise self._refused(raw) from None

    def _refused(self, raw: object) -> InvalidInput:
        shown = json.dumps(raw, default=str)[:60] if not isinstance(raw, str) else repr(raw)[:60]
        # The bound that every number has is only named to those who exceed it.
        is_huge = isinstance(raw, int | float) and raw > self.high == NUMBER_MAX
        most = f", at most {NUMBER_MAX:g}" if is_huge else ""
        return InvalidInput(f"{self.name} is {shown}", hint=f"{self.hint}{most}")

    def is_met(self, values: object) -> bool:
        """Whether another setting has the value that this one needs, if it needs any.

        values: the settings object of the owner.
        """
        key, _, wanted = self.needs.partition("=")
        if not key:
            return True
        value = getattr(values, key)
        if not wanted:
            return value not in (None, 0, False)
        return written(value) in wanted.split("|")


def as_number(text: str) -> float | int | None:
    """The number in a text, as people write them; None if there is none.

    >>> as_number(".1"), as_number("1e3"), as_number("7"), as_number("nan")
    (0.1, 1000.0, 7, None)
    """
    if not text.isascii() or not _NUMBER.fullmatch(text) or len(text) > 400:  # noqa: PLR2004  # no number is longer
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _listed(text: str) -> object:
    """A list in brackets, or the text or number itself."""
    if text.startswith("["):
        try:
            found: object = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return found
    number = as_number(text)
    return text if number is None else number


def written(value: object) -> str:
    """A value as it is written after the equals sign."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple) and len(value) != 2:  # noqa: PLR2004  # a range has two ends
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, tuple):
        return "..".join(map(written, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class SettingsGroup:
    """A base for classes of settings that several owners share."""

    def completed(self, given: frozenset[str]) -> Self:
        """These settings with all that they imply. given: names of those that were set."""
        return self


# --- declaring a field ----------------------------------------------------------------------------


def declared(kind: SettingKind, default: object, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # the default of a field of any type
    """A field that declares a setting; limits are the other fields of `Setting`."""
    return field(default=default, metadata={"kind": kind, "meaning": meaning, **limits})


def setting(
    default: object,
    description: str = "",
    *,
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    needs: str = "",
    reason: str = "",
) -> Any:  # noqa: ANN401  # as above
    """A field for a setting; its kind follows from the default.

    least, most: the range of a number.  choices: the words that a text may be.
    needs, reason: see `Setting`.
    """
    limits: dict[str, Any] = {"needs": needs, "reason": reason}
    if choices:
        return declared(SettingKind.CHOICE, default, description, choices=choices, **limits)
    if isinstance(default, bool):
        return declared(SettingKind.FLAG, default, description, **limits)
    if isinstance(default, str):
        return declared(SettingKind.TEXT, default, description, **limits)
    limits["low"] = -NUMBER_MAX if least is None else least
    limits["high"] = NUMBER_MAX if most is None else most
    kind = SettingKind.WHOLE if isinstance(default, int) else SettingKind.NUMBER
    return declared(kind, default, description, may_be_none=default is None, **limits)


def number(default: float | None, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A field for a number; one that is None by default may be switched off."""
    limits.setdefault("may_be_none", default is None)
    return declared(SettingKind.NUMBER, default, meaning, **limits)


def whole(default: int | None, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A field for a whole number; one that is None by default may be switched off."""
    limits.setdefault("may_be_none", default is None)
    return declared(SettingKind.WHOLE, default, meaning, **limits)


def numbers(meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A field for a list of numbers, empty by default."""
    return declared(SettingKind.NUMBERS, (), meaning, **limits)


def share(default: float, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A field for a number from 0 to 1."""
    return declared(SettingKind.NUMBER, default, meaning, high=1.0, **limits)


def word(default: str, meaning: str, *choices: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A field for one of some words."""
    return declared(SettingKind.CHOICE, default, meaning, choices=choices, **limits)


def flag(meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    """A field for a switch, off by default."""
    return declared(SettingKind.FLAG, default=False, meaning=meaning, **limits)


# --- reading a declaration ------------------------------------------------------------------------


def setting_of(declared_field: Field[Any]) -> Setting:
    """The setting that a field made by `declared` declares."""
    return Setting(
        name=declared_field.name, default=declared_field.default, **declared_field.metadata
    )


def of_mapping(kind: type[T], values: Mapping[str, Any]) -> T:
    """The settings of a class out of values by name, of which others may be there too."""
    names = {one.name for one in fields(kind)}  # type: ignore[arg-type]  # a dataclass
    return kind(**{name: value for name, value in values.items() if name in names})


def settings_of_class(kind: type[Any]) -> Mapping[str, Setting]:
    """The settings that a class declares, by name. Raises InvalidInput naming the field."""
    if not is_dataclass(kind):
        return MappingProxyType({})
    return MappingProxyType({one.name: _setting_of_field(one, kind) for one in fields(kind)})


def _setting_of_field(one: Field[Any], kind: type[Any]) -> Setting:
    if "kind" in one.metadata:
        return setting_of(one)
    where = f"{kind.__qualname__}.{one.name}"
    if one.default is MISSING:
        raise InvalidInput("a setting has no default", where=where, hint="give it a default")
    try:
        wanted = get_type_hints(kind)[one.name]
    except (NameError, TypeError):
        wanted = type(one.default)
    may_be_none = False
    if get_origin(wanted) in {Union, UnionType}:
        others = [each for each in get_args(wanted) if each is not type(None)]
        may_be_none = len(others) < len(get_args(wanted))
        wanted = others[0]
    if get_origin(wanted) is Literal:
        return Setting(
            name=one.name,
            kind=SettingKind.CHOICE,
            default=one.default,
            choices=tuple(map(str, get_args(wanted))),
            may_be_none=may_be_none,
        )
    kinds = {
        bool: SettingKind.FLAG,
        int: SettingKind.WHOLE,
        float: SettingKind.NUMBER,
        str: SettingKind.TEXT,
    }
    if wanted not in kinds:
        raise InvalidInput(
            f"a setting has the type {getattr(wanted, '__name__', wanted)}",
            where=where,
            hint="use bool, int, float, str or a Literal of words",
        )
    return Setting(
        name=one.name,
        kind=kinds[wanted],
        default=one.default,
        low=-NUMBER_MAX,
        may_be_none=may_be_none,
    )
