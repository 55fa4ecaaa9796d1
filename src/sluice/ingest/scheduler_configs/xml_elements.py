"""Small XML files, read safely: no document type, no entities, bounded size and depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sluice.model.errors import InvalidInput

LEVELS_MAX = 64


@dataclass(frozen=True, slots=True)
class XmlElement:
    """An element: its name, its attributes, its text without blanks around, and its children."""

    tag: str
    attributes: dict[str, str]
    text: str
    children: tuple[XmlElement, ...]

    def named(self, tag: str) -> Iterator[XmlElement]:
        """The children of a name."""
        return (child for child in self.children if child.tag == tag)


def read_xml(content: bytes, name: str) -> XmlElement:
    """The root element. Raises InvalidInput with the line of a fault."""
    from defusedxml import DefusedXmlException  # type: ignore[import-untyped]  # it has no types
    from defusedxml.ElementTree import DefusedXMLParser, ParseError  # type: ignore[import-untyped]  # as above

    parser = DefusedXMLParser(target=_Builder(name), forbid_dtd=True)
    try:
        parser.feed(content)
        root = parser.close()
    except ParseError as error:
        line, column = error.position
        raise InvalidInput(
            f"it is not valid XML: {error.msg}" if hasattr(error, "msg") else "it is not valid XML",
            where=f"{name}, line {line}, column {column + 1}",
            hint="check that every element is closed",
        ) from None
    except DefusedXmlException:
        raise InvalidInput(
            "it has a document type or entities", where=name, hint="remove <!DOCTYPE> and <!ENTITY>"
        ) from None
    except (LookupError, ValueError) as error:
        raise InvalidInput(
            f"it cannot be read: {error}", where=name, hint="save it as UTF-8"
        ) from None
    assert isinstance(root, XmlElement)
    return root


class _Builder:
    """Makes elements from what the parser reports, without recursion."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[tuple[str, dict[str, str], list[str], list[XmlElement]]] = []
        self._root: XmlElement | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if len(self._open) >= LEVELS_MAX:
            raise InvalidInput(
                f"it is nested deeper than {LEVELS_MAX} levels", where=self._name, hint="flatten it"
            )
        self._open.append((tag, dict(attributes), [], []))

    def data(self, text: str) -> None:
        """Text within the innermost element."""
        if self._open:
            self._open[-1][2].append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        name, attributes, texts, children = self._open.pop()
        made = XmlElement(name, attributes, "".join(texts).strip(), tuple(children))
        if self._open:
            self._open[-1][3].append(made)
        else:
            self._root = made

    def close(self) -> XmlElement | None:
        """The root, at the end of the text."""
        return self._root
