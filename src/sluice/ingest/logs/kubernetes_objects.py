"""Lists of Kubernetes objects, as `kubectl get KIND -o json` (or `-o yaml`) prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.ingest.document import read_document
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Report, Unreadable


def read_objects(path: Path, report: Report, limits: Limits) -> Sequence[Mapping[str, Any]]:
    """The objects of a list in a file, or the one object that the file is."""
    document = read_document(log_bytes(path, report, limits), source=str(path)).value
    if not isinstance(document, dict):
        return []
    items = document.get("items", [document])
    return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: object) -> Sequence[Mapping[str, Any]]:
    """The mappings of a list; none of what is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def instant_s(value: object, what: str) -> float:
    """Seconds of the epoch; without a zone it is UTC. Raises Unreadable, which names `what`."""
    if isinstance(value, datetime):
        date = value
    else:
        try:
            date = datetime.fromisoformat(str(value))
        except ValueError:
            raise Unreadable(f"{what} is {str(value)[:40]!r}") from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
