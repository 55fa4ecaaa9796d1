"""Draws the life of attempts and jobs from `sluice.core.transitions` into `docs/transitions.md` and
two SVG files beside it: `python docs/draw_transitions.py`. A test holds the drawings to the tables.

States stand in the upper row, in the order in which they come; each end has a lane of its own below
them. A dot is where a state has a way down to an end. Inputs that lead from one state to the same
next one share an arrow.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from sluice.core.transitions import (
    ATTEMPT_ENDS,
    ATTEMPT_TRANSITIONS,
    JOB_ENDS,
    JOB_TRANSITIONS,
    AttemptState,
    JobState,
)

HERE = Path(__file__).resolve().parent

Table = Mapping[Any, Mapping[Any, Enum]]  # keys of a mapping are invariant, so no Enum will do

_BOX_W, _BOX_H = 88, 32
_STEP_X, _STEP_Y = 168, 46
_ARC_H, _MARGIN = 26, 16
_INK, _PALE, _END = "#24425c", "#eef4f9", "#f6efe4"
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}"'
    ' viewBox="0 0 {width:g} {height:g}" role="img" font-family="sans-serif">'
)
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"'
    f' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{_INK}"/></marker></defs>'
)


class Life(NamedTuple):
    """One kind of thing and what may happen to it."""

    name: str
    states: type[Enum]
    table: Table
    ends: frozenset[Enum]
    about: str


LIVES = (
    Life(
        "attempt", AttemptState, ATTEMPT_TRANSITIONS, frozenset(ATTEMPT_ENDS),
        "One try of one task. Work that is done is done: a finish may overtake the report of the"
        " start, and may cross a kill on its way.",
    ),
    Life(
        "job", JobState, JOB_TRANSITIONS, frozenset(JOB_ENDS),
        "Deferred until admission takes it, waiting until it is released, queued until its first"
        " task starts.",
    ),
)  # fmt: skip


def arrows(table: Table) -> dict[tuple[Enum, Enum], list[str]]:
    """From (before, after) to the inputs that lead there; without those that change nothing."""
    found: dict[tuple[Enum, Enum], list[str]] = {}
    for cause, row in table.items():
        for before, after in row.items():
            if before is not after:
                found.setdefault((before, after), []).append(str(cause.value))
    return found


def columns(life: Life) -> dict[Enum, int]:
    """The column of each state that is no end: the longest way to it from the first."""
    column = {state: 0 for state in life.states if state not in life.ends}
    for _ in column:
        for before, after in arrows(life.table):
            if after in column:
                column[after] = max(column[after], column[before] + 1)
    return column


def places(life: Life) -> dict[Enum, tuple[float, float]]:
    """The middle of each state's box."""
    column = columns(life)
    top = _MARGIN + _ARC_H + _BOX_H / 2
    spots = {}
    for state, number in column.items():
        spots[state] = (_MARGIN + _BOX_W / 2 + number * _STEP_X, top)
    right = _MARGIN + _BOX_W / 2 + (max(column.values()) + 1) * _STEP_X
    ends = [state for state in life.states if state in life.ends]
    for lane, state in enumerate(ends, start=1):
        spots[state] = (right, top + _BOX_H / 2 + lane * _STEP_Y)
    return spots


def drawing(life: Life) -> str:
    """The diagram as SVG."""
    spots = places(life)
    width = max(x for x, _ in spots.values()) + _BOX_W / 2 + _MARGIN
    height = max(y for _, y in spots.values()) + _BOX_H / 2 + _MARGIN
    pairs = arrows(life.table)
    parts = [
        _HEAD.format(width=width, height=height),
        f"<title>What may happen to {_article(life.name)}</title>",
        _TIP,
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
    ]
    for (before, after), causes in pairs.items():
        draw = _lane if after in life.ends else _step
        parts += draw(spots[before], spots[after], " / ".join(causes))
    parts += [_box(str(state.value), spots[state], _PALE) for state in columns(life)]
    parts += [_box(str(state.value), spots[state], _END) for state in spots if state in life.ends]
    return "\n".join([*parts, "</svg>", ""])


