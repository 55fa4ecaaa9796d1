"""The data that one attempt reads from other nodes and the driver, and that it sends there."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from sluice.engines.data_plane.access import Place, access_here
from sluice.engines.data_plane.client import Client
from sluice.engines.data_plane.ranged_file import RangedFile
from sluice.engines.mapreduce.errors import WorkFailed
from sluice.engines.mapreduce.fingerprints import InputVersion
from sluice.engines.mapreduce.spill import Segment, SpillBroken
from sluice.engines.mapreduce.splits import Split, SplitFile, open_here
from sluice.engines.mapreduce.task_spec import Plane, Source

DATA = "data"  # the name under which a node serves its map output

Copied = Callable[[str, int, Path], Segment | Exception]
Wanted = Sequence[tuple[Source, Path]]


class Exchange:
    """The data plane as one attempt uses it. scratch: where it leaves its map output."""

    def __init__(self, plane: Plane, scratch: Path) -> None:
        self._plane = plane
        self._scratch = scratch
        self._access = access_here()
        self._local = threading.local()
        self._clients: list[Client] = []
        self._own_bytes = 0

    def fetched(self) -> dict[str, int]:
        """Bytes that were moved so far, by the node at the other end; "driver" is the driver.

        What a reduce copied from its own node's disk is with that node.
        """
        total: Counter[str] = Counter()
        for client in self._clients:
            total.update(client.fetched)
        total[self._access.node_id] += self._own_bytes
        return {node_id: moved for node_id, moved in total.items() if moved}

    def place_of(self, spill: Path) -> str:
        """Where the other nodes find map output of this one."""
        return str(Place(self._access.host, self._access.port, f"{DATA}/{spill.name}"))

    def segments(
        self, wanted: Wanted, copied: Copied, on_bytes: Callable[[int], object]
    ) -> Iterator[Segment | Exception]:
        """The wanted segments, in order, copied to files; or why one cannot be had.

        copied: copies a segment of a file of this machine.  on_bytes: called with the length of
        each piece that arrives, in any thread.
        """

        def copy(pair: tuple[Source, Path]) -> Segment | Exception:
            source, target = pair
            try:
                place = Place.of(source.path)
                if place[:2] == (self._access.host, self._access.port):
                    path = str(self._scratch / Path(place.path).name)
                    return copied(path, source.segment, target)
                return self._client().copy_segment(
                    place, source.segment, target, self._codec(place), on_bytes
                )
            except (OSError, SpillBroken, ValueError) as error:
                return error

        with ThreadPoolExecutor(min(self._plane.fetches, max(1, len(wanted)))) as pool:
            try:
                for (source, _), segment in zip(wanted, pool.map(copy, wanted), strict=True):
                    own = f"{self._access.host}:{self._access.port}/"
                    if own in source.path and isinstance(segment, Segment):
                        self._own_bytes += segment.length
                    yield segment
            finally:
                pool.shutdown(cancel_futures=True)
                self.close()

    @contextmanager
    def open_served(self, split: Split) -> Iterator[SplitFile]:
        """The file of a split, which the driver serves, or a store."""
        if split.served is None or self._is_here(split):
            with open_here(split) as file:
                yield file
        else:
            yield self.file_of_driver(split.served)

    def shares(self, folder: str) -> bool:
        """Whether this node has the driver's folder of that name, which no other run has."""
        return not self._plane.is_all_sent and os.path.isdir(folder)  # noqa: PTH112  # each attempt

    def _is_here(self, split: Split) -> bool:
        """Whether this node has the file of a split at the path that the driver has it at."""
        if self._plane.is_all_sent:
            return False
        try:
            found = os.stat(split.path)  # noqa: PTH116  # for each attempt
        except OSError:
            return False
        return split.version is None or InputVersion.of(split.path, found) == split.version

    def file_of_driver(self, name: str) -> RangedFile:
        """A file that the driver serves under this name."""
        place, client = self._at_driver(name), self._client()
        return RangedFile(
            lambda start, end: client.read_range(place, start, end)[0],
            lambda: client.read_range(place, 0, 1)[1],
        )

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            client.close()

    def send_part(self, path: Path, job_name: str, name: str) -> None:
        """Send a part file into the job's staging folder. Raises WorkFailed."""
        try:
            self._client().send_file(self._at_driver(f"{job_name}/{name}"), path)
        except FileNotFoundError as error:
            # It is made when the job begins and removed when it ends, so this is too late.
            raise WorkFailed("the job's staging folder is gone") from error
        except ConnectionError as error:
            raise WorkFailed(f"the part file cannot be sent: {error.strerror}") from error

    def _at_driver(self, path: str) -> Place:
        return Place(self._access.driver_host, self._plane.driver_port, path)

    def _client(self) -> Client:
        """The client of this thread."""
        client: Client | None = getattr(self._local, "client", None)
        if client is None:
            plane, access = self._plane, self._access
            client = Client(access.key, plane.tries, plane.patience_s, access.tls)
            self._local.client = client
            self._clients.append(client)
        return client

    def _codec(self, place: Place) -> str | None:
        """How to ask for compression: not on one machine, where the network costs nothing."""
        wanted = self._plane.compression
        if wanted == "auto":
            return None if place.host == self._access.host else "lz4"
        return None if wanted == "off" else wanted
