"""The driver's side of the data plane: what its data server serves, and what tasks learn of it."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from sluice.engines.data_plane.access import DRIVER, SCHEME, Place, data_key
from sluice.engines.data_plane.client import Client
from sluice.engines.data_plane.code_copies import CODE
from sluice.engines.data_plane.server import Served
from sluice.engines.data_plane.server_process import DataServerProcess
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.data_plane.stores import is_url
from sluice.engines.mapreduce.commit import Staging
from sluice.engines.mapreduce.fingerprints import CodeVersion
from sluice.engines.mapreduce.layout import PreparedJob
from sluice.engines.mapreduce.task_spec import CodeFile, Plane
from sluice.engines.tls_files import TlsFiles
from sluice.model.errors import EngineUnavailable

INPUT = "input"


class DataPlane:
    """Serves the driver's files to nodes that do not share its disk. Use it as a context.

    It listens only where nodes reach the driver. Those are the addresses from which the driver has
    reached them, which `listen_at` takes: mostly one, and one port for all of them.

    prepared: all jobs of the run.  key: of the run's token.  patience_s: how long attempts wait for
    a driver that is resumed.  port_file: keeps the port for that driver.  tls: None for plain HTTP.
    """

    def __init__(
        self,
        prepared: Iterable[PreparedJob],
        key: bytes,
        settings: DataPlaneSettings,
        *,
        patience_s: float = 0.0,
        port_file: Path | None = None,
        tls: TlsFiles | None = None,
    ) -> None:
        self._prepared = {each.name: each for each in prepared}
        # What these make is not there yet, and is served by folder.
        makers = {name for each in self._prepared.values() for name in each.job.after}
        self._outputs = {
            _output_name(str(each.staging.output)): str(each.staging.output)
            for each in self._prepared.values()
            if each.job.job_id in makers and isinstance(each.staging, Staging)
        }
        self._key = data_key(key)
        self._settings = settings
        self._patience_s = patience_s
        self._port_file = port_file
        self._tls = tls
        self._hosts: dict[str, DataServerProcess | None] = {}
        self._is_started = False
        self._planes: dict[str, Plane] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in filter(None, self._hosts.values()):
            server.end()

    def listen_at(self, host: str) -> None:
        """Nodes reach the driver at this address. Raises EngineUnavailable."""
        self._hosts.setdefault(host, None)
        if self._is_started:
            self.start()

    def start(self) -> None:
        """Start the data server at each known address, unless it runs. Raises EngineUnavailable."""
        self._is_started = True
        idle = [host for host, one in self._hosts.items() if one is None or one.ended()]
        if not idle:
            return
        port = self._known_port()
        try:
            code = {name: _code_files(each) for name, each in self._prepared.items()}
            served = self._served(code)
            for host in idle:
                server = self._hosts[host] = DataServerProcess(served, host, port)
                port = server.port
            if self._port_file is not None:
                self._port_file.write_text(str(port))
        except OSError as error:
            why = f"the data server of the driver cannot start: {error.strerror or error}"
            if error.errno == errno.EADDRINUSE:
                why += (
                    f". The nodes of this run look for it at port {port}, which another process"
                    " has taken; end that process, then continue with --resume"
                )
            raise EngineUnavailable(why) from error
        self._planes = {name: self._plane(name, files, port) for name, files in code.items()}

    def added_to(self, work: Mapping[str, Any]) -> dict[str, Any]:
        """The work of an attempt, for a node that shares nothing with the driver."""
        self.start()
        plain = {**work, "plane": self._planes[work["job_name"]].to_json()}
        split = work["split"]
        if split and not is_url(split["path"]):
            plain["split"] = {**split, "served": self._served_name(work["job_name"], split)}
        return plain

    def _served_name(self, job_name: str, split: Mapping[str, Any]) -> str:
        """Where the driver serves the file of a split."""
        folder, name = os.path.split(split["path"])
        if split["made_by"]:
            return f"{job_name}/{name}"
        output = _output_name(folder)
        return (
            f"{output}/{name}" if output in self._outputs else f"{INPUT}/{_digest(split['path'])}"
        )

    def drop(self, job_name: str, outputs: Iterable[str]) -> None:
        """Remove the map output of a job that is over from the nodes, without waiting for them."""
        own = (output for output in outputs if output.startswith(f"{SCHEME}://"))
        places = {Place.of(output)[:2] for output in own}

        def remove() -> None:
            client = Client(self._key, tries=1, tls=self._tls)
            for host, port in places:
                try:
                    client.remove(Place(host, port, f"data/{job_name}-"))
                except OSError:
                    continue  # the node is gone, with what it kept
            client.close()

        if places:
            threading.Thread(target=remove, daemon=True).start()

    def _served(self, code: Mapping[str, tuple[CodeFile, ...]]) -> Served:
        jobs = self._prepared.values()
        paths = {one.path for each in jobs for one in each.inputs if not is_url(one.path)}
        inputs = {f"{INPUT}/{_digest(path)}": path for path in paths}
        files = {f"{CODE}/{one.sha256}": one.path for found in code.values() for one in found}
        folders = {
            each.name: str(each.staging.attempts)
            for each in jobs
            if isinstance(each.staging, Staging)  # part files for a URL go straight there
        }
        return Served(
            key=self._key,
            node_id=DRIVER,
            folders={**folders, **self._outputs},
            files={**inputs, **files},
            taking=tuple(folders),
            tls=self._tls,
        )

    def _known_port(self) -> int:
        """The port of the data server before this one; attempts that run still ask there."""
        for server in filter(None, self._hosts.values()):
            return server.port
        try:
            return int(self._port_file.read_text()) if self._port_file is not None else 0
        except (OSError, ValueError):
            return 0

    def _plane(self, name: str, code: tuple[CodeFile, ...], port: int) -> Plane:
        run = self._prepared[name].job.run
        assert run is not None
        return Plane(
            driver_port=port,
            code=code,
            folders=(str(Path(run.folder).absolute()),),
            fetches=self._settings.fetches_max,
            tries=self._settings.fetch_tries,
            compression=self._settings.fetch_compression,
            patience_s=self._patience_s,
            is_all_sent=self._settings.data_plane == "network",
        )


def _output_name(folder: str) -> str:
    """The name under which the output of a job is served."""
    return f"output-{_digest(folder)}"


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()


def _code_files(prepared: PreparedJob) -> tuple[CodeFile, ...]:
    """The files of code that go to the nodes: those of the user, not installed programs."""
    run = prepared.job.run
    assert run is not None
    folder = Path(run.folder).absolute()
    return tuple(
        _code_file(one)
        for one in prepared.code
        if one.sha256 is not None or Path(one.path).is_relative_to(folder)
        if Path(one.path).exists()  # code of a job that is over may be gone when a run is resumed
    )


def _code_file(version: CodeVersion) -> CodeFile:
    path, digest = Path(version.path), version.sha256
    with path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if digest is None:  # it was too large to be hashed for each comparison
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return CodeFile(path=str(path.absolute()), sha256=digest, mode=mode | stat.S_IWUSR)
