"""A real service in a folder of its own, and the commands of its users."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from tests import warm_start

PATIENCE_S = 60.0
NAP = """version: 1
jobs:
  - id: {name}
    maps: {{tasks: 1, avg_s: {seconds}, max_s: {seconds}}}
    run:
      input: [in/*.txt]
      output: out/{{job_id}}
      mapper: sh -c 'sleep {seconds}; cat'
"""
CONFIG = """version: 1
cluster: {nodes: 2, node: {map_slots: 2, reduce_slots: 1}}
prices: {vm_hour_usd: 1.0}
service: {promise_wait_s: 30}
"""
LOCAL = ("--config", "serve.yaml", "--listen", "none")
TEXT = b"a b c\nb c\n"
# One more job of a file, which comes when its job `first` is done.
AFTER = """
  - id: next
    after: [first]
    maps: {tasks: 1, avg_s: 0.5, max_s: 0.5}
    run:
      input: [in/*.txt]
      output: out/{job_id}
      mapper: sh -c 'sleep 0.5; cat'
"""


class Service:
    """One state folder. run: a command of a user, with its exit code, output and messages."""

    def __init__(self, folder, options=LOCAL, popen=warm_start.Popen):
        self.folder, self.options, self._popen = folder, options, popen
        if not (folder / "serve.yaml").exists():
            (folder / "serve.yaml").write_text(CONFIG)
        self.env = os.environ | {"SLUICE_HOME": str(folder / "home")}
        self.process = None
        (folder / "in").mkdir(exist_ok=True)
        if not (folder / "in" / "one.txt").exists():
            (folder / "in" / "one.txt").write_bytes(TEXT)

    def start(self):
        """Start it, and wait until it takes jobs."""
        self.process = self._popen(
            [sys.executable, "-m", "sluice", "serve", *self.options],
            cwd=self.folder, env=self.env, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        line = self.process.stderr.readline()
        assert line.startswith("Serving"), line + self.process.stderr.read()
        self.page = ""
        if "none" not in self.options:
            self.page = self.process.stderr.readline().split()[1]

    def stop(self):
        """End it in order, whatever is left of it."""
        said = self.run("serve", "stop")
        if self.process is not None:
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired as error:
                error.add_note(f"`sluice serve stop` said {said}")
                raise
            self.process.stderr.close()

    def run(self, *arguments):
        """A command of a user: exit code, stdout, stderr."""
        command = self.command(*arguments)
        out, err = command.communicate()
        return command.returncode, out, err

    def command(self, *arguments):
        """A command of a user that has just started. There are many: none imports all of Sluice."""
        return warm_start.Popen(
            [sys.executable, "-m", "sluice", *arguments],
            cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def document(self, *arguments):
        """The JSON document of a command that ends well, or with a true no."""
        code, out, err = self.run(*arguments, "--json")
        assert code in {0, 1}, err
        return json.loads(out)

    def nap(self, name="nap", seconds=0.1):
        """A workload file of one job that sleeps and then copies its input."""
        (self.folder / f"{name}.yaml").write_text(NAP.format(name=name, seconds=seconds))
        return f"{name}.yaml"

    def pid(self, who):
        """The process of the driver or the follower, if it answers."""
        found = self.run("serve", "status", "--json")
        return json.loads(found[1])[who]["pid"] if found[0] == 0 else None

    def output(self, job_id):
        """The output of a job."""
        parts = sorted((self.folder / "out" / job_id).glob("part*"))
        return b"".join(part.read_bytes() for part in parts)

    def settled(self, but=()):
        """The rows of all jobs, once none of them is open, but for some."""
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            rows = self.document("jobs", "--limit", "1000")["jobs"]
            if all(
                row["state"] not in {"waiting", "running"} or row["job_id"] in but for row in rows
            ):
                return {row["job_id"]: row for row in rows}
            time.sleep(0.2)
        raise AssertionError("jobs are still open")


@contextmanager
def serving(folder, *options, config=CONFIG, popen=warm_start.Popen):
    """A service that runs. popen: `subprocess.Popen` for one that imports all of Sluice itself."""
    (folder / "serve.yaml").write_text(config)
    service = Service(folder, options or LOCAL, popen)
    service.start()
    try:
        yield service
    finally:
        service.stop()


def killed(pid):
    """Kill a process, if there is one, and wait until it is gone."""
    if pid is None:
        return
    os.kill(pid, signal.SIGKILL)
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
