"""The rows of a table: from CSV, TSV, JSON and Parquet, data frames, lists and dicts.

Whatever the source is, it becomes a `Table`: headers, and rows of as many cells. Files of people
are not tidy, so the delimiter, the line of the headers and the decimal comma are found out from the
content, and each row knows its line for messages. The meaning of columns is the business of
`columns.py`, and that of a cell of `cells.py`.
"""

from __future__ import annotations

import codecs
import csv
import dataclasses
import io
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sluice.ingest.decompression import GZIP
from sluice.ingest.document import not_text
from sluice.ingest.json_notation import read_json
from sluice.ingest.positions import NotationError
from sluice.ingest.tables.cells import is_blank
from sluice.ingest.tables.columns import JOB_FIELDS, PRICE_FIELDS, is_table_head, job_fields
from sluice.model.errors import InvalidInput

SUFFIXES: Final = (".csv", ".tsv", ".parquet")
ROWS_MAX: Final = 1_000_000
COLUMNS_MAX: Final = 1000
_PARQUET: Final = b"PAR1"
_JSON_ROWS = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")  # no workload file is a list
_HEAD_BYTES: Final = 65_536
_HEAD_LINES: Final = 20
_GZIP_WINDOW: Final = 31  # the largest window, with the head of gzip
_DELIMITERS: Final = "\t,;|"
_DECIMAL_COMMA = re.compile(r"[$+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?:\D|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Headers and rows. first_line: of the first row in its file; None for data in memory.

    where: its name in messages.  has_decimal_comma: whether numbers are written as 2,5.
    """

    headers: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    where: str
    first_line: int | None = 2
    has_decimal_comma: bool = False

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"{self.where} {self.line} {self.line_of(row)}"

    @property
    def line(self) -> str:
        """The word for a line: data in memory has rows."""
        return "row" if self.first_line is None else "line"

    def line_of(self, row: int) -> int:
        """The line of a row in its file, or its number among the rows, from 1 on."""
        return row + (1 if self.first_line is None else self.first_line)


def is_table(content: bytes) -> bool:
    """Whether the content of a file is a table of jobs or of prices, by its first line."""
    if content.startswith(_PARQUET) or _JSON_ROWS.match(content):
        return True
    head = content[:_HEAD_BYTES]
    is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    headers = _headers(head.decode("utf-16" if is_wide else "utf-8-sig", "replace"))
    return _is_head(headers)


def looks_like_table(file: str) -> bool:
    """Whether the head of a file, or its name, is that of a table."""
    try:
        with Path(file).open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return False  # who reads it says why it cannot be read
    if head.startswith(GZIP):
        try:
            head = zlib.decompressobj(_GZIP_WINDOW).decompress(head, _HEAD_BYTES)
        except zlib.error:
            return False  # as above
    return file.lower().endswith(SUFFIXES) or is_table(head)


def _headers(text: str) -> list[str]:
    line = next((line for line in text.splitlines() if line.strip()), "")
    if line.lstrip().startswith(("{", "[", "#", "-", "%")):
        return []
    return _cells(line)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=_delimiter(line)), [])]


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _head(lines: Sequence[str]) -> int:
    """The line of the headers, from 0: a report has a title above them, Excel has `sep=;`."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    for at in filled[:_HEAD_LINES]:
        if _is_head(_cells(lines[at])):
            return at
    return next((at for at in filled if not lines[at].startswith("sep=")), 0)


def _is_head(headers: Sequence[str]) -> bool:
    jobs = job_fields(headers)
    tasks = "tasks" if jobs is JOB_FIELDS else "maps"
    return is_table_head(headers, jobs, ("name", tasks)) or is_table_head(
        headers, PRICE_FIELDS, ("type", "cpus", "hour_usd")
    )


def _decoded(content: bytes, where: str) -> str:
    """The text of a file. Excel writes its text files as UTF-16. Raises InvalidInput."""
    is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_text(content, error, where) from None


def read_table(content: bytes, where: str) -> Table:
    """The table in the content of a file. Raises InvalidInput."""
    if content.startswith(_PARQUET):
        return _parquet(content, where)
    if _JSON_ROWS.match(content):
        return table_of(_json_rows(content, where), where)
    lines = _decoded(content, where).splitlines()
    skipped = _head(lines)
    delimiter = _delimiter(lines[skipped]) if lines else ","
    # A header may have line ends in its quotes, so that it is read with the rows.
    reader = csv.reader(io.StringIO("\n".join(lines[skipped:])), delimiter=delimiter)
    headers: list[str] = []
    rows: list[list[object]] = []
    first_line = skipped + 2
    try:
        headers = [cell.strip() for cell in next(reader, [])]
        first_line = skipped + reader.line_num + 1
        for cells in reader:
            if len(rows) >= ROWS_MAX:
                raise InvalidInput(
                    f"it has over {ROWS_MAX} rows", where=where, hint="split the table"
                )
            rows.append(list(cells))
    except csv.Error as error:
        is_large = "field limit" in str(error)
        raise InvalidInput(
            f"a cell has over {csv.field_size_limit()} characters" if is_large
            else f"it is not a table: {error}",
            where=f"{where} line {first_line + len(rows)}",
            hint="leave that column out, or close a quote that is left open" if is_large
            else "write commas and quotes as RFC 4180 has them",
        ) from None  # fmt: skip
    while headers and not headers[-1]:
        headers.pop()  # lines that end with a comma; a cell under it is too many
    table = _checked(headers, rows, where, first_line)
    # A spreadsheet parts cells by semicolons where the comma is the decimal point.
    return replace(table, has_decimal_comma=delimiter == ";" and _has_decimal_comma(rows))


def _has_decimal_comma(rows: Sequence[Sequence[object]]) -> bool:
    return any(_DECIMAL_COMMA.match(str(cell).strip()) for row in rows for cell in row)


def _checked(
    headers: Sequence[str], rows: Sequence[list[object]], where: str, first_line: int | None
) -> Table:
    if not headers:
        raise InvalidInput(
            "it is empty", where=where,
            hint="give headers, such as name, tasks, seconds or type, price, and rows",
        )  # fmt: skip
    if len(headers) > COLUMNS_MAX:
        raise InvalidInput(
            f"it has over {COLUMNS_MAX} columns", where=where, hint="leave out what is no input"
        )
    table = Table(headers=tuple(headers), rows=rows, where=where, first_line=first_line)
    for number, row in enumerate(rows):
        while len(row) > len(headers) and is_blank(row[-1]):
            row.pop()
        if len(row) > len(headers):
            raise InvalidInput(
                f"it has {len(row)} cells under {len(headers)} headers", where=table.place(number),
                hint="put cells with a delimiter in quotes",
            )  # fmt: skip
        row.extend([None] * (len(headers) - len(row)))
    return table


def _json_rows(content: bytes, where: str) -> object:
    """The list of objects in a file, as frames and databases write them. Raises InvalidInput."""
    try:
        return read_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"byte {error.start} is not UTF-8", where=where, hint="save it as UTF-8"
        ) from None
    except NotationError as error:
        raise InvalidInput(
            f"it is not JSON: {error}", where=where, hint="give the whole list"
        ) from None


