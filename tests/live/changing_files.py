"""Jobs whose input and code a test changes while they wait, or between a kill and `--resume`."""

import os
from pathlib import Path

from tests.live.command_line import Place
from tests.live.recorded_lives import lives_of

# Waits for a file named `go` when a line says "wait"; passes every line on.
PATIENT_SH = """\
while read -r line; do
    echo "$line"
    if [ "$line" = wait ]; then
        : > waits
        while [ ! -e go ]; do sleep 0.02; done
    fi
done
"""

PATIENT_PY = """\
import waiting


def mapper(line):
    waiting.wait(line)
    yield line, None
"""

WAITING_PY = """\
import os
import time


def wait(line):
    if line == "wait":
        open("waits", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.02)
"""


class ChangingFiles(Place):
    """A place whose job, "patient", waits at a line of its input until it may go on."""

    def lay_out(self, *contents, how="commands", map_slots=2, **run):
        """Files of input, code of both kinds, and a workload of one job on one node."""
        self.write_input("in", *contents)
        for name, text in (
            ("patient.sh", PATIENT_SH),
            ("patient.py", PATIENT_PY),
            ("waiting.py", WAITING_PY),
        ):
            (self.folder / name).write_text(text)
        code = {"python": "patient.py"} if how == "python" else {"mapper": "sh patient.sh"}
        run = {"input": ["in"], "output": "out", **code, **run}
        node = {"map_slots": map_slots, "reduce_slots": 1}
        jobs = [{"id": "patient", "run": run, "reduces": {"tasks": 1}}]
        self.write(jobs, cluster={"nodes": 1, "node": node})

    def waiting(self, maps_done):
        """A run with that many finished maps, while another one waits."""
        process = self.started("run", str(self.file), "--json")
        waits = self.folder / "waits"
        self.awaited(
            process, lambda: waits.exists() and self.maps_done == maps_done, "the waiting map"
        )
        return process

    @property
    def maps_done(self):
        """Tasks that the journal of the newest run knows to be done."""
        return len(lives_of(self.runs[-1]).finished) if self.runs else 0

    def killed(self, maps_done):
        """A run that was killed while a map waited."""
        process = self.waiting(maps_done)
        process.kill()
        process.communicate()
        assert self.processes_left() == {}

    def let_go(self):
        """The waiting map goes on."""
        (self.folder / "go").touch()


class Kept:
    """A file as it was, to be put back after a change: content, time and inode."""

    def __init__(self, path):
        self.path = path
        self._content, self._stat = path.read_bytes(), path.stat()
        self._link = path.with_name(f".{path.name}.kept")
        os.link(path, self._link)

    def restore(self):
        """Put it back."""
        self._link.replace(self.path)
        self.path.write_bytes(self._content)
        os.utime(self.path, ns=(self._stat.st_atime_ns, self._stat.st_mtime_ns))


def truncate(path: Path):
    os.truncate(path, path.stat().st_size - 2)


def append(path: Path):
    with path.open("ab") as file:
        file.write(b"late\n")


def edit(path: Path):
    """A change of code that does not break it."""
    with path.open("ab") as file:
        file.write(b"# edited\n")


def overwrite(path: Path):
    """Other bytes of the same length, in place."""
    path.write_bytes(path.read_bytes().translate(bytes(range(256)).replace(b"t", b"u")))


def replace(path: Path):
    """Another file of the same size and time under the same name."""
    before = path.stat()
    other = path.with_name(".other")
    other.write_bytes(path.read_bytes().replace(b"t", b"u"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def remove(path: Path):
    path.unlink()


def touch(path: Path):
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
