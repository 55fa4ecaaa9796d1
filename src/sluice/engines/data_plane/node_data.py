"""The data server of a node, as its node server keeps it."""

from __future__ import annotations

from pathlib import Path

from sluice.engines.data_plane.access import NodeAccess, data_key
from sluice.engines.data_plane.exchange import DATA
from sluice.engines.data_plane.server import Served
from sluice.engines.data_plane.server_process import DataServerProcess
from sluice.engines.tls_files import TlsFiles
from sluice.store.private import make_private_folder


class NodeData:
    """Starts and ends the data server of one node.

    folder: of the node.  key: of the run's token.  host: where the data server listens.
    tls: None for plain HTTP.
    """

    def __init__(
        self, node_id: str, folder: Path, key: bytes, host: str, tls: TlsFiles | None = None
    ) -> None:
        self._node_id = node_id
        self._folder = folder
        self._key = data_key(key)
        self._host = host
        self._tls = tls
        self._process: DataServerProcess | None = None

    def start(self) -> None:
        """Raises OSError."""
        data = self._folder / "data"
        make_private_folder(data)
        served = Served(
            key=self._key, node_id=self._node_id, folders={DATA: str(data)}, tls=self._tls
        )
        self._process = DataServerProcess(served, self._host)

    def grant(self, host: str, driver_host: str) -> None:
        """Let the attempts of the next agent use the data plane.

        host: the address of this node, as the driver reached it.  driver_host: of the driver.
        Raises OSError.
        """
        assert self._process is not None
        NodeAccess(
            node_id=self._node_id,
            host=host,
            port=self._process.port,
            driver_host=driver_host,
            key=self._key,
            tls=self._tls,
        ).write(self._folder)

    def ended(self) -> str:
        """How the data server ended; "" if it runs. What it served is lost then."""
        return "" if self._process is None else self._process.ended()

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.end()
            self._process = None
