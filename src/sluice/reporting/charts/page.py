r"""The HTML page of a chart: works offline, and runs no code other than its own two scripts.

Names in a chart come from workload files and imported logs, so the page treats them as hostile.
Three layers keep them from being run:

1. The specification is a JSON data block. `inline_json` writes the characters that HTML or
   JavaScript could act on as \uXXXX, so no name can close the element.
2. A Content-Security-Policy allows the two inlined scripts by their hashes and forbids everything
   else, including `eval` and network access. Vega therefore interprets its expressions
   (`ast: true`) instead of compiling them.
3. The menu offers only the export. Vega-Embed writes "View Source" into a new window without
   escaping, and "Open in Vega Editor" sends the chart to another site.

Vega and its tooltips set style attributes and add a style element, so inline styles are allowed.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from typing import Any

_ESCAPES = str.maketrans(
    {letter: f"\\u{ord(letter):04x}" for letter in ("<", ">", "&", "\u2028", "\u2029")}
)
_DRAW = (
    'vegaEmbed("#chart", JSON.parse(document.getElementById("specification").textContent),'
    ' {ast: true, renderer: "svg",'
    " actions: {export: true, source: false, compiled: false, editor: false}})"
    ".catch(console.error);"
)
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
</head>
<body>
<div id="chart"></div>
<script type="application/json" id="specification">{specification}</script>
<script>{library}</script>
<script>{draw}</script>
</body>
</html>
"""


def chart_page(specification: Mapping[str, Any], *, title: str, library: str) -> str:
    """The page's text. library: JavaScript that defines `vegaEmbed` and needs no network."""
    return _PAGE.format(
        policy=_policy(library, _DRAW),
        title=html.escape(title),
        specification=inline_json(specification),
        library=library,
        draw=_DRAW,
    )


def inline_json(value: object) -> str:
    r"""JSON that is safe between script tags; it parses to the same value.

    >>> inline_json({"id": "</script>&"})
    '{"id": "\\u003c/script\\u003e\\u0026"}'
    """
    return json.dumps(value, allow_nan=False).translate(_ESCAPES)


def _policy(*scripts: str) -> str:
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
