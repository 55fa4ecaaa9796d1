"""A real service for a benchmark, in a state folder of its own, which is the working folder too."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sluice.api import service as api

_CONFIG = "version: 1\ncluster: {nodes: 2, node: {map_slots: 2, reduce_slots: 1}}\n"


class Served(NamedTuple):
    """A service that takes jobs. page: its address, or "".  ready_s: seconds that it took."""

    folder: Path
    page: str
    ready_s: float


@contextmanager
def place() -> Iterator[Path]:
    """A folder with an input and the file of a service."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["SLUICE_HOME"] = str(folder / "home")
        os.chdir(folder)
        (folder / "in.txt").write_text("a b\n")
        (folder / "serve.yaml").write_text(_CONFIG)
        yield folder


@contextmanager
def serving(folder: Path, listen: str) -> Iterator[Served]:
    """A service that runs for the length of the block. listen: as of `sluice serve`."""
    began_s = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "sluice", "serve", "--config", "serve.yaml", "--listen", listen],
        cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("Serving"), line
    page = "" if listen == "none" else process.stderr.readline().split()[1].partition("/login")[0]
    try:
        yield Served(folder, page, time.perf_counter() - began_s)
    finally:
        api.stop_service()
        process.wait()
