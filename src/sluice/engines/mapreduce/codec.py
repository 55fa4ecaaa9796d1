"""Python values on their way from map to reduce: one line of text that keeps their types.

A value is a tag and its text: `sword`, `i42`, `f0.5`, `T` and `F`, `n` for None, `b` for bytes in
hexadecimal, `l[1,2]` and `p[1,2]` for a list and a tuple of plain values, `j` for whatever else
JSON can hold, with each container marked so that tuples, dicts with any keys and bytes come back as
they were. A record is a key, a TAB, and one or more values with TABs between.

Text keeps its order: the bytes up to LEAD, TAB and newline among them, become LEAD and themselves
plus 0x20. So no encoded byte is below the TAB, and sorting lines is sorting keys.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

LEAD = 0x0B
SHOWN_CHARACTERS_MAX = 60
_LOW = re.compile(rb"[\x00-\x0b]")
_LED = re.compile(rb"\x0b([\x20-\x2b])")
_WRITTEN_PLAINLY = {str, int, float}
_SCALARS = {str, int, float, bool, type(None)}
_compact = json.JSONEncoder(separators=(",", ":"), check_circular=True).encode


def encode(value: Any) -> bytes:  # noqa: ANN401  # any value of the user's
    r"""The tagged text of one value. Raises TypeError for a type that cannot be carried.

    >>> encode("a\tb"), encode(7), encode((1, "x")), decode(encode({("k",): [True, None]}))
    (b'sa\x0b)b', b'i7', b'p[1,"x"]', {('k',): [True, None]})
    """
    encoder = _ENCODERS.get(type(value))
    return encoder(value) if encoder is not None else _encode_relative(value)


def encode_texts(texts: Sequence[str]) -> list[bytes]:
    """`encode` of several texts, at one go where they are as plain as most are."""
    together = "".join(texts)
    if together.isprintable():
        return ("s" + "\ns".join(texts)).encode().split(b"\n")
    return [_encode_str(text) for text in texts]


def encode_values(values: Sequence[Any]) -> bytes:
    """Several values of one key, with TABs between."""
    if len(values) == 1:
        value = values[0]
        return b"i%d" % value if type(value) is int else encode(value)
    if {*map(type, values)} == {int}:
        return b"i" + "\ti".join(map(str, values)).encode()
    return b"\t".join(map(encode, values))


def decode(text: bytes) -> Any:  # noqa: ANN401  # any value of the user's
    """The value that `encode` made `text` of."""
    return _DECODERS[text[0]](text[1:])


def records_of(block: bytes) -> list[tuple[bytes, Any]]:
    r"""The values of whole lines, each with its key, which stays encoded.

    >>> records_of(b"sa\ti1\n"), records_of(b"sa\ti1\tsx\nsb\tn\n")
    ([(b'sa', 1)], [(b'sa', 1), (b'sa', 'x'), (b'sb', None)])
    """
    lines = block.count(b"\n")
    if block.count(b"\t") == lines == block.count(b"\ti"):  # one integer each, as in most counts
        parts = block.replace(b"\ti", b"\n").split(b"\n")
        return list(zip(parts[:-1:2], map(int, parts[1::2]), strict=True))
    return [
        (code, decode(value))
        for code, *values in (line.split(b"\t") for line in block.split(b"\n")[:lines])
        for value in values
    ]


def _encode_str(value: str) -> bytes:
    if value.isprintable():
        return b"s" + value.encode()
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"j" + _compact(value).encode()  # half a surrogate pair: JSON can write it down
    return b"s" + _LOW.sub(lambda low: bytes((LEAD, low[0][0] + 0x20)), raw)


def _decode_str(text: bytes) -> str:
    if LEAD in text:
        text = _LED.sub(lambda led: bytes((led[1][0] - 0x20,)), text)
    return text.decode("utf-8", "surrogateescape")


def _encode_list(tag: bytes, value: Sequence[Any]) -> bytes:
    if _SCALARS.issuperset(map(type, value)):
        return tag + _compact(value).encode()
    return b"j" + _compact(_marked(value)).encode()


def _encode_relative(value: Any) -> bytes:  # noqa: ANN401  # any value of the user's
    """Subclasses go as what they are at heart, foreign numbers as the number they are."""
    at_heart: Any
    for at_heart, encoder in _ENCODERS.items():
        if isinstance(value, at_heart):
            return encoder(at_heart(value))
    try:
        return encode(operator.index(value))
    except TypeError:
        raise TypeError(
            f"a value of type {type(value).__qualname__} cannot go from map to reduce;"
            " use str, int, float, bool, None, bytes, or tuples, lists and dicts of those"
        ) from None


def _marked(value: Any) -> Any:  # noqa: ANN401  # any value of the user's
    """JSON in which every object is a mark: what the container really was."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, tuple):
        return {"p": [_marked(item) for item in value]}
    if isinstance(value, list):
        return [_marked(item) for item in value]
    if isinstance(value, dict):
        return {"d": [[_marked(key), _marked(item)] for key, item in value.items()]}
    return {"e": encode(value).decode("utf-8", "surrogateescape")}