def _box(name: str, spot: tuple[float, float], fill: str) -> str:
    x, y = spot
    return (
        f'<rect x="{x - _BOX_W / 2:g}" y="{y - _BOX_H / 2:g}" width="{_BOX_W}" height="{_BOX_H}"'
        f' rx="7" fill="{fill}" stroke="{_INK}"/>'
        f'<text x="{x:g}" y="{y + 4:g}" font-size="13" text-anchor="middle" fill="{_INK}">'
        f"{escape(name)}</text>"
    )


def _step(start: tuple[float, float], end: tuple[float, float], text: str) -> list[str]:
    """An arrow along the upper row, or an arc above it where a state stands between."""
    x1, x2, y = start[0] + _BOX_W / 2, end[0] - _BOX_W / 2, start[1]
    if end[0] - start[0] <= _STEP_X:
        return [_line(f"M{x1:g},{y:g} H{x2:g}", has_tip=True), _label((x1 + x2) / 2, y - 6, text)]
    x1, x2, y = start[0], end[0], y - _BOX_H / 2
    arc = f"M{x1:g},{y:g} C{x1:g},{y - _ARC_H:g} {x2:g},{y - _ARC_H:g} {x2:g},{y:g}"
    return [_line(arc, has_tip=True), _label((x1 + x2) / 2, y - _ARC_H, text)]


def _lane(start: tuple[float, float], end: tuple[float, float], text: str) -> list[str]:
    """Down from a state to the lane of an end, and along it."""
    (x, y), lane = start, end[1]
    return [
        _line(f"M{x:g},{y + _BOX_H / 2:g} V{lane:g}", has_tip=False),
        _line(f"M{x:g},{lane:g} H{end[0] - _BOX_W / 2:g}", has_tip=True),
        f'<circle cx="{x:g}" cy="{lane:g}" r="3.5" fill="{_INK}"/>',
        _label(x + 8, lane - 6, text, anchor="start"),
    ]


def _line(path: str, *, has_tip: bool) -> str:
    tip = ' marker-end="url(#tip)"' if has_tip else ""
    return f'<path d="{path}" fill="none" stroke="{_INK}"{tip}/>'


def _label(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="11" text-anchor="{anchor}" fill="{_INK}">'
        f"{escape(text)}</text>"
    )


def page() -> str:
    """The page around the drawings, with each table in words."""
    lines = [
        "# What may follow what",
        "",
        "Drawn from `sluice.core.transitions` by `docs/draw_transitions.py`; do not edit by hand.",
        "An event without an arrow from the present state is stale: it is counted, and nothing",
        "changes. A dot is where a state has a way down to an end.",
    ]
    for life in LIVES:
        lines += ["", f"## The life of {_article(life.name)}", "", life.about, ""]
        lines += [f"![{life.name} states]({file_of(life)})", "", *_matrix(life)]
    return "\n".join([*lines, ""])


def _matrix(life: Life) -> Iterator[str]:
    """One row for each state, one column for each input."""
    yield " | ".join(["| in", *(str(cause.value) for cause in life.table), ""]).rstrip()
    yield "|---" * (1 + len(life.table)) + "|"
    for state in life.states:
        cells = [life.table[cause].get(state) for cause in life.table]
        words = ["" if after is None else str(after.value) for after in cells]
        name = f"**{state.value}**" if state in life.ends else str(state.value)
        yield " | ".join([f"| {name}", *words, ""]).rstrip()


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def file_of(life: Life) -> str:
    """Where the drawing of a life stands, beside the page."""
    return f"transitions-{life.name}.svg"


def files() -> dict[str, str]:
    """All that is drawn: file name to text."""
    return {"transitions.md": page()} | {file_of(life): drawing(life) for life in LIVES}


def main() -> None:
    """Write what has changed."""
    for name, text in files().items():
        (HERE / name).write_text(text, "utf-8")
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