def _parquet(content: bytes, where: str) -> Table:
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise InvalidInput(
            "Parquet needs the package pyarrow", where=where,
            hint="install sluice[parquet], or save the table as CSV",
        ) from None  # fmt: skip
    try:
        found = parquet.read_table(io.BytesIO(content))
    except Exception as error:  # noqa: BLE001  # its errors have no common base
        first = str(error).partition("\n")[0][:200]
        raise InvalidInput(
            f"it cannot be read as Parquet: {first}", where=where, hint="write it again"
        ) from None
    return table_of(found.to_pylist(), where)


def table_of(given: object, where: str = "table") -> Table:
    """The table of a data frame, a list of dicts, or a dict of columns. Raises InvalidInput."""
    if isinstance(given, Mapping) and given and all(isinstance(v, Mapping) for v in given.values()):
        return table_of(_of_mappings(given), where)
    columns = _columns_of(given)
    if columns is not None:
        headers = [str(name) for name in columns]
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise InvalidInput(
                "its columns differ in length", where=where, hint="give each column all rows"
            )
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        return _checked(headers, rows, where, None)
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInput(
            f"{type(given).__name__} is not a table", where=where,
            hint="give a data frame, a list of dicts or a dict of columns",
        )  # fmt: skip
    return _of_dicts(given, where)


def _of_dicts(given: Iterable[object], where: str) -> Table:
    dicts: list[Mapping[Any, object]] = []
    for row in given:
        one: object = row
        if dataclasses.is_dataclass(row) and not isinstance(row, type):
            one = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
        if not isinstance(one, Mapping):
            raise InvalidInput(
                f"row {len(dicts) + 1} is {type(one).__name__}, not a mapping", where=where,
                hint="give dicts such as {'name': 'etl', 'tasks': 40, 'seconds': 12}",
            )  # fmt: skip
        dicts.append(one)
        if len(dicts) > ROWS_MAX:
            raise InvalidInput(f"it has over {ROWS_MAX} rows", where=where, hint="split the table")
    headers = list(dict.fromkeys(name for one in dicts for name in one))
    rows = [[one.get(name) for name in headers] for one in dicts]
    return _checked([str(name) for name in headers], rows, where, None)


def _of_mappings(given: Mapping[Any, Mapping[Any, object]]) -> object:
    """A mapping of mappings as columns or rows, as data frames are turned into dicts.

    The outer keys are headers, or else the rows; then they are names where rows have none.
    """
    if _is_head([str(name) for name in given]):
        places = list(dict.fromkeys(place for column in given.values() for place in column))
        return {name: [column.get(place) for place in places] for name, column in given.items()}
    headers = list(dict.fromkeys(str(name) for row in given.values() for name in row))
    if is_table_head(headers, JOB_FIELDS, ("name",)) or is_table_head(
        headers, PRICE_FIELDS, ("type",)
    ):
        return list(given.values())
    return [{"name": name, **row} for name, row in given.items()]


def _columns_of(given: Any) -> dict[Any, Sequence[object]] | None:  # noqa: ANN401  # a frame of any library
    """The columns of a dict or a data frame (pandas, polars, pyarrow); None for anything else."""
    if isinstance(given, Mapping):
        return {name: _listed(column) for name, column in given.items()}
    if hasattr(given, "columns") and hasattr(given, "__getitem__"):
        index = getattr(given, "index", None)
        if any(name is not None for name in getattr(index, "names", ())):
            given = given.reset_index()  # of pandas: a column that groupby made the index
        names = getattr(given, "column_names", None) or list(given.columns)
        return {name: _listed(given[name]) for name in names}
    return None


def _listed(column: Any) -> Sequence[object]:  # noqa: ANN401  # as above
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        return [column]
    return list(column)
