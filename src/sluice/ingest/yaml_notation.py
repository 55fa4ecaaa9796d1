"""YAML text to plain values, from the events of PyYAML's C parser.

Numbers are those of JSON in both notations: `5e-08` is a number; `1_000`, `010`, `0x10`, `1:30`
and `.inf` are text. null and booleans are those of YAML 1.2 (so `no` is text, as are dates). Keys
are text as written. Tags, merge keys, a key given twice and a second document are refused. The
reader is not recursive, so depth costs no stack. Values added by aliases are counted as if they
were written out, so that nine lines cannot expand into gigabytes.

Positions are not kept, because few files need them; `places_of` reads the text again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import yaml

from sluice.ingest.positions import DEPTH_MAX, NotationError, Path, Place, place_at

ALIASED_MAX = 1_000_000

# What the C parser makes; which attributes an event has depends on its class.
_Event: TypeAlias = Any

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS: dict[str, object] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True)
_WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)


def plain_value(text: str) -> object:
    """The value of an unquoted YAML scalar.

    >>> [plain_value(text) for text in ("5e-08", "010", "no", "~", "false")]
    [5e-08, '010', 'no', None, False]
    """
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    return float(text) if number[1] or number[2] else int(text)


def read_yaml(text: str) -> object:
    """The value of a YAML text of one document; None if it is empty. Raises NotationError."""
    return _Reader(text).read()


def read_yaml_documents(text: str) -> list[object]:
    """The values of all documents of a YAML text, in order; those that are empty are left out.

    Each is read by itself, so that an alias has no target in another one. Raises NotationError.
    """
    parts: list[tuple[int, list[str]]] = [(0, [])]
    for number, line in enumerate(text.split("\n")):
        # At the start of a line it begins a document, also within quotes.
        if line[:3] == "---" and line[3:4] in {"", " ", "\t", "\r"}:
            parts.append((number, [line[3:]]))
        else:
            parts[-1][1].append(line)
    found = []
    for first, lines in parts:
        try:
            value = read_yaml("\n".join(lines) + "\n")
        except NotationError as error:
            if error.place is not None:
                error.place = Place(error.place.line + first, error.place.column)
            raise
        if value is not None:
            found.append(value)
    return found


def places_of(text: str, paths: Iterable[Path]) -> dict[Path, Place]:
    """The positions of paths and of all their prefixes in a text that `read_yaml` has read.

    The position is that of the key, if there is one. A path that does not exist, or that passes
    through an alias, is left out; the longest existing prefix is included.
    """
    wanted = {path[:length] for path in paths for length in range(len(path) + 1)}
    places: dict[Path, Place] = {}

    def note(path: Path, mark: yaml.Mark) -> None:
        if path in wanted:
            places.setdefault(path, _place(mark))

    _Reader(text, note).read()
    return places


def _place(mark: Any) -> Place:  # noqa: ANN401  # the C parser has a Mark class of its own
    return Place(mark.line + 1, mark.column + 1)


class _Open:
    """A list or mapping that is not complete yet.

    size, height: nodes and levels in it so far, with aliases expanded.
    """

    __slots__ = ("anchor", "height", "items", "key", "key_mark", "members", "size")

    def __init__(self, anchor: str | None, *, members: dict[str, object] | None) -> None:
        self.anchor = anchor
        self.members = members
        self.items: list[object] = []
        self.key: str | None = None
        self.key_mark: Any = None
        self.size = 1
        self.height = 0


class _Anchored:
    __slots__ = ("height", "size", "value")

    def __init__(self, value: object, size: int, height: int) -> None:
        self.value = value
        self.size = size
        self.height = height


class _Reader:
    def __init__(self, text: str, note: Callable[[Path, Any], None] | None = None) -> None:
        self._text = text
        self._note = note
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._aliased = 0
        self._documents = 0
        self._value: object = None

    def read(self) -> object:
        parser = yaml.CSafeLoader(self._text)
        handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._on_scalar,
            yaml.MappingStartEvent: self._on_mapping,
            yaml.MappingEndEvent: self._on_end,
            yaml.SequenceStartEvent: self._on_list,
            yaml.SequenceEndEvent: self._on_end,
            yaml.AliasEvent: self._on_alias,
            yaml.DocumentStartEvent: self._on_document,
        }
        try:
            while parser.check_event():
                event = parser.get_event()
                handler = handlers.get(type(event))
                if handler is not None:
                    handler(event)
        except yaml.YAMLError as error:
            raise _syntax(error, self._text) from None
        finally:
            parser.dispose()
        return self._value

    def _on_document(self, event: _Event) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _refused("a second document begins", event, "keep one document per file")

    def _on_scalar(self, event: _Event) -> None:
        self._check_tag(event)
        text, is_plain = event.value, event.implicit[0]
        parent = self._open[-1] if self._open else None
        if parent is not None and parent.members is not None and parent.key is None:
            self._set_key(parent, text, event, is_plain=is_plain)
            return
        try:
            value = plain_value(text) if is_plain else text
        except ValueError:  # beyond sys.get_int_max_str_digits()
            raise _refused("a number has thousands of digits", event, "shorten it") from None
        self._add(value, event, size=1, height=0)

    def _set_key(self, parent: _Open, text: str, event: _Event, *, is_plain: bool) -> None:
        assert parent.members is not None, "only mappings have keys"
        if is_plain and text == "<<":
            raise _refused("merge keys (<<) are not read", event, "write the keys out")
        if text in parent.members:
            raise _refused(f"the key {text[:80]!r} is given twice", event, "keep one of them")
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(text, 1, 0)
        parent.key = text
        parent.key_mark = event.start_mark

    def _on_mapping(self, event: _Event) -> None:
        self._begin(event, _Open(event.anchor, members={}))

    def _on_list(self, event: _Event) -> None:
        self._begin(event, _Open(event.anchor, members=None))

    def _begin(self, event: _Event, opened: _Open) -> None:
        self._check_tag(event)
        if len(self._open) >= DEPTH_MAX:
            raise _too_deep(event)
        self._note_place(event)
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)  # an open node cannot be the target of an alias
        self._open.append(opened)

    def _on_end(self, event: _Event) -> None:
        ended = self._open.pop()
        value: object = ended.items if ended.members is None else ended.members
        self._put(value, event, ended.anchor, size=ended.size, height=ended.height + 1)

    def _on_alias(self, event: _Event) -> None:
        target = self._anchors.get(event.anchor)
        if target is None:
            raise _refused(f"the alias *{event.anchor} has no target", event, "write it out")
        self._aliased += target.size
        if self._aliased > ALIASED_MAX:
            raise _refused(f"aliases add more than {ALIASED_MAX} values", event, "write them out")
        parent = self._open[-1] if self._open else None
        if parent is not None and parent.members is not None and parent.key is None:
            raise _refused("an alias is used as a key", event, "write the key out")
        if len(self._open) + target.height > DEPTH_MAX:
            raise _too_deep(event)
        self._add(target.value, event, size=target.size, height=target.height)

    def _add(self, value: object, event: _Event, *, size: int, height: int) -> None:
        self._note_place(event)
        anchor = None if isinstance(event, yaml.AliasEvent) else event.anchor
        self._put(value, event, anchor, size=size, height=height)

    def _put(
        self, value: object, event: _Event, anchor: str | None, *, size: int, height: int
    ) -> None:
        """Add a complete value to its parent."""
        if anchor is not None:
            self._anchors[anchor] = _Anchored(value, size, height)
        if not self._open:
            self._value = value
            return
        parent = self._open[-1]
        parent.size += size
        parent.height = max(parent.height, height)
        if parent.members is None:
            parent.items.append(value)
        elif parent.key is None:
            raise _refused("a list or mapping is used as a key", event, "use text as keys")
        else:
            parent.members[parent.key] = value
            parent.key = None

    def _check_tag(self, event: _Event) -> None:
        if event.tag is not None and event.tag != "!":
            raise _refused(f"the tag {event.tag[:80]!r} is not read", event, "leave tags out")

    def _note_place(self, event: _Event) -> None:
        if self._note is None:
            return
        path = tuple(
            len(opened.items) if opened.members is None else opened.key or ""
            for opened in self._open
        )
        mark = event.start_mark
        if self._open and self._open[-1].members is not None:
            mark = self._open[-1].key_mark or mark
        self._note(path, mark)


def _refused(what: str, event: _Event, hint: str) -> NotationError:
    return NotationError(what, place=_place(event.start_mark), hint=hint)


def _too_deep(event: _Event) -> NotationError:
    return _refused(f"it is nested deeper than {DEPTH_MAX} levels", event, "make it flatter")


def _syntax(error: yaml.YAMLError, text: str) -> NotationError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = None if mark is None else _place(mark)
    if isinstance(error, yaml.reader.ReaderError):
        # YAML does not allow this character. The C parser counts bytes.
        before = text.encode("utf-8")[: error.position].decode("utf-8", "ignore")
        place = place_at(text, len(before))
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
    return NotationError(
        f"not valid YAML: {problem}",
        place=place,
        hint="fix the syntax there, or quote the text",
        is_syntax=True,
    )
