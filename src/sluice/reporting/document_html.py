"""A document of a result as HTML: its figures, then a table for each list or mapping of rows.

Notebooks show it for a result, and reports for a whole document. Everything is escaped. Lengths of
time, sums of money and sizes are written by the units in their names (`_s`, `_usd`, `_bytes`), as
in charts.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sluice.reporting.formatting import NOTHING, clock, count, money, shortened, size, visible

ROWS_MAX = 20
_SCALARS = (str, int, float, bool, type(None))
_TEXTS_MAX = 12  # of a list within a cell
# A page has the provenance in its footer, and the others as a chart.
_LEFT_OUT = frozenset({"provenance", "schedule", "wait_s_by_percent"})


class DocumentTable(NamedTuple):
    """Rows of one field of a document. title: the name of the field."""

    title: str
    rows: Sequence[Mapping[str, object]]


class NotebookView:
    """A result with a `document()` that notebooks show as HTML and terminals in one line."""

    __slots__ = ()

    def document(self) -> Mapping[str, object]:
        """The one JSON document of the result."""
        raise TypeError(f"{type(self).__name__} has no document")

    def __repr__(self) -> str:
        named = [
            f"{name}={shortened(visible(text), _TEXT_LETTERS)}"
            for name, text in figures(self.document())[:_FIGURES_MAX]
        ]
        tables = [f"{len(one.rows)} {one.title}" for one in tables_of(self.document())]
        return f"<{type(self).__name__}: {', '.join([*named, *tables[:_TABLES_MAX]])}>"

    def _repr_html_(self) -> str:
        return document_html(self.document())


_FIGURES_MAX, _TABLES_MAX, _TEXT_LETTERS = 4, 3, 40


def document_html(document: Mapping[str, object], *, rows_max: int = ROWS_MAX) -> str:
    """The document as an HTML fragment. rows_max: of each table; a note counts the others."""
    known = "".join(
        f"<tr><th>{_escaped(_words(name))}</th><td>{_escaped(text)}</td></tr>"
        for name, text in figures(document)
    )
    parts = [f'<table class="figures">{known}</table>'] if known else []
    parts += [
        f"<h4>{_escaped(_words(table.title))}</h4>{table_html(table, rows_max)}"
        for table in tables_of(document)
    ]
    return "".join(parts)


def figures(document: Mapping[str, object]) -> list[tuple[str, str]]:
    """Single values of a document by name, as text; those of a nested mapping with its name."""
    found: list[tuple[str, str]] = []
    for name, value in document.items():
        if name in _LEFT_OUT:
            continue
        if isinstance(value, _SCALARS):
            found.append((name, cell(name, value)))
        elif isinstance(value, Mapping) and value and _is_flat(value):
            found += [
                (f"{name} {key}", cell(_unit(name, key), held)) for key, held in value.items()
            ]
        elif isinstance(value, list | tuple) and all(isinstance(one, _SCALARS) for one in value):
            found.append((name, cell(name, value)))
    return found


def tables_of(document: Mapping[str, object]) -> Iterator[DocumentTable]:
    """The lists and mappings of rows in a document, in its order."""
    for name, value in document.items():
        if name in _LEFT_OUT or not value:
            continue
        if isinstance(value, Mapping) and all(isinstance(one, Mapping) for one in value.values()):
            rows = [{"name": key, **_flat(held)} for key, held in value.items()]
            yield DocumentTable(name, rows)
        elif isinstance(value, list | tuple) and all(isinstance(one, Mapping) for one in value):
            yield DocumentTable(name, [_flat(row) for row in value])


def table_html(table: DocumentTable, rows_max: int = ROWS_MAX) -> str:
    """The table as HTML, and how many rows are left out."""
    shown = table.rows[:rows_max]
    heads = list(dict.fromkeys(name for row in shown for name in row))
    numbers = {
        head
        for head in heads
        if any(isinstance(row.get(head), int | float) for row in shown) and head != "name"
    }
    kind = {head: ' class="number"' if head in numbers else "" for head in heads}
    top = "".join(f"<th{kind[head]}>{_escaped(_words(head))}</th>" for head in heads)
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind[head]}>{_escaped(cell(head, row.get(head)))}</td>" for head in heads)
        + "</tr>"
        for row in shown
    )
    more = len(table.rows) - len(shown)
    rest = f"<p>and {count(more)} more</p>" if more else ""
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>{rest}'


def cell(name: str, value: object) -> str:
    """A value as text, by the unit in its name.

    >>> cell("makespan_s", 144.0), cell("cost_usd", 3.5), cell("share", 0.25), cell("met", True)
    ('2:24', '$3.50', '0.25', 'yes')
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(name, value)
    if isinstance(value, list | tuple):
        if not value:
            return NOTHING
        texts = [cell(name, one) for one in value[:_TEXTS_MAX]]
        separator = " " if all(text.endswith(".") for text in texts) else ", "
        if len(value) > _TEXTS_MAX:
            texts.append(f"and {len(value) - _TEXTS_MAX} more")
        return separator.join(texts)
    return str(value)


def _number(name: str, value: float) -> str:
    name = _SPREAD.sub("", name)
    if name.endswith("_usd"):
        return money(value)
    if name.endswith("_bytes"):
        return size(value)
    if name == "s" or (name.endswith("_s") and "_per_" not in name and "_server_" not in name):
        return clock(value)
    return count(value) if isinstance(value, int) else f"{value:,.5g}"


_SPREAD = re.compile(r"_(sd|min|max)$")  # of a measure, in its unit


def _unit(name: str, key: str) -> str:
    """The name that says the unit: `wait_s` does for its `p95`."""
    return name if name.endswith(("_s", "_usd", "_bytes")) else key


def _is_flat(value: Mapping[str, object]) -> bool:
    return all(isinstance(held, _SCALARS) for held in value.values())


def _flat(row: Mapping[str, object]) -> dict[str, object]:
    """A row for a table: nested mappings of values as columns, other nested values as counts."""
    found: dict[str, object] = {}
    for name, value in row.items():
        if name in _LEFT_OUT:
            continue
        if isinstance(value, Mapping):
            if _is_flat(value):
                unit = next((one for one in ("_s", "_usd", "_bytes") if name.endswith(one)), "")
                bare = name.removesuffix(unit)
                found |= {f"{bare} {key}{unit}": held for key, held in value.items()}
            else:
                found[name] = f"{count(len(value))} entries"
        elif isinstance(value, list | tuple) and any(not isinstance(v, _SCALARS) for v in value):
            found[name] = f"{count(len(value))} entries"
        else:
            found[name] = value
    return found


def _words(name: str) -> str:
    """A field's name as a heading, without the unit that its values show.

    >>> _words("total_response_s"), _words("cost_usd")
    ('total response', 'cost')
    """
    if name == "s":
        return "time"
    spread = _SPREAD.search(name)
    if spread is not None:
        return f"{_words(name[: spread.start()])} {spread[1]}"
    for unit in ("_s", "_usd", "_bytes"):
        if name.endswith(unit) and not name.endswith(f"_per{unit}"):
            name = name.removesuffix(unit)
            break
    return name.replace("_", " ")


def _escaped(text: str) -> str:
    return html.escape(visible(text))
