"""Numbers as people read them. For tables and charts only: documents keep numbers unrounded."""

from __future__ import annotations

import math

NOTHING = "–"
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


def duration(seconds: float | None) -> str:
    """A length of time in its two largest units.

    >>> duration(0.0421), duration(7.26), duration(95), duration(3725), duration(200_000)
    ('42 ms', '7.3 s', '1 m 35 s', '1 h 02 m', '2 d 07 h')
    """
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds else "0 s"
    if seconds < _MINUTE_S - 0.05:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    if round(seconds) < _HOUR_S:
        return _pair(round(seconds), _MINUTE_S, "m", "s")
    if round(seconds / _MINUTE_S) * _MINUTE_S < _DAY_S:
        return _pair(round(seconds / _MINUTE_S), 60, "h", "m")
    return _pair(round(seconds / _HOUR_S), 24, "d", "h")


def _pair(whole: int, base: int, large: str, small: str) -> str:
    return f"{whole // base} {large} {whole % base:02d} {small}"


def size(count: float | None) -> str:
    """Bytes in binary units.

    >>> size(512), size(1536), size(5 * 2**30)
    ('512 B', '1.5 KiB', '5.0 GiB')
    """
    if count is None:
        return NOTHING
    if count < 1024:
        return f"{count:.0f} B"
    amount, units = count / 1024, iter(("KiB", "MiB", "GiB", "TiB"))
    for unit in units:
        if amount < 1023.95:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} PiB"


def share(part: float | None) -> str:
    """A share as percent.

    >>> share(0.934), share(0.004), share(None)
    ('93 %', '0.4 %', '–')
    """
    if part is None:
        return NOTHING
    return f"{part:.1%}".replace("%", " %") if 0 < part < 0.0995 else f"{part:.0%}".replace("%", " %")


def count(number: int) -> str:
    """A whole number with thousands apart.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def money(usd: float | None) -> str:
    """Dollars.

    >>> money(1234.5), money(0.0042), money(None)
    ('$1,234.50', '$0.0042', '–')
    """
    if usd is None:
        return NOTHING
    return f"${usd:.2g}" if 0 < usd < 0.01 else f"${usd:,.2f}"


def shortened(text: str, width_max: int) -> str:
    """The text, its middle left out where it is longer: ids differ at both ends.

    >>> shortened("wordcount-2024-05-17", 12)
    'wordco…05-17'
    """
    if len(text) <= width_max:
        return text
    tail = (width_max - 1) // 2
    return f"{text[: width_max - 1 - tail]}…{text[len(text) - tail :]}"
