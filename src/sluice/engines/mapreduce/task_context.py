"""The surroundings of one attempt: its folder, its processes, its counters, and its results.

Every unfinished file has the attempt id, which includes the epoch, in its name. A result is handed
over by a rename to another name with the attempt id. The core decides which attempt has won, and
only the job's commit gives a file its final name. So a zombie cannot overwrite anything.
"""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from subprocess import Popen
from typing import IO, TYPE_CHECKING, Any, BinaryIO
from zlib import crc32

from sluice.engines.data_plane.stores import StoreFolder, is_url
from sluice.engines.mapreduce import decompression
from sluice.engines.mapreduce.commit import CRC_OF
from sluice.engines.mapreduce.consumption import Meter
from sluice.engines.mapreduce.environment import inherited
from sluice.engines.mapreduce.errors import NodeFault, PermanentFailure, WorkFailed
from sluice.engines.mapreduce.fingerprints import FileChanged, check_code, gone
from sluice.engines.mapreduce.process_group import ProcessGroup, Stream
from sluice.engines.mapreduce.spill import Segment, checked_lines, write_index
from sluice.engines.mapreduce.splits import Open, Split, open_here
from sluice.engines.mapreduce.task_spec import TaskSpec
from sluice.engines.mapreduce.watch import Watch
from sluice.model.buffers import BufferSetting

if TYPE_CHECKING:  # most runs need no network
    from sluice.engines.agent.orders import Orders
    from sluice.engines.data_plane.exchange import Exchange

WORK_SHARE = 0.9  # progress of an attempt whose input is consumed; its output is still to come
SORT_BYTES = 256 << 20
MERGE_FILES_MAX = 64
_OTHER_FILES = 16  # that a merge has open: its output, what it inherits, and some to spare


