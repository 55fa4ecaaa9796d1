"""Where one attempt works: its folder, its processes, its counts, and its way of handing over.

Everything unfinished carries the attempt id, which holds the epoch, in its name. Handing over is a
rename to another name that holds the attempt id as well; which attempt has won is for the core to
say, and only the job's commit gives a file its final name. So a zombie can overwrite nothing.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import IO, Any, BinaryIO

from sluice.engines.mapreduce import splits
from sluice.engines.mapreduce.environment import inherited
from sluice.engines.mapreduce.errors import WorkFailed
from sluice.engines.mapreduce.process_group import ProcessGroup, Stream
from sluice.engines.mapreduce.spill import Segment, count_lines, write_index
from sluice.engines.mapreduce.task_spec import TaskSpec
from sluice.engines.mapreduce.watch import Watch

SORT_BYTES = 256 << 20
MERGE_FILES_MAX = 64


class TaskContext:
    """One attempt's order, tools and results."""

    def __init__(self, spec: TaskSpec, place: Mapping[str, Any]) -> None:
        self.spec = spec
        self.attempt_id: str = place["attempt_id"]
        self.scratch = Path(place["scratch"]).absolute()
        self.folder = self.scratch / f"{self.attempt_id}.tmp"
        self.watch = Watch(place, self.folder)
        self.processes = ProcessGroup(self.watch)
        environment = inherited(inherits_env=spec.inherits_env)
        self.env = environment | spec.user_env(self.attempt_id)
        self.outputs: list[str] = []
        self.counters = dict.fromkeys(
            ("input_bytes", "output_bytes", "shuffle_bytes", "input_records", "output_records"), 0
        )
        self.shuffled_at_s: float | None = None
        self._began_at_s = time.monotonic()
        memory_bytes = (place.get("limits") or {}).get("memory_bytes")
        self._sort_bytes = min(SORT_BYTES, memory_bytes // 4) if memory_bytes else SORT_BYTES

    @contextmanager
    def at_work(self) -> Iterator[TaskContext]:
        """Open the context, and leave nothing unfinished behind: no process, no thread, no file."""
        self.folder.mkdir(parents=True)
        try:
            self.watch.start()
            with self.processes:
                yield self
        finally:
            self.watch.stop()
            shutil.rmtree(self.folder, ignore_errors=True)

    def result(self) -> dict[str, Any]:
        """What the engine is told of an attempt that went well."""
        return {
            "outputs": self.outputs,
            "counters": self.counters,
            "shuffled_at_s": self.shuffled_at_s,
        }

    # --- reading -----------------------------------------------------------------------------

    def input_blocks(self) -> Iterator[bytes]:
        """The bytes of the map's split, counted; WorkFailed blames whoever should have made it."""
        split = self.spec.split
        if split is None:
            return
        last = b"\n"
        try:
            end = Path(split.path).stat().st_size if split.end is None else split.end
            for block in splits.blocks(split):
                self._count_input(block, end - split.start)
                last = block[-1:]
                yield block
        except OSError as error:
            blames = [split.made_by] if split.made_by else []
            raise WorkFailed(f"cannot read {split.path!r}: {error.strerror}", blames) from error
        self.counters["input_records"] += last != b"\n"

    def _count_input(self, block: bytes, total_bytes: int) -> None:
        self.counters["input_bytes"] += len(block)
        self.counters["input_records"] += block.count(b"\n")
        self.watch.moved_bytes += len(block)
        # The work on what was read is still to come, hence a little short of all.
        self.watch.fraction = 0.9 * min(1.0, self.counters["input_bytes"] / total_bytes)
        self.watch.check()

    def fetched(self) -> None:
        """All input of a reduce is here."""
        self.shuffled_at_s = time.monotonic() - self._began_at_s

    # --- processes ---------------------------------------------------------------------------

    def start_user(
        self, name: str, argv: Sequence[str], *, stdin: Stream, stdout: Stream
    ) -> Popen[bytes]:
        """The user's mapper, combiner or reducer, in the folder of the workload file."""
        return self.processes.start(
            name, argv, stdin=stdin, stdout=stdout, cwd=self.spec.folder, env=self.env
        )

    def start_sort(
        self, *, stdin: Stream, stdout: Stream, merge_list: Path | None = None
    ) -> Popen[bytes]:
        """A `sort` of coreutils by the bytes before the first TAB, stable, in bounded memory.

        merge_list: a file of file names, each ended by NUL; those are merged, being sorted already.
        """
        argv = ["sort", f"--buffer-size={self._sort_bytes}b", "--parallel=1"]
        argv += ["--temporary-directory", str(self.folder)]
        if not self.spec.step.sorts_values:
            argv += ["--stable", "--field-separator=\t", "--key=1,1"]
        if merge_list is not None:
            argv += ["--merge", f"--batch-size={MERGE_FILES_MAX}", f"--files0-from={merge_list}"]
        return self.processes.start(
            "sort", argv, stdin=stdin, stdout=stdout, env={**os.environ, "LC_ALL": "C"}
        )

    # --- handing over ------------------------------------------------------------------------

    def hand_over_spill(self, file: BinaryIO, segments: Sequence[Segment]) -> None:
        """Close a spill file and put it where reduces will find it."""
        write_index(file, segments)
        file.close()
        target = self.scratch / f"{self.attempt_id}.spill"
        self.watch.last_look()
        os.replace(self.spill_path, target)  # noqa: PTH105  # a rename, whatever is there
        self.counters["output_bytes"] = sum(segment.length for segment in segments)
        self.counters["output_records"] = sum(segment.records for segment in segments)
        self.outputs = [str(target)]

    @property
    def spill_path(self) -> Path:
        """The map's output while it is being written."""
        return self.folder / "spill"

    @contextmanager
    def part_file(self) -> Iterator[IO[bytes]]:
        """The part file while it is written; handed over, safe on disk, when all went well."""
        writing = Path(self.spec.staging, f"{self.attempt_id}.writing")
        self.watch.add_file(writing)
        try:
            with _opened(writing) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            self.processes.finish()
            self.watch.last_look()
            self.counters["output_bytes"] = writing.stat().st_size
            self.counters["output_records"] = count_lines(writing)
            writing.rename(writing.with_suffix(".part"))
        finally:
            writing.unlink(missing_ok=True)
        self.outputs = [str(writing.with_suffix(".part"))]


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("wb")
    except FileNotFoundError as error:
        # Made when the job began and removed when it ended: whoever misses it comes too late.
        raise WorkFailed(f"the job's staging folder {str(path.parent)!r} is gone") from error
