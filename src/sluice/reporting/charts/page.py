"""The HTML page of charts: works offline, and runs no code other than its own two scripts.

Names in a chart come from workload files and imported logs, so the page treats them as hostile.
Three layers keep them from being run:

1. The specifications are a JSON data block. `inline_json` writes the characters that HTML or
   JavaScript could act on as escapes, so no name can close the element. All other text is escaped.
2. A Content-Security-Policy allows the two inlined scripts by their hashes and forbids everything
   else, including `eval` and network access. Vega therefore interprets its expressions
   (`ast: true`) instead of compiling them.
3. The menu offers only the export. Vega-Embed writes "View Source" into a new window without
   escaping, and "Open in Vega Editor" sends the chart to another site.

Vega and its tooltips set style attributes and add a style element, so inline styles are allowed.
`drawing.js` fits the charts to the window and to dark mode.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sluice.reporting.charts.numbers import numbers_of
from sluice.reporting.charts.overview import OVERVIEW
from sluice.reporting.charts.theme import BLUE, DARK_MODE, EDGE, FAINT, GRID, INK
from sluice.reporting.formatting import visible

_ESCAPES = str.maketrans(
    {letter: f"\\u{ord(letter):04x}" for letter in ("<", ">", "&", "\u2028", "\u2029")}
)
_HOW = (
    "{wheel}: zoom. Drag: pan. Double-click: reset. Point at a mark: follow it."
    " Click the legend: pick.{window}"
)
_WINDOW = " Drag in the overview: choose the window of time."
_STYLE = f"""\
:root {{ color-scheme: light dark; --back: {EDGE}; --ink: {INK}; --faint: {FAINT};
  --line: {GRID}; --link: {BLUE}; }}
@media (prefers-color-scheme: dark) {{ :root {{ --back: {DARK_MODE[EDGE]}; --ink: {DARK_MODE[INK]};
  --faint: {DARK_MODE[FAINT]}; --line: {DARK_MODE[GRID]}; --link: {DARK_MODE[BLUE]}; }} }}
body {{ margin: 0; padding: 4px 8px 16px; background: var(--back); color: var(--ink);
  font: 14px/1.45 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }}
.chart.vega-embed, .chart {{ display: block; padding: 0 !important; overflow: hidden; }}
.chart.vega-embed summary {{ right: 10px !important; }}
.chart svg {{ touch-action: pan-y; }}
.chart path[fill="transparent"]:hover {{ fill: var(--faint); fill-opacity: 0.16; }}
section > .overview {{ display: block; position: sticky; bottom: 0; padding: 0 !important;
  background: var(--back); border-top: 1px solid var(--line); overflow: hidden; }}
section > .overview svg {{ touch-action: none; }}
footer {{ margin: 8px 6px 0; padding-top: 8px; border-top: 1px solid var(--line);
  color: var(--faint); font-size: 12px; overflow-wrap: anywhere; }}
footer p {{ margin: 2px 0; }}
h1 {{ font-size: 22px; margin: 12px 6px 4px; overflow-wrap: anywhere; }}
h2 {{ font-size: 17px; margin: 28px 6px 6px; overflow-wrap: anywhere; }}
p, dl {{ margin: 6px; }}
.scroll {{ overflow-x: auto; margin: 6px; }}
details {{ margin: 6px; }} summary {{ cursor: pointer; color: var(--faint); }}
caption {{ text-align: left; font-weight: 600; padding: 10px 0 4px; }}
table {{ border-collapse: collapse; font-size: 13px; }}
th, td {{ text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line);
  white-space: nowrap; font-variant-numeric: tabular-nums; }}
th {{ color: var(--faint); font-weight: 400; }}
table.figures {{ margin: 0 6px; }} h4 {{ margin: 18px 6px 6px; }}
table.figures td {{ white-space: normal; overflow-wrap: anywhere; }}
th.number, td.number {{ text-align: right; }}
"""
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
<footer>
{footer}
</footer>
<script type="application/json" id="specification">{specification}</script>
<script>{library}</script>
<script>{draw}</script>
</body>
</html>
"""
# The overview of a chart stays at the lower edge of the window while its chart is in view.
_PLACE = '<section><div{id} class="chart"></div></section>'
CHART, MORE_CHARTS = _PLACE.format(id=' id="chart"'), _PLACE.format(id="")


def chart_page(
    specification: Mapping[str, Any], *, title: str, library: str, footer: Sequence[str] = ()
) -> str:
    """The page of one chart. library: JavaScript that defines `vegaEmbed` and needs no network.

    footer: lines about where the chart comes from.
    """
    body = f"{CHART}\n{numbers_of(specification)}"
    return page([specification], body=body, title=title, library=library, footer=footer)


def page(
    charts: Sequence[Mapping[str, Any]],
    *,
    body: str,
    title: str,
    library: str,
    footer: Sequence[str] = (),
    is_long: bool = False,
) -> str:
    """A page of several charts. body: HTML in which every text is escaped, with one element of
    the class `chart` for each chart, in their order.

    is_long: whether the wheel alone scrolls the page; with Ctrl, it zooms a chart.
    """
    draw = Path(__file__).with_name("drawing.js").read_text("utf-8")
    has_window = any(OVERVIEW in chart.get("usermeta", {}) for chart in charts)
    how = _HOW.format(
        wheel="Ctrl and wheel" if is_long else "Wheel", window=_WINDOW if has_window else ""
    )
    notes = [*([how] if charts else []), *footer]
    return _PAGE.format(
        policy=_policy(library, draw),
        title=html.escape(title),
        style=_STYLE,
        body=body,
        footer="\n".join(f"<p>{html.escape(visible(note))}</p>" for note in notes),
        specification=inline_json({"charts": list(charts), "dark": DARK_MODE, "isLong": is_long}),
        library=library,
        draw=draw,
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
