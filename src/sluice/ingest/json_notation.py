"""JSON text to plain values, by the parser of the standard library.

The parser knows no positions, and a reader that kept them would slow down every good file for the
sake of the bad one. So a position is looked for only when there is a message to write: `place_of`
walks to a value, skipping what lies before it at the parser's own speed; what the parser refuses
without saying where (a key given twice, NaN) is found by a scan for tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out

from sluice.ingest.positions import DEPTH_MAX, NotationError, Path, Place, place_at

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_KEY_OR_BRACE = re.compile(rf"({_STRING})(\s*:)?|[{{}}]", re.DOTALL)
_BRACKET = re.compile(rf"{_STRING}|([\[{{])|[\]}}]", re.DOTALL)
_NOT_FINITE = re.compile(rf"{_STRING}|(NaN|-?Infinity)", re.DOTALL)
_DIGITS = re.compile(rf"{_STRING}|(-?[0-9]{{4000}})", re.DOTALL)
_STRINGS = re.compile(_STRING, re.DOTALL)
_MAYBE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _KeyTwice(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)


class _NotFinite(Exception):
    pass


def _keys_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        raise _KeyTwice(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]  # add() gives None, which is the point
    return members


def _refuse_constant(name: str) -> object:
    raise _NotFinite(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_keys_once, parse_constant=_refuse_constant)
_PLAIN = json.JSONDecoder()


def read_json(text: str) -> object:
    """The value of a JSON text. Raises NotationError."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = Place(error.lineno, error.colno)
        what = f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise NotationError(
            what, place=place, hint="fix the syntax there", is_syntax=True
        ) from None
    except _KeyTwice as error:
        raise _key_twice(text, str(error)) from None
    except _NotFinite as error:
        raise NotationError(
            f"{error} is not a JSON number",
            place=_first(text, _NOT_FINITE),
            hint="give a finite number or null",
        ) from None
    except RecursionError:
        raise too_deep(text) from None
    except ValueError:
        raise NotationError(
            "a number has thousands of digits",
            place=_first(text, _DIGITS),
            hint="give a shorter one",
        ) from None
    if _MAYBE_SURROGATE.search(text):
        _refuse_half_characters(text)
    return value


def _first(text: str, pattern: re.Pattern[str]) -> Place | None:
    hits = (match.start(1) for match in pattern.finditer(text) if match[1])
    position = next(hits, None)
    return None if position is None else place_at(text, position)


def _key_twice(text: str, key: str) -> NotationError:
    shown = json.dumps(key)[:80]
    return NotationError(
        f"the key {shown} is given twice in one object",
        place=next(_repeated_keys(text), None),
        hint="keep one of them",
    )


def _repeated_keys(text: str) -> Iterator[Place]:
    open_objects: list[set[str]] = []
    for match in _KEY_OR_BRACE.finditer(text):
        if match[0] == "{":
            open_objects.append(set())
        elif match[0] == "}":
            open_objects.pop()
        elif match[2]:
            key = scanstring(text, match.start() + 1)[0]
            if key in open_objects[-1]:
                yield place_at(text, match.start())
            open_objects[-1].add(key)


def too_deep(text: str) -> NotationError:
    """The error for a JSON text nested deeper than DEPTH_MAX, with the position."""
    depth, place = 0, None
    for match in _BRACKET.finditer(text):
        if match[1]:
            depth += 1
        elif match[0][0] != '"':
            depth -= 1
        if depth > DEPTH_MAX:
            place = place_at(text, match.start())
            break
    return NotationError(
        f"it is nested deeper than {DEPTH_MAX} levels", place=place, hint="make it flatter"
    )


def _refuse_half_characters(text: str) -> None:
    """Refuse a lone surrogate, which an escape can write but no file or terminal can hold."""
    for match in _STRINGS.finditer(text):
        characters = scanstring(text, match.start() + 1)[0]
        if any("\ud800" <= character <= "\udfff" for character in characters):
            raise NotationError(
                "the text contains half a character (a surrogate without its pair)",
                place=place_at(text, match.start()),
                hint="write the character itself",
            )


def place_of(text: str, path: Path) -> Place:
    """The position of the value at `path` in a text that `read_json` has read.

    It is the position of its key, if it has one. If the path does not exist, it is the position of
    its longest existing prefix.
    """
    found_at = value_at = _after_space(text, 0)
    for step in path:
        if isinstance(step, str):
            found = _member(text, value_at, step) if text[value_at] == "{" else None
        else:
            found = _item(text, value_at, step) if text[value_at] == "[" else None
        if found is None:
            break
        found_at, value_at = found
    return place_at(text, found_at)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None, "the pattern matches the empty text"
    return match.end()


def _member(text: str, position: int, name: str) -> tuple[int, int] | None:
    """Where a member's key and its value begin, in the object that begins at `position`."""
    position = _after_space(text, position + 1)
    while text[position] == '"':
        key, end = scanstring(text, position + 1)
        value_at = _after_space(text, _after_space(text, end) + 1)
        if key == name:
            return position, value_at
        position = _after_space(text, _PLAIN.raw_decode(text, value_at)[1])
        if text[position] == ",":
            position = _after_space(text, position + 1)
    return None


def _item(text: str, position: int, index: int) -> tuple[int, int] | None:
    """Where an item begins, twice (as key and as value), in the array at `position`."""
    position = _after_space(text, position + 1)
    for _ in range(index):
        if text[position] == "]":
            return None
        position = _after_space(text, _PLAIN.raw_decode(text, position)[1])
        if text[position] == ",":
            position = _after_space(text, position + 1)
    return None if text[position] == "]" else (position, position)