def _unmarked(value: Any) -> Any:  # noqa: ANN401  # any value of the user's
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((mark, content),) = value.items()
    if mark == "p":
        return tuple(_unmarked(item) for item in content)
    if mark == "d":
        return {_unmarked(key): _unmarked(item) for key, item in content}
    return decode(content.encode("utf-8", "surrogateescape"))


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    str: _encode_str,
    int: lambda value: b"i%d" % value,
    float: lambda value: b"f" + repr(value).encode(),
    bool: lambda value: b"T" if value else b"F",
    type(None): lambda _: b"n",
    bytes: lambda value: b"b" + value.hex().encode(),
    list: lambda value: _encode_list(b"l", value),
    tuple: lambda value: _encode_list(b"p", value),
    dict: lambda value: b"j" + _compact(_marked(value)).encode(),
}

_DECODERS: dict[int, Callable[[bytes], Any]] = {
    ord("s"): _decode_str,
    ord("i"): int,
    ord("f"): float,
    ord("T"): lambda _: True,
    ord("F"): lambda _: False,
    ord("n"): lambda _: None,
    ord("b"): lambda text: bytes.fromhex(text.decode()),
    ord("l"): json.loads,
    ord("p"): lambda text: tuple(json.loads(text)),
    ord("j"): lambda text: _unmarked(json.loads(text)),
}


def written(value: Any) -> str:  # noqa: ANN401  # any value of the user's
    """The text of a value in an output file: text and numbers as they are, the rest as JSON.

    >>> written("a"), written(1.5), written(True), written((1, None))
    ('a', '1.5', 'true', '[1, null]')
    """
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bytes:
        return bytes(value).decode("utf-8", "surrogateescape")
    if kind is int or kind is float:
        return str(value)
    if isinstance(value, bool | None | tuple | list | dict):
        return json.dumps(value)
    return str(value)


class NotOneLine(ValueError):
    """A key or a value that contains a newline cannot be written as a line of output."""


def output_lines(pairs: Sequence[tuple[Any, Any]]) -> str:
    r"""The lines of several pairs. Raises NotOneLine if a key or a value contains a newline.

    >>> output_lines([("a", 1), ("b", 2)])
    'a\t1\nb\t2\n'
    """
    text = "".join(
        [
            f"{key}\t{value}\n"
            if type(key) in _WRITTEN_PLAINLY and type(value) in _WRITTEN_PLAINLY
            else output_line(key, value)
            for key, value in pairs
        ]
    )
    if text.count("\n") != len(pairs):
        _refuse_newline(pairs)
    return text


def _refuse_newline(pairs: Sequence[tuple[Any, Any]]) -> None:
    for key, value in pairs:
        for part, found in (("key", key), ("value", value)):
            if found is not None and "\n" in written(found):
                of_key = "" if part == "key" or key is None else f" of key {_shortened(key)}"
                raise NotOneLine(
                    f"the {part} {_shortened(found)}{of_key} contains a newline, which would"
                    " break the lines of the output. Replace the newline, or give"
                    f" json.dumps({part})."
                )


def _shortened(value: Any) -> str:  # noqa: ANN401  # any value of the user's
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}..."


def output_line(key: Any, value: Any) -> str:  # noqa: ANN401  # any values of the user's
    r"""One line of an output file: key TAB value; a part that is None is left out.

    >>> output_line("a", 1), output_line(None, "whole"), output_line("alone", None)
    ('a\t1\n', 'whole\n', 'alone\n')
    """
    if key is None:
        return written(value) + "\n" if value is not None else "\n"
    if value is None:
        return written(key) + "\n"
    return f"{written(key)}\t{written(value)}\n"
