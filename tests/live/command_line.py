"""The real command line in processes of its own, on a folder of a test's own."""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests import warm_start

import sluice

PATIENCE_S = 120.0
GONE_WITHIN_S = 5.0
LISTENS = "0A"  # a state in /proc/net/tcp


class Place:
    """A folder with a workload file, its input, its output, and the state of its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.file = folder / "jobs.json"
        self._processes: list[subprocess.Popen[str]] = []

    def end(self):
        """Kill whatever a test that failed has left running."""
        for process in self._processes:
            process.kill()
            process.communicate()

    def awaited(self, process, claim, what, patience_s=PATIENCE_S):
        """As the function, while one of its processes runs; without an answer, end that process.

        One that has ended can change nothing any more. The failure shows what it printed.
        """
        try:
            awaited(lambda: claim() or process.poll() is not None, what, patience_s)
            answer = claim()
            assert answer, f"the process ended before {what}"
        except AssertionError as failure:
            left = [shown_of(pid) for pid in self.processes()]
            code = process.poll()
            process.kill()
            heard, complained = process.communicate()
            ended = "did not end" if code is None else f"ended with exit code {code}"
            failure.add_note(f"It {ended}, had the processes {left}, and printed:")
            failure.add_note(heard + complained)
            raise
        return answer

    def write(self, jobs, **more):
        """The workload file: two nodes with two map slots and a reduce slot each, by default."""
        node = {"map_slots": 2, "reduce_slots": 1}
        workload = {"version": 1, "cluster": {"nodes": 2, "node": node}, "jobs": jobs} | more
        self.file.write_text(json.dumps(workload))

    def write_input(self, name, *contents):
        """Files in a folder."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        for number, content in enumerate(contents):
            data = content if isinstance(content, bytes) else content.encode()
            (folder / f"file-{number}").write_bytes(data)

    def started(self, *words, killed_at=None, before=(), cwd=None, stdin=None, is_warm=True):
        """`sluice WORDS` as a process.

        killed_at: (audit event, how many), as in `dying_at`.  before: words of another command.
        cwd: instead of the folder.  stdin: a file open for reading.  is_warm: as `warm_start` says.
        """
        program = ["-m", "sluice"] if killed_at is None else ["-m", "tests.live.dying_at"]
        moment = () if killed_at is None else map(str, killed_at)
        process = (warm_start.Popen if is_warm else subprocess.Popen)(
            [*before, sys.executable, *program, *moment, *words],
            cwd=cwd or self.folder,
            env=environment(self.home),
            stdin=stdin or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        return process

    def sluice(self, *words, **more):
        """(exit code, stdout, stderr) of `sluice WORDS`."""
        process = self.started(*words, **more)
        heard, complained = process.communicate(timeout=PATIENCE_S)
        return process.returncode, heard, complained

    def run(self, *words, **more):
        """`sluice run FILE WORDS`."""
        return self.sluice("run", str(self.file), *words, **more)

    def document(self, *words):
        """The exit code and the JSON document of `sluice run FILE --json WORDS`."""
        code, heard, complained = self.run("--json", *words)
        assert heard, complained
        return code, json.loads(heard)

    def story(self, job_id):
        """The lines that `sluice story` shows of a job of the newest run, as one text."""
        code, heard, complained = self.sluice("story", "--json", "--", job_id)
        assert code == 0, complained
        return "\n".join(line["why"] for line in json.loads(heard)["lines"])

    def outputs(self, name="out"):
        """Every file below the output folder with its bytes, without the marks of runs."""
        folder = self.folder / name
        everything = (path for path in sorted(folder.rglob("*")) if path.is_file())
        files = (path for path in everything if path.name != ".sluice")
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    def lines(self, output):
        """All lines of a job's part files; only a newline ends one."""
        parts = sorted((self.folder / output).glob("part-*"))
        texts = [part.read_bytes().removesuffix(b"\n") for part in parts if part.stat().st_size]
        return [line for text in texts for line in text.split(b"\n")]

    @property
    def runs(self):
        """The folders of its runs, oldest first; one that died before its journal never began."""
        return sorted(path.parent for path in self.home.glob("runs/*/journal.db"))

    def remains(self):
        """The scratch folders and staging folders, which a run that is over must not leave."""
        scratch = list(self.home.glob("runs/*/scratch"))
        return scratch + [path for path in self.folder.rglob(".*.sluice-*") if path.is_dir()]

    def processes(self):
        """Processes that were started for a node of one of its runs."""
        return marked(f"SLUICE_NODE={self.home}")

    def processes_left(self):
        """Those that are still there when they have had a few seconds to go."""
        until_s = time.monotonic() + GONE_WITHIN_S
        while (left := self.processes()) and time.monotonic() < until_s:
            time.sleep(0.02)
        return {pid: shown_of(pid) for pid in left}


def environment(home):
    """That of a user whose Sluice is this one."""
    source = Path(sluice.__path__[0]).parent
    paths = [str(source), str(Path(__file__).parents[2])]
    return os.environ | {
        "SLUICE_HOME": str(home),
        "SLUICE_DEBUG": "1",
        "PYTHONPATH": os.pathsep.join(paths),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }


def marked(mark):
    """Living processes that were started with a word in their environment that begins so."""
    wanted = os.fsencode(mark)
    return [pid for pid in all_pids() if any(w.startswith(wanted) for w in words_of(pid))]


def all_pids():
    """Every process there is."""
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def words_of(pid, file="environ"):
    """The environment of a process, or its command line; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes().split(b"\0")
    except OSError:
        return []


def listening_hosts(pid):
    """The IPv4 addresses at which a process listens."""
    sockets = {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {
        socket.inet_ntoa(bytes.fromhex(row[1].partition(":")[0])[::-1])
        for row in rows
        if row[3] == LISTENS and f"socket:[{row[9]}]" in sockets
    }


def is_program(words, end):
    """Whether a command line begins with a program whose path ends so."""
    return any(word.endswith(end) for word in words[:1])


def shown_of(pid):
    """The command line of a process, for a message."""
    return shlex.join(os.fsdecode(word) for word in words_of(pid, "cmdline")[:-1])


def awaited(claim, what, patience_s=PATIENCE_S):
    """The first true answer of `claim`, asked again and again."""
    until_s = time.monotonic() + patience_s
    while not (answer := claim()):
        assert time.monotonic() < until_s, f"waited in vain for {what}"
        time.sleep(0.02)  # most claims read a journal or all of /proc
    return answer
