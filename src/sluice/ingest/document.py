"""Bytes to a document: plain values, and the lines that they come from.

Which notation a text is in is decided by its content. One that begins with `{` or `[` is JSON, and
goes to the JSON parser; YAML's flow style begins alike, so a text that is not JSON and short enough
to have been written by hand is tried as YAML before the JSON parser's complaint is passed on. A
text whose first line is a job's, in five fields, is a list of such lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sluice.ingest.job_lines import are_job_lines, read_job_lines
from sluice.ingest.json_notation import place_of, read_json, too_deep
from sluice.ingest.positions import DEPTH_MAX, NotationError, Path, Place
from sluice.ingest.yaml_notation import places_of, read_yaml, read_yaml_documents
from sluice.model.errors import InvalidInput

FILE_BYTES_MAX = 64 * 1024 * 1024
FLOW_STYLE_CHARACTERS_MAX = 1024 * 1024

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Plain values (dict, list, str, int, float, bool, None), their text and its name.

    job_lines: the line of each job, for a text with one job a line; else None.
    line: the word for a line, in messages; a table that is in no file has rows.
    """

    value: object
    text: str
    source: str
    is_json: bool
    job_lines: tuple[int, ...] | None = None
    line: str = "line"

    def places(self, paths: Iterable[Path]) -> dict[Path, Place]:
        """The position of each path; of its longest existing prefix if the path does not exist."""
        wanted = list(paths)
        if self.job_lines is not None:
            return {path: Place(self._line_of(path), 1) for path in wanted}
        if self.is_json:
            return {path: place_of(self.text, path) for path in wanted}
        known = places_of(self.text, wanted)
        return {path: _nearest(known, path) for path in wanted}

    def _line_of(self, path: Path) -> int:
        """The line of the job that a path leads into, or the first line."""
        assert self.job_lines is not None
        match path:
            case ("jobs", int(index), *_):
                return self.job_lines[index]
        return 1

    def check_depth(self) -> None:
        """Raise InvalidInput if the values are nested deeper than DEPTH_MAX.

        Reading YAML has checked it. For JSON it is asked only once the schema, which is not that
        deep itself, has found something wrong.
        """
        level: Sequence[object] = [self.value]
        for _ in range(DEPTH_MAX):
            level = [inner for outer in level for inner in _children(outer)]
            if not level:
                return
        raise too_deep(self.text).with_source(self.source)


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return [inner for inner in value.values() if isinstance(inner, dict | list)]
    if isinstance(value, list):
        return [inner for inner in value if isinstance(inner, dict | list)]
    return ()


def _nearest(known: dict[Path, Place], path: Path) -> Place:
    while path and path not in known:
        path = path[:-1]
    return known.get(path, Place(1, 1))


def read_document(content: bytes | str, *, source: str) -> Document:
    """The document in `content`. Raises InvalidInput with the line and column."""
    # What came as text makes the same way, so that half a character is refused there too.
    content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if len(content) > FILE_BYTES_MAX:
        raise too_large(source)
    text = _decoded(content, source)
    text = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        if are_job_lines(text):
            value, lines = read_job_lines(text)
            return Document(value=value, text=text, source=source, is_json=False, job_lines=lines)
        value, is_json = _read(text)
    except NotationError as error:
        raise error.with_source(source) from None
    return Document(value=value, text=text, source=source, is_json=is_json)


def read_documents(content: bytes, *, source: str) -> list[object]:
    """The values of a text that may have several YAML documents. Raises as `read_document`."""
    if len(content) > FILE_BYTES_MAX:
        raise too_large(source)
    text = _decoded(content, source).removeprefix(_BYTE_ORDER_MARK)
    try:
        if text.lstrip(" \t\r\n")[:1] in ("{", "["):
            return [_read(text)[0]]
        return read_yaml_documents(text)
    except NotationError as error:
        raise error.with_source(source) from None


def too_large(source: str) -> InvalidInput:
    """The complaint about a file beyond the limit."""
    return InvalidInput(
        f"it is larger than {FILE_BYTES_MAX} bytes", where=source, hint="split the workload"
    )


# The first bytes of what is no text, and what it is.
_PACKED: Final = {
    b"\x1f\x8b": "compressed by gzip",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
}


def not_text(content: bytes, error: UnicodeDecodeError, source: str) -> InvalidInput:
    """The complaint about a file that cannot be decoded: why, as far as its bytes show it."""
    for first, kind in _PACKED.items():
        if content.startswith(first):
            hint = "save a workbook as CSV" if kind.endswith("workbook") else "unpack it"
            return InvalidInput(
                f"it is {kind}", where=source, hint=f"{hint}; a log is read by --from-log"
            )
    line = content.count(b"\n", 0, error.start) + 1
    return InvalidInput(
        f"byte {error.start} (0x{content[error.start]:02x}) is not {error.encoding.upper()}",
        where=f"{source} line {line}",
        hint="save the file as UTF-8",
    )


def _decoded(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_text(content, error, source) from None


def _read(text: str) -> tuple[object, bool]:
    """The value, and whether the text is JSON."""
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return read_yaml(text), False
    try:
        return read_json(text), True
    except NotationError as error:
        if not error.is_syntax or len(text) > FLOW_STYLE_CHARACTERS_MAX:
            raise
        return _read_flow_style(text, error), False


def _read_flow_style(text: str, json_error: NotationError) -> object:
    try:
        return read_yaml(text)
    except NotationError as error:
        # Not well-formed in either: then it was meant as what it looks like.
        raise (json_error if error.is_syntax else error) from None
