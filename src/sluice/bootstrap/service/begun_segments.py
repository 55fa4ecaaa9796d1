"""The files that a new segment of a service's journal begins with."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sluice.bootstrap.service.config import FILE_NAME, QUEUES_NAME, ServiceConfig
from sluice.store.database import store_errors
from sluice.store.journal import Journal
from sluice.store.private import open_private_file
from sluice.store.service.places import ServicePlace

Rows = Sequence[Mapping[str, Any]]


def begun_segment(place: ServicePlace, config: ServiceConfig) -> Path:
    """A new segment of the journal, with the file that the service was started with.

    Queues that were put into effect are those that it begins with, until the file has others.
    """
    changed = with_kept_queues(config, place)
    folder = next_folder(place, config, None if changed is config else changed.document["queues"])
    Journal.create(folder, config.header()).close()
    return folder


def next_folder(place: ServicePlace, config: ServiceConfig, queues: Rows | None) -> Path:
    """The folder of a new segment, with the file of the service.

    queues: those that count, if they are not those of the file. Raises StoreUnavailable.
    """
    folder = place.next_segment()
    try:
        _write(folder / FILE_NAME, config.text.content)
        if queues is not None:
            _write(folder / QUEUES_NAME, json.dumps(queues).encode())
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # it is tried again, maybe each minute
        raise
    return folder


def with_kept_queues(config: ServiceConfig, place: ServicePlace) -> ServiceConfig:
    """The service with the queues that were put into effect since its file had those it has."""
    kept = place.kept_queues()
    if kept is None or kept["of_file"] != config.file_queues_digest:
        return config
    return config.with_queues(kept["rows"])


def _write(path: Path, content: bytes) -> None:
    with store_errors(path), os.fdopen(open_private_file(path, os.O_WRONLY), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
