"""Watch an attempt while it works: its progress, its output, and the pipes of its processes.

Data flows between the processes without passing through this one wherever it can, so its bytes
cannot be counted on the way. A thread looks a few times a second instead: at the sizes of the files
that the attempt writes, at the input that the user's code has consumed (`consumption`), and at the
kernel's counters of the bytes that its processes have read and written, which show that they are
alive. A last look at the end includes everything written since.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import Popen
from typing import Any

from sluice.engines.mapreduce.errors import WorkFailed

LOOK_EVERY_S = 0.1
TELL_EVERY_LOOKS = 4
IDLE_LOOKS_MAX = 30
THREAD_NAME = "sluice-watch"


class Watch:
    """Reports progress and holds an attempt to `limits["output_bytes"]`, its bytes on disk."""

    def __init__(self, place: Mapping[str, Any], folder: Path) -> None:
        self._fd: int | None = place.get("progress_fd")
        self._limit: int | None = (place.get("limits") or {}).get("output_bytes")
        self._folders = [folder]
        self._files: list[Path] = []
        self._processes: list[Popen[bytes]] = []
        self._checks: list[Callable[[], str | None]] = []
        self._moved: dict[int, int] = {}
        self._progress: Callable[[], float] | None = None
        self._told = (-1.0, -1, -1)
        self.waits = 0  # for what others are to do; each is a sign of life
        self._looks = 0
        self.moved_bytes = 0  # by this process
        self.fraction = 0.0
        self.broken: str | None = None

    def start(self) -> None:
        """Be looked at from now on."""
        _LOOKER.add(self)

    def stop(self) -> None:
        """Be looked at no more, not even by a look that has begun."""
        _LOOKER.drop(self)

    def add_file(self, path: Path) -> None:
        """Count a file outside the attempt's own folder too."""
        self._files.append(path)

    def add_process(self, process: Popen[bytes]) -> None:
        """Count the bytes that a process moves, and kill it if the attempt writes too much."""
        self._processes.append(process)

    def drop_process(self, process: Popen[bytes]) -> None:
        """That process has ended; its number may be given to another."""
        self._processes.remove(process)

    def add_check(self, check: Callable[[], str | None]) -> None:
        """Call it at every look; a text that it returns fails the attempt."""
        self._checks.append(check)

    def measure_by(self, progress: Callable[[], float]) -> None:
        """From now on, the attempt's progress is the answer of this function, from 0 to 1."""
        self._progress = progress

    @property
    def too_much(self) -> str:
        """The message for an attempt that breaks the limit."""
        return f"wrote more than {self._limit} bytes, its limit"

    def check(self) -> None:
        """Raise WorkFailed if a look found a reason to; cheap enough for every block."""
        if self.broken is not None:
            raise WorkFailed(self.broken)

    def last_look(self) -> None:
        """Measure once more, at the end of all work; raises WorkFailed as `check` does.

        Nothing is reported: the result follows at once and says the same.
        """
        self._measure()
        self.check()
        self.fraction = 1.0

    def look(self) -> None:
        """Measure, check, and report now and then; called by the thread."""
        self._looks += 1
        self._measure()
        for check in self._checks:
            found = check()  # also when the attempt has failed: it may end more processes
            self.broken = self.broken or found
        if self._looks % TELL_EVERY_LOOKS == 0:
            self._report()

    def _measure(self) -> None:
        if self._limit is None or self.broken is not None:
            return
        if self._bytes_on_disk() > self._limit:
            self.broken = self.too_much
            for process in list(self._processes):
                process.kill()

    def _bytes_on_disk(self) -> int:
        paths = [*self._files]
        for folder in self._folders:
            paths.extend(folder.rglob("*"))
        return sum(_size_bytes(path) for path in paths)

    def _report(self) -> None:
        alive = [process for process in list(self._processes) if process.returncode is None]
        for process in alive:
            self._moved[process.pid] = max(_moved_bytes(process), self._moved.get(process.pid, 0))
        if self._progress is not None:
            self.fraction = max(self.fraction, self._progress())
        moved = self.moved_bytes + sum(self._moved.values())
        # Without a change nothing is sent, so that an agent sees that an attempt is stuck.
        if self._fd is None or (self.fraction, moved, self.waits) == self._told:
            return
        self._told = (self.fraction, moved, self.waits)
        line = json.dumps({"fraction": round(self.fraction, 4), "bytes": moved}) + "\n"
        try:
            os.write(self._fd, line.encode())
        except OSError:
            self._fd = None  # the agent has closed its end; the work goes on


class _Looker:
    """The thread that looks at the watches of this process.

    It goes on for a while without any, for starting a thread costs a short task a tenth of its
    time. The attempt after the next one finds it there.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin again, as a forked child has to: the thread is not in it."""
        self._lock = threading.Lock()
        self._watches: list[Watch] = []
        self._thread: threading.Thread | None = None

    def add(self, watch: Watch) -> None:
        with self._lock:
            self._watches.append(watch)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
                self._thread.start()

    def drop(self, watch: Watch) -> None:
        with self._lock:
            if watch in self._watches:
                self._watches.remove(watch)

    def _run(self) -> None:
        idle_looks = 0
        while True:
            time.sleep(LOOK_EVERY_S)
            with self._lock:
                idle_looks = 0 if self._watches else idle_looks + 1
                if idle_looks > IDLE_LOOKS_MAX:
                    self._thread = None
                    return
                for watch in self._watches:
                    watch.look()


_LOOKER = _Looker()
os.register_at_fork(after_in_child=_LOOKER.forget)


def _size_bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0  # `sort` may remove its temporary files at any time


def _moved_bytes(process: Popen[bytes]) -> int:
    """Bytes that a living process has read and written, pipes included; 0 if unknown."""
    try:
        text = Path(f"/proc/{process.pid}/io").read_text("ascii")
    except OSError:
        return 0
    fields = dict(line.split(": ") for line in text.splitlines())
    return int(fields.get("rchar", 0)) + int(fields.get("wchar", 0))
