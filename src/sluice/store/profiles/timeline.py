"""The tasks of a phase as one value in a row: columns of numbers, JSON, compressed.

Half a million tasks are a few megabytes in this form. As rows they would take minutes to insert.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import orjson

from sluice.model.history import PastTask

TASKS_KEPT_MAX = 100_000  # of one run; each takes about 15 bytes
_FORMAT = 1


def packed(tasks: Sequence[PastTask]) -> bytes:
    """The tasks in their order; `unpacked` returns equal tasks."""
    nodes = list(dict.fromkeys(task.node for task in tasks))
    places = {node: place for place, node in enumerate(nodes)}
    columns = {
        "format": _FORMAT,
        "started_at_s": [task.started_at_s for task in tasks],
        "finished_at_s": [task.finished_at_s for task in tasks],
        "fetched_at_s": [task.fetched_at_s for task in tasks],
        "input_bytes": [task.input_bytes for task in tasks],
        "input_records": [task.input_records for task in tasks],
        "node": [places[task.node] for task in tasks],
        "nodes": nodes,
    }
    return zlib.compress(orjson.dumps(columns))


def unpacked(content: bytes) -> tuple[PastTask, ...]:
    """The packed tasks. Raises ValueError, KeyError, IndexError or TypeError for other bytes."""
    try:
        columns = orjson.loads(zlib.decompress(content))
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if columns["format"] != _FORMAT:
        raise ValueError(f"its tasks are packed in format {columns['format']}")
    nodes = columns["nodes"]
    columns.setdefault("input_records", [0] * len(columns["node"]))  # older releases have none
    names = (
        "started_at_s", "finished_at_s", "fetched_at_s", "input_bytes", "input_records", "node",
    )  # fmt: skip
    return tuple(
        PastTask(
            started_at_s=started_at_s,
            finished_at_s=finished_at_s,
            fetched_at_s=fetched_at_s,
            node=nodes[place],
            input_bytes=input_bytes,
            input_records=input_records,
        )
        for started_at_s, finished_at_s, fetched_at_s, input_bytes, input_records, place in zip(
            *(columns[name] for name in names), strict=True
        )
    )