class TaskContext:
    """The task, the tools and the results of one attempt."""

    def __init__(self, spec: TaskSpec, place: Mapping[str, Any]) -> None:
        self.spec = spec
        self.attempt_id: str = place["attempt_id"]
        self.scratch = Path(place["scratch"]).absolute()
        self._folder_path = self.scratch / f"{self.attempt_id}.tmp"
        self.watch = Watch(place, self._folder_path)
        self.processes = ProcessGroup(self.watch)
        self.orders: Orders | None = place.get("orders")  # news of the input of an early reduce
        self.outputs: list[str] = []
        self.exchange = self._exchange()
        self.counters = dict.fromkeys(
            ("input_bytes", "output_bytes", "shuffle_bytes", "input_records", "output_records"), 0
        )
        self.shuffled_at_s: float | None = None
        self._began_at_s = time.monotonic()
        self._read_bytes = 0  # of the split, after decompression
        self._read_share = 0.0  # of the split's file, which may be compressed
        self._meter: Meter | None = None
        self._has_folder = False
        memory_bytes = (place.get("limits") or {}).get("memory_bytes")
        self._sort_share_bytes = memory_bytes and memory_bytes // 4

    @contextmanager
    def at_work(self) -> Iterator[TaskContext]:
        """Open the context; at its end, remove every unfinished process, thread and file."""
        try:
            self.watch.start()
            with self.processes:
                yield self
        finally:
            self.watch.stop()
            self._writing_path.unlink(missing_ok=True)
            if self._has_folder:
                shutil.rmtree(self._folder_path, ignore_errors=True)

    @cached_property
    def folder(self) -> Path:
        """The attempt's folder for temporary files, made at the first use.

        Most short tasks need none, and some file systems take milliseconds to remove a folder.
        """
        self._has_folder = True
        try:
            self._folder_path.mkdir(parents=True)
        except OSError as error:
            raise NodeFault(f"no folder in {str(self.scratch)!r}: {error.strerror}") from error
        return self._folder_path

    @cached_property
    def env(self) -> dict[str, str]:
        """The environment of the user's commands."""
        environment = inherited(inherits_env=self.spec.inherits_env)
        return environment | self.spec.user_env(self.attempt_id)

    def result(self) -> dict[str, Any]:
        """The result of an attempt that succeeded, for the engine."""
        fetched = {} if self.exchange is None else {"fetched": self.exchange.fetched()}
        return {
            "outputs": self.outputs,
            "counters": {**self.counters, **fetched},
            "shuffled_at_s": self.shuffled_at_s,
        }

    def _exchange(self) -> Exchange | None:
        """Return what moves data between nodes; None where all of them share a disk."""
        if self.spec.plane is None:
            return None
        from sluice.engines.data_plane.exchange import Exchange

        return Exchange(self.spec.plane, self.scratch)

    # --- reading -----------------------------------------------------------------------------

    def input_blocks(self) -> Iterator[bytes]:
        """The bytes of the map's split, counted.

        Raises PermanentFailure if an input file has changed since the run started. Raises
        WorkFailed if the split cannot be read, and blames the task that wrote the file, if one did.
        """
        split = self.spec.split
        if split is None:
            return
        self.watch.measure_by(self._map_progress)
        blames = [split.made_by] if split.made_by else []
        last, crc = b"\n", 0
        try:
            end = self._end_of(split)
            for block, read_bytes in decompression.blocks(split, self._open):
                self._count_input(block, read_bytes, end - split.start)
                last = block[-1:]
                crc = crc32(block, crc) if blames else 0
                yield block
            _check_part(split, crc)
        except FileChanged as change:
            if not blames:
                raise PermanentFailure(str(change)) from None
            raise WorkFailed(str(change), blames) from None
        except FileNotFoundError as error:
            if not blames:
                raise PermanentFailure(gone("input", split.path, error)) from error
            raise WorkFailed(gone("file", split.path, error), blames) from error
        except OSError as error:
            raise WorkFailed(f"cannot read {split.path!r}: {error.strerror}", blames) from error
        self.counters["input_records"] += last != b"\n"

    @property
    def _open(self) -> Open:
        """How to open the file of a split."""
        return open_here if self.exchange is None else self.exchange.open_served

    def _end_of(self, split: Split) -> int:
        if split.end is not None:
            return split.end
        with self._open(split) as file:
            return file.version().st_size

    def _count_input(self, block: bytes, read_bytes: int, total_bytes: int) -> None:
        self.counters["input_bytes"] += read_bytes  # of the file, which may be compressed
        self.counters["input_records"] += block.count(b"\n")
        self.watch.moved_bytes += len(block)
        self._read_bytes += len(block)
        self._read_share = min(1.0, self.counters["input_bytes"] / total_bytes)
        self.watch.check()

    def count_moved(self, moved_bytes: int) -> None:
        """Bytes that arrived from another node are a sign of life. Raises as `Watch.check`."""
        self.watch.moved_bytes += moved_bytes
        self.watch.check()

    def measure_input(self, meter: Meter) -> None:
        """Measure the progress of a map by what its code consumes of the blocks that were read."""
        self._meter = meter

    def _map_progress(self) -> float:
        """The share of the split that was consumed; without a meter, that was read."""
        read_bytes = self._read_bytes
        if self._meter is None or not read_bytes:
            return WORK_SHARE * self._read_share
        consumed = min(1.0, self._meter.consumed_bytes / read_bytes)
        return WORK_SHARE * self._read_share * consumed

    def measure_merge(self, meter: Meter, fetch_share: float) -> None:
        """Measure the progress of a reduce by what its code consumes of the merged lines.

        fetch_share: the progress of a reduce that has fetched all its input.
        """
        total_bytes = max(1, self.counters["input_bytes"])
        self.watch.measure_by(
            lambda: (
                fetch_share
                + (WORK_SHARE - fetch_share) * min(1.0, meter.consumed_bytes / total_bytes)
            )
        )

    def fetched(self) -> None:
        """Record that all input of a reduce has been fetched."""
        self.shuffled_at_s = time.monotonic() - self._began_at_s

    # --- processes ---------------------------------------------------------------------------

    def start_user(
        self, name: str, argv: Sequence[str], *, stdin: Stream, stdout: Stream
    ) -> Popen[bytes]:
        """The user's mapper, combiner or reducer, in the folder of the workload file.

        Raises PermanentFailure if a file of its code has changed since the run started.
        """
        self._check_code()
        try:
            return self.processes.start(
                name, argv, stdin=stdin, stdout=stdout, cwd=self.spec.folder, env=self.env
            )
        except WorkFailed:
            # A program that another task removed since it was looked at is the better reason.
            self._check_code()
            raise

    def _check_code(self) -> None:
        try:
            check_code(self.spec.code)
        except FileChanged as change:
            raise PermanentFailure(str(change)) from None

    def start_sort(
        self,
        *,
        stdin: Stream,
        stdout: Stream,
        merge_list: Path | None = None,
        memory_bytes: int | None = None,
    ) -> Popen[bytes]:
        """A `sort` of coreutils by the bytes before the first TAB, stable, in bounded memory.

        merge_list: a file of names of sorted files, each ended by NUL; those are merged.
        memory_bytes: that it may use, if not the usual ones.
        """
        usual_bytes = min(SORT_BYTES, self._sort_share_bytes or SORT_BYTES)
        argv = ["sort", f"--buffer-size={memory_bytes or usual_bytes}b", "--parallel=1"]
        argv += ["--temporary-directory", str(self.folder)]
        if not self.spec.step.sorts_values:
            argv += ["--stable", "--field-separator=\t", "--key=1,1"]
        if merge_list is not None:
            argv += ["--merge", f"--batch-size={merge_files()}", f"--files0-from={merge_list}"]
        return self.processes.start(
            "sort", argv, stdin=stdin, stdout=stdout, env={**os.environ, "LC_ALL": "C"}
        )

    @property
    def buffer(self) -> BufferSetting | None:
        """The buffer of the job, made smaller if this attempt may not use so much memory."""
        setting, share_bytes = self.spec.buffer, self._sort_share_bytes
        if setting is None or not share_bytes or setting.bytes <= share_bytes:
            return setting
        return replace(setting, bytes=float(share_bytes))

    # --- handing over ------------------------------------------------------------------------

    def hand_over_spill(self, file: BinaryIO, segments: Sequence[Segment]) -> None:
        """Close a spill file and give it the name under which reduces find it."""
        write_index(file, segments)
        file.close()
        target = self.scratch / f"{self.attempt_id}.spill"
        self.watch.last_look()
        os.replace(file.name, target)  # noqa: PTH105  # a rename that may overwrite
        self.counters["output_bytes"] = sum(segment.length for segment in segments)
        self.counters["output_records"] = sum(segment.records for segment in segments)
        if "spills" in self.counters:
            self.counters["spilled_bytes"] += self.counters["output_bytes"]
        self.outputs = [str(target) if self.exchange is None else self.exchange.place_of(target)]

    def open_spill(self) -> BinaryIO:
        """The map's output, to be written and then handed over."""
        self.watch.add_file(self._writing_path)
        try:
            return self._writing_path.open("w+b")
        except OSError as error:
            raise NodeFault(f"no file in {str(self.scratch)!r}: {error.strerror}") from error

    @property
    def _writing_path(self) -> Path:
        return self.scratch / f"{self.attempt_id}.writing"

    @contextmanager
    def part_file(self) -> Iterator[IO[bytes]]:
        """The part file while it is written; synced to disk and handed over on success.

        Its final name holds its CRC32, for a map of a later step that reads it.
        """
        is_here = not is_url(self.spec.staging) and (
            self.exchange is None or self.exchange.shares(self.spec.staging)
        )
        folder = self.spec.staging if is_here else self.scratch
        writing = Path(folder, f"{self.attempt_id}.writing")
        self.watch.add_file(writing)
        try:
            with _opened(writing) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            self.processes.finish()
            self.watch.last_look()
            self.counters["output_bytes"] = writing.stat().st_size
            lines = checked_lines(writing)
            self.counters["output_records"] = lines.total
            name = f"{self.attempt_id}-{lines.crc:08x}.part"
            part = f"{self.spec.staging}/{name}"
            if is_here:
                writing.rename(part)
            elif self.exchange is None or is_url(part):
                _send_to_store(writing, self.spec.staging, name)
            else:
                self.exchange.send_part(writing, self.spec.job_name, name)
        finally:
            writing.unlink(missing_ok=True)
        self.outputs = [part]


def _send_to_store(path: Path, folder: str, name: str) -> None:
    try:
        StoreFolder(folder).put(name, path)
    except OSError as error:
        raise WorkFailed(f"the part file cannot be sent: {error.strerror or error}") from error


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("wb")
    except FileNotFoundError as error:
        # It is made when the job begins and removed when it ends, so this attempt is too late.
        raise WorkFailed(f"the job's staging folder {str(path.parent)!r} is gone") from error


def _check_part(split: Split, crc: int) -> None:
    """Raise FileChanged if the part file of an earlier step does not have its checksum."""
    found = CRC_OF.fullmatch(Path(split.path).name) if split.made_by else None
    if found and int(found[1], 16) != crc:
        raise FileChanged(f"file {split.path!r} does not have the checksum of its name")


def merge_files() -> int:
    """How many files `sort` merges at once: it refuses more than it may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MERGE_FILES_MAX
    return max(2, min(MERGE_FILES_MAX, soft - _OTHER_FILES))
