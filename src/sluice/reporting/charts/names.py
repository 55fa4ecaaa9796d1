"""Names of users as text that Vega and XML can take.

A job or profile can have any name. Vega groups rows in a JavaScript object and looks up the string
literals of an expression in another, so a name such as "constructor" finds a function of JavaScript
there and no chart is drawn. XML has no control characters at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sluice.reporting.formatting import visible

# What every JavaScript object has already.
_RESERVED = frozenset(
    {
        "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
        "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString",
        "toString", "valueOf",
    }
)  # fmt: skip


def drawable(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    r"""The specification with all its texts as they can be drawn; other values stay.

    >>> drawable({"job": "\x1b[31mred", "values": ["toString", 1]})
    {'job': '\\x1b[31mred', 'values': ['toString ', 1]}
    """
    if isinstance(value, str):
        return f"{value} " if value in _RESERVED else visible(value)
    if isinstance(value, Mapping):
        return {name: drawable(held) for name, held in value.items()}
    return [drawable(held) for held in value] if isinstance(value, list | tuple) else value


def literal(texts: Sequence[str]) -> str:
    r"""The texts as an array in a Vega expression; no text can end its string.

    Vega-Lite replaces `datum.label` in an expression, also within strings, so dots are escaped.

    >>> print(literal(["map 0", '"];datum.label']))
    ["map 0", "\"];datum\u002elabel"]
    """
    return json.dumps(drawable(list(texts))).replace(".", "\\u002e")


def title_text(view: Mapping[str, Any]) -> str:
    """The title of a specification or of a view in it; "" without one.

    >>> title_text({"title": {"text": "Jobs"}}), title_text({})
    ('Jobs', '')
    """
    title = view.get("title", "")
    return str(title.get("text", "") if isinstance(title, Mapping) else title)
