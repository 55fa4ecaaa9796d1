"""Columns: one description, from which table, frame, document and page follow."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given
from rich.console import Console
from tests.skips import required

from sluice.reporting.columns import (
    Column,
    any_of,
    column_document,
    column_frame,
    column_table,
    field,
    named,
)
from sluice.reporting.formatting import NOTHING, duration

HOUSE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Trip:
    name: str
    took_s: float | None
    stops: tuple[str, ...] = ()


COLUMNS: tuple[Column[Trip], ...] = (
    named("trip", lambda trip: trip.name, name="trip"),
    Column("took_s", "took", duration),
    Column("", "late", of=lambda _: "late", style=lambda _: "red"),
    Column("stops", of=lambda trip: list(trip.stops), in_frame=False),
)
TRIPS = (Trip("a", 90.0, ("x", "y")), Trip("b", None))


def printed(table, width=80):
    console = Console(width=width, color_system=None)
    with console.capture() as held:
        console.print(table)
    return held.get()


def test_a_table_has_the_columns_with_headings():
    table = column_table(COLUMNS, TRIPS)

    assert ["trip", "took", "late"] == [str(one.header) for one in table.columns]
    assert "1 m 30 s" in printed(table)


def test_a_value_that_is_not_known_is_a_dash():
    assert NOTHING in printed(column_table(COLUMNS, TRIPS[1:]))


def test_a_document_has_the_columns_with_names():
    assert {"trip": "a", "took_s": 90.0, "stops": ["x", "y"]} == column_document(COLUMNS, TRIPS[0])


def test_a_frame_has_the_columns_of_the_document_but_for_lists():
    required("pandas")

    frame = column_frame(COLUMNS, TRIPS)

    assert ["trip", "took_s"] == list(frame.columns)
    assert len(TRIPS) == len(frame)


def test_a_column_may_depend_on_the_rows():
    shown = replace(COLUMNS[1], is_shown=any_of("took_s"))

    assert "took" in printed(column_table((COLUMNS[0], shown), TRIPS))
    assert "took" not in printed(column_table((COLUMNS[0], shown), TRIPS[1:]))


def test_the_names_of_rows_may_be_the_keys_of_a_mapping():
    table = column_table(COLUMNS[1:], {"first": TRIPS[0], "[red]": TRIPS[1]}, key="journey")

    text = printed(table)

    assert "journey" in text
    assert "[red]" in text


def test_a_field_that_is_missing_is_a_dash():
    assert NOTHING in printed(column_table((field("x_s", "x", duration),), [{"y_s": 1.0}]))


@given(rows=st.integers(0, 30), rows_max=st.integers(0, 30), caption=st.sampled_from(("", "about")))
def test_the_caption_counts_the_rows_that_are_not_shown(rows, rows_max, caption):
    trips = [Trip(str(number), 1.0) for number in range(rows)]

    table = column_table(COLUMNS, trips, caption, rows_max=rows_max)

    shown = min(rows, rows_max)
    assert shown == table.row_count
    assert (f"and {rows - shown} more" in str(table.caption)) == (shown < rows)
    assert str(table.caption).startswith("about") == bool(caption)


_PRINTED = """
import json, sys
import sluice
from rich.console import Console
from sluice.reporting.pools.tables import jobs_table
from sluice.reporting.document_html import document_html
result = sluice.pools(sys.argv[1])
console = Console(width=200, color_system=None)
with console.capture() as held:
    console.print(jobs_table(result))
document = json.loads(json.dumps(result.document()))
print(json.dumps({
    "table": held.get(), "html": document_html(document), "jobs": document["jobs"],
    "frame": result.to_frame()["responds_s"].tolist(),
}))
"""
_LINE = '            Column("responds_s", "responds s", tenths, lambda one: one.response_s),\n'


@pytest.mark.no_invariants
def test_one_line_adds_a_column_to_table_frame_document_and_page(tmp_path):
    """CONTRIBUTING.md says how; this does it in a copy of the sources."""
    required("pandas")
    leave_out = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(HOUSE / "src", tmp_path / "src", ignore=leave_out)
    path = tmp_path / "src" / "sluice" / "reporting" / "pools" / "result.py"
    before = '            Column("started_at_s", "start s", tenths),\n'
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, _LINE + before))

    done = subprocess.run(
        [sys.executable, "-c", _PRINTED, str(HOUSE / "examples" / "vm-pools.yaml")],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=True,
    )

    found = json.loads(done.stdout)
    responds_s = [job["responds_s"] for job in found["jobs"].values()]
    assert responds_s == found["frame"]
    assert "responds s" in found["table"]
    assert "<th" in found["html"]
    assert ">responds</th>" in found["html"]
    assert _LINE.strip() in (HOUSE / "CONTRIBUTING.md").read_text()
