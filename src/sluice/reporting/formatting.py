"""Numbers as people read them, for tables and charts. JSON documents keep unrounded numbers.

Each function takes a number, or None for what is not known, and returns a text of few significant
digits with its unit. Texts that came from outside (names, messages) pass `visible`, so that no
terminal obeys them. Names are shortened by columns and not by letters, and different names stay
different.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, takewhile
from unicodedata import combining, east_asian_width

NOTHING = "–"
# Control characters, except tab and newline, and characters that are invisible or turn the text.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_BEFORE_UNIT = re.compile(r" (?=[a-z])")
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400
_CLOCK_HOURS_MAX = 48  # a clock counts hours up to this, then days
_ROUNDED_S = 0.05  # a length nearer to a minute would be shown as 60.0 s
_MILLISECOND_S = 0.001
_KIBI = 1024
_LATIN = 0x100
_FEW = 0.0995  # a share below 10 % has one decimal
_ROUNDING = 1e-6  # of the last digit shown: an error of the arithmetic
_DIME_USD = 0.1


def visible(text: str) -> str:
    r"""The text with every character that a terminal could obey as an escape.

    Names and a task's stderr may hold terminal sequences. Tabs and newlines stay.

    >>> print(visible("\x1b[31mred\x00"))
    \x1b[31mred\x00
    """
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < _LATIN else f"\\u{code:04x}"


def duration(seconds: float | None) -> str:
    """A length of time in its two largest units.

    >>> duration(0.0421), duration(7.26), duration(95), duration(3725), duration(200_000)
    ('42 ms', '7.3 s', '1 m 35 s', '1 h 02 m', '2 d 08 h')
    """
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    return f"-{_span(-seconds)}" if seconds < 0 else _span(seconds)


def _span(seconds: float) -> str:
    if seconds < 1 - _ROUNDED_S / 100:
        return _instant(seconds)
    if seconds < _MINUTE_S - _ROUNDED_S:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    if round(seconds) < _HOUR_S:
        return _pair(round(seconds), 60, "m", "s")
    if round(seconds / _MINUTE_S) * _MINUTE_S < _DAY_S:
        return _pair(round(seconds / _MINUTE_S), 60, "h", "m")
    return _pair(round(seconds / _HOUR_S), 24, "d", "h")


def _instant(seconds: float) -> str:
    """A length below one second."""
    if seconds == 0:
        return "0 s"
    return f"{seconds * 1000:.0f} ms" if seconds >= _MILLISECOND_S else "<1 ms"


def _pair(whole: int, base: int, large: str, small: str) -> str:
    return f"{whole // base} {large} {whole % base:02d} {small}"


def clock(seconds: float | None) -> str:
    """An instant or a length of time as a clock shows it; the text of a chart's axis.

    >>> clock(7.26), clock(30), clock(144), clock(3744), clock(200_000)
    ('0:07.3', '0:30', '2:24', '1:02:24', '2 d 07:33')
    """
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 0:
        return f"-{clock(-seconds)}"
    decimals = 0 if seconds >= _MINUTE_S else 1 if seconds >= 1 else 3
    whole, part = divmod(round(seconds, decimals), 1)
    minutes, rest = divmod(int(whole), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= _CLOCK_HOURS_MAX:
        return f"{hours // 24} d {hours % 24:02d}:{minutes:02d}"
    tail = f"{part:.{decimals}f}"[1:].rstrip("0").rstrip(".") if decimals else ""
    return (f"{hours}:{minutes:02d}" if hours else f"{minutes}") + f":{rest:02d}{tail}"


def clock_span(starts_at_s: float, ends_at_s: float) -> str:
    """A span of time, with its length.

    >>> clock_span(30, 174)
    '0:30 – 2:54 (2:24)'
    """
    return f"{clock(starts_at_s)} – {clock(ends_at_s)} ({clock(ends_at_s - starts_at_s)})"


def duration_tight(seconds: float | None) -> str:
    """A length of time for narrow columns, without spaces before the units.

    >>> duration_tight(3725), duration_tight(7.26)
    ('1h 02m', '7.3s')
    """
    return _BEFORE_UNIT.sub("", duration(seconds))


def size(count: float | None) -> str:
    """Bytes in binary units.

    >>> size(512), size(1536), size(5 * 2**30)
    ('512 B', '1.5 KiB', '5.0 GiB')
    """
    if count is None:
        return NOTHING
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        # Less than the next unit, also after rounding.
        if amount < _KIBI - _ROUNDED_S:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _KIBI
    return f"{amount:.1f} PiB"


def share(part: float | None) -> str:
    """A share in percent.

    >>> share(0.934), share(0.004), share(None)
    ('93 %', '0.4 %', '–')
    """
    if part is None:
        return NOTHING
    decimals = 1 if 0 < part < _FEW else 0
    return f"{100 * part:.{decimals}f} %"


def count(number: int) -> str:
    """A whole number with thousands separators.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def signed(part: float | None) -> str:
    """A share with its sign.

    >>> signed(0.034), signed(-0.2), signed(-0.001), signed(None)
    ('+3 %', '-20 %', '+0 %', '–')
    """
    # Adding 0 removes the sign of a rounded zero.
    return NOTHING if part is None else f"{round(part, 2) + 0.0:+.0%}".replace("%", " %")


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1.

    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def tenths(number: float | None) -> str:
    """A number with at most one decimal, and thousands separators.

    >>> tenths(1511.62), tenths(4.0), tenths(None)
    ('1,511.6', '4', '–')
    """
    return NOTHING if number is None else f"{number:,.1f}".removesuffix(".0")


def billing_words(billing_s: float) -> str:
    """How time is billed, in words. billing_s: length of a paid unit, seconds.

    >>> billing_words(1), billing_words(3600), billing_words(90), billing_words(0)
    ('billed by the second', 'billed by the begun hour', 'billed by begun 90 s', 'billed exactly')
    """
    named: dict[float, str] = {
        0: "exactly",
        1: "by the second",
        60: "by the begun minute",
        3600: "by the begun hour",
    }
    return f"billed {named.get(billing_s, f'by begun {billing_s:g} s')}"


def money(usd: float | None) -> str:
    """Dollars; a sum below ten cents with two significant digits.

    >>> money(1234.5), money(0.0023), money(0.0116), money(0.05), money(-0.004), money(None)
    ('$1,234.50', '$0.0023', '$0.012', '$0.05', '-$0.004', '–')
    """
    if usd is None:
        return NOTHING
    if usd < 0:
        return f"-{money(-usd)}"
    whole, _, part = f"{usd:,.{_decimals(usd)}f}".partition(".")
    return f"${whole}.{part[:2]}{part[2:].rstrip('0')}"


def money_enough(usd: float | None) -> str:
    """Dollars rounded up: a budget that is enough.

    >>> money_enough(1.0833), money_enough(1.08), money_enough(0.00231)
    ('$1.09', '$1.08', '$0.0024')
    """
    if usd is None:
        return NOTHING
    scale = 10 ** _decimals(usd)
    return money(math.ceil(usd * scale - _ROUNDING) / scale)


def _decimals(usd: float) -> int:
    return max(2, 1 - math.floor(math.log10(usd))) if 0 < usd < _DIME_USD else 2


def hundredths(number: float | None) -> str:
    """A number with two decimals at most and thousands apart.

    >>> hundredths(1511.625), hundredths(6.5), hundredths(-1e-9), hundredths(None)
    ('1,511.62', '6.5', '0', '–')
    """
    if number is None:
        return NOTHING
    text = f"{number:,.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def distinguished(names: Sequence[str], width_max: int) -> list[str]:
    """Names that fit a width. Where one is too long, the tail that all share is left out first.

    Different names stay different. Names of words are cut after a word, if they differ before it;
    others lose their middle, but where they differ only there, that is what is shown.

    >>> distinguished(["stage 1: map at Native.java:0", "stage 2: sum at Native.java:0"], 20)
    ['stage 1: map…', 'stage 2: sum…']
    >>> distinguished(["stage 1: map at Native.java:0", "stage 2: sum at power.py:191"], 16)
    ['stage 1: map at…', 'stage 2: sum at…']
    >>> distinguished(["warehouse-eu-nightly-load", "warehouse-us-nightly-load"], 14)
    ['…eu-nig…y-load', '…us-nig…y-load']
    """
    if max(map(columns, names), default=0) <= width_max:
        return list(names)
    tail = _shared_tail(set(names))
    bare = {name: f"{name.removesuffix(tail)}…" if tail else name for name in names}
    short = {name: _first_words(text, width_max) for name, text in bare.items()}
    for alike in _alike(short):
        short |= {name: shortened(bare[name], width_max) for name in alike}
    for alike in _alike(short):
        signs = zip(*(bare[name] for name in alike), strict=False)
        head = sum(1 for _ in takewhile(lambda one: len({*one}) == 1, signs))
        short |= {name: shortened(f"…{bare[name][head:]}", width_max) for name in alike}
    for alike in _alike(short):
        for number, name in enumerate(alike[1:], start=2):
            mark = f" ({number})"
            short[name] = f"{shortened(short[name], width_max - len(mark))}{mark}"
    return [short[name] for name in names]


def _first_words(text: str, width_max: int) -> str:
    """The text up to the last word that fits; without its middle if the second word does not."""
    if columns(text) <= width_max:
        return text
    words, blank, _ = _first_columns(text, width_max).rpartition(" ")
    return f"{words}…" if " " in words and blank else shortened(text, width_max)


def _alike(short: Mapping[str, str]) -> list[list[str]]:
    """The names that are shown as the same text."""
    by_text: dict[str, list[str]] = {}
    for name, text in short.items():
        by_text.setdefault(text, []).append(name)
    return [names for names in by_text.values() if len(names) > 1]


def _shared_tail(names: Collection[str]) -> str:
    """The words at the end that all names share, with the blank before them; "" for one name."""
    if len(names) < 2:  # noqa: PLR2004  # one name shares nothing
        return ""
    least = min(names, key=len)
    starts = [at for at, letter in enumerate(least) if letter == " "]
    tails = (least[at:] for at in starts)
    return next((tail for tail in tails if all(name.endswith(tail) for name in names)), "")


def shortened(text: str, width_max: int) -> str:
    """The text, without its middle if it takes too many columns: ids differ at both ends.

    >>> shortened("wordcount-2024-05-17", 12), shortened("名前が長い仕事", 9)
    ('wordco…05-17', '名前…仕事')
    """
    if columns(text) <= width_max:
        return text
    tail = (width_max - 1) // 2
    head = _first_columns(text, width_max - 1 - tail)
    return f"{head}…{_first_columns(text[::-1], tail)[::-1]}"


def listed(names: Sequence[str], most: int = 3, width_max: int | None = None) -> str:
    """The first names of a sentence, and how many more there are.

    width_max: columns of a name; None for whole names, as in a text that may be piped.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    shown = [visible(name) for name in names[:most]]
    if width_max is not None:
        shown = [shortened(name, width_max) for name in shown]
    more = len(names) - len(shown)
    last = f"{count(more)} more" if more else shown.pop() if len(shown) > 1 else ""
    return ", ".join(shown) + (f" and {last}" if last else "")


def columns(text: str) -> int:
    """Columns of a terminal that a text takes.

    >>> columns("ab"), columns("名前"), columns("e\N{COMBINING ACUTE ACCENT}")
    (2, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_sign_columns, text))


def _sign_columns(sign: str) -> int:
    return 0 if combining(sign) else 1 + (east_asian_width(sign) in "WF")


def _first_columns(text: str, width_max: int) -> str:
    if text.isascii():
        return text[:width_max]
    ends = accumulate(map(_sign_columns, text))
    return text[: sum(1 for _ in takewhile(lambda end: end <= width_max, ends))]
