"""How fast does map output move between two nodes that share no disk?

Question: 8 map outputs of 128 MB, which the data server of one node serves, are copied to the disk
of the other by 8 reduces one after the other, as an attempt does it (`data_plane/exchange`): MB/s,
and CPU seconds per GB of both sides. Plain bytes, and words compressed by lz4 and by zstd (MB/s of
plain bytes, and the share that went over the network). Both nodes are on this machine. Before
anything is timed, each copy is compared with what was served.
Budget: 150 MB/s of plain bytes.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zlib import crc32

from bench._figures import Spent, verdict

from sluice.engines.agent import kernel
from sluice.engines.data_plane.access import NodeAccess, Place
from sluice.engines.data_plane.exchange import DATA, Exchange
from sluice.engines.data_plane.server import Served
from sluice.engines.data_plane.server_process import DataServerProcess
from sluice.engines.local.agents import NODE_MARK
from sluice.engines.mapreduce.spill import Segment, file_crc, write_index
from sluice.engines.mapreduce.task_spec import Plane, Source

SPILLS = REDUCES = 8
SEGMENT_BYTES = 16_000_000
RATE_MIN = 150e6  # bytes a second
KEY = secrets.token_bytes(32)


@cache
def words() -> bytes:
    """Lines of words, as a word count without combiner makes them."""
    rng = random.Random(1)
    lines = (f"{word}\t1\n" for word in rng.choices(range(50_000), k=SEGMENT_BYTES // 7))
    return "".join(lines).encode()[:SEGMENT_BYTES]


def content(number: int) -> bytes:
    """A segment: each is another one."""
    cut = number * 999
    return words()[cut:] + words()[:cut]


def write_spills(folder: Path) -> None:
    """The map outputs of one node."""
    folder.mkdir()
    for spill in range(SPILLS):
        with (folder / f"m{spill}.spill").open("w+b") as file:
            segments = []
            for reduce in range(REDUCES):
                data = content(spill * REDUCES + reduce)
                segments.append(Segment(file.tell(), len(data), data.count(b"\n"), crc32(data)))
                file.write(data)
            write_index(file, segments)


def fetched(
    exchange: Exchange, port: int, target: Path, reduce: int
) -> Iterator[tuple[Path, Segment]]:
    """What one reduce copies. Raises what kept it from that."""
    place = Place("127.0.0.1", port, "")
    wanted = [
        (
            Source(
                phase=0,
                task=spill,
                path=str(place._replace(path=f"{DATA}/m{spill}.spill")),
                segment=reduce,
            ),
            target / f"segment-{spill}",
        )
        for spill in range(SPILLS)
    ]

    def nothing_here(path: str, _: int, copy: Path) -> Segment | Exception:
        return LookupError(f"{path} is of the other node: {copy}")

    found = exchange.segments(wanted, nothing_here, lambda _: None)
    for (_, path), segment in zip(wanted, found, strict=True):
        if isinstance(segment, Exception):
            raise segment
        yield path, segment


def is_right(port: int, target: Path, compression: str) -> bool:
    """Whether what one reduce copies is what was served."""
    exchange = Exchange(Plane(driver_port=0, compression=compression), target)
    copies = list(fetched(exchange, port, target, 0))
    return all(
        path.read_bytes() == content(spill * REDUCES) and file_crc(path) == segment.crc
        for spill, (path, segment) in enumerate(copies)
    )


def timed(server: DataServerProcess, target: Path, compression: str) -> tuple[Spent, float]:
    """Seconds of both sides for all reduces, and the share of the bytes that was sent."""
    exchange = Exchange(Plane(driver_port=0, compression=compression), target)
    begin_s, cpu_s = time.perf_counter(), time.process_time() + server_cpu_s(server)
    for reduce in range(REDUCES):
        for _ in fetched(exchange, server.port, target, reduce):
            pass
    spent = Spent(time.perf_counter() - begin_s, time.process_time() + server_cpu_s(server) - cpu_s)
    return spent, sum(exchange.fetched().values()) / (SPILLS * REDUCES * SEGMENT_BYTES)


def server_cpu_s(server: DataServerProcess) -> float:
    """CPU seconds that the data server has taken."""
    stat = Path(f"/proc/{server.pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(stat[11]) + int(stat[12])) / kernel.TICKS_PER_S


def main() -> int:
    """Print the figures; 1 if the budget is missed or a copy is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="the best one counts")
    rounds = parser.parse_args().rounds
    total_bytes = SPILLS * REDUCES * SEGMENT_BYTES
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder, "n1"), Path(folder, "n2")
        write_spills(one)
        two.mkdir()
        os.environ[NODE_MARK] = str(two)
        NodeAccess(node_id="n2", host="127.0.0.1", port=1, driver_host="", key=KEY).write(two)
        served = Served(key=KEY, node_id="n1", folders={DATA: str(one)})
        server = DataServerProcess(served, "127.0.0.1")
        best = Spent(1e9, 1e9)
        try:
            for compression in ("off", "lz4", "zstd"):
                if not is_right(server.port, two, compression):
                    print(f"{compression}: a copy differs from what was served")
                    return 1
                spents = [timed(server, two, compression) for _ in range(rounds)]
                spent = min((spent for spent, _ in spents), key=lambda one: one.wall_s)
                best = spent if compression == "off" else best
                print(
                    f"{compression:>5}: {total_bytes / spent.wall_s / 1e6:6.0f} MB/s,"
                    f" {spent.cpu_s / total_bytes * 1e9:5.2f} CPU s per GB,"
                    f" {spents[0][1]:6.1%} of the bytes sent"
                )
        finally:
            server.end()
    rate = total_bytes / best.wall_s
    print(f"plain: {rate / 1e6:.0f} MB/s{verdict(fits=rate >= RATE_MIN)}")
    return 0 if rate >= RATE_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
