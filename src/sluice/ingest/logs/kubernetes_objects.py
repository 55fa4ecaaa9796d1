"""Kubernetes objects: lists that `kubectl get KIND -o json` prints (or `-o yaml`), or manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sluice.ingest.document import read_documents
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Report, Unreadable
from sluice.ingest.logs.whole_json import objects_in


def read_objects(path: Path, report: Report, limits: Limits) -> Sequence[Mapping[str, Any]]:
    """The objects of a file: of its documents, each of which is a list or one object."""
    documents = read_documents(log_bytes(path, report, limits), source=str(path))
    return [one for each in objects_in(documents) for one in objects_in(each.get("items", [each]))]


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
