"""Named options of a format: `key=value` to the checked fields of its `Options`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from sluice.ingest.logs.profile_names import ARROW, RULE
from sluice.ingest.yaml_notation import plain_value
from sluice.model.errors import InvalidInput
from sluice.model.settings import Setting, setting_of

T = TypeVar("T")


def settings_in(kind: type[Any]) -> dict[str, Setting]:
    """Return what an `Options` class declares, by name."""
    return {one.name: setting_of(one) for one in fields(kind)}


def check_options(options: Any, where: str) -> None:  # noqa: ANN401  # each format has its own
    """Raise InvalidInput where a field is not what it is declared to be."""
    for name, setting in settings_in(type(options)).items():
        try:
            setting.checked(getattr(options, name))
        except InvalidInput as error:
            raise error.within(where) from None


def read_options(texts: Iterable[str], flag: str) -> dict[str, object]:
    """Options as they are typed, `key=value`, by key. Raises InvalidInput naming the flag.

    >>> read_options(["block_bytes=1000"], "--set")
    {'block_bytes': 1000}
    """
    found: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(
                "no = in it", where=f"{flag} {text[:80]}", hint="write it as key=value"
            )
        if key.strip() == RULE and ARROW in value:
            # Rules add up; of any other option the last one counts.
            found[RULE] = (*rules_in(found), value.strip())
            continue
        try:
            found[key.strip()] = plain_value(value.strip())
        except ValueError:  # more digits than Python reads
            found[key.strip()] = value.strip()
    return found


def rules_in(given: Mapping[str, object]) -> tuple[str, ...]:
    """The rules for names of profiles among the options; none if a format's own word is there."""
    value = given.get(RULE)
    if isinstance(value, str) and ARROW in value:
        return (value,)
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def without_rules(given: Mapping[str, object]) -> Mapping[str, object]:
    """The options of formats, without the rules."""
    if not rules_in(given):
        return given
    return {key: value for key, value in given.items() if key != RULE}


def options_of(kind: type[T], given: Mapping[str, object], where: str) -> T:
    """An `Options` with those of the given that it knows. Raises InvalidInput for a bad value."""
    values: dict[str, Any] = {}
    for name, setting in settings_in(kind).items():
        if name in given:
            try:
                values[name] = setting.checked(given[name])
            except InvalidInput as error:
                raise error.within(where) from None
    return kind(**values)
