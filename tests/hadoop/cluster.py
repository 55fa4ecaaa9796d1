"""A real Hadoop: NameNode, DataNodes, ResourceManager, NodeManagers and history server.

Each is a process of its own on loopback, so that one can be killed. The jars come from Maven
Central once, into build/hadoop.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from tests import skips
from tests.hadoop import configuration as conf
from tests.live.command_line import all_pids, words_of

HOUSE = Path(__file__).resolve().parents[2]
LIB = HOUSE / "build/hadoop/lib"
POM = Path(__file__).with_name("pom.xml")
UP_S = 180.0
_YARN = "org.apache.hadoop.yarn.server"
_HDFS = "org.apache.hadoop.hdfs.server"
# A client of Hadoop: the smallest of its examples, of two maps and a reduce.
PI = ("org.apache.hadoop.examples.ExampleDriver", "pi", "2", "10")
DAEMONS = {
    "rm": (f"{_YARN}.resourcemanager.ResourceManager", 384),
    "nn": (f"{_HDFS}.namenode.NameNode", 256),
    "nm": (f"{_YARN}.nodemanager.NodeManager", 256),
    "dn": (f"{_HDFS}.datanode.DataNode", 192),
    "hs": ("org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 256),
}


def jars():
    """The folder of Hadoop's jars. Skips where they cannot be had."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            skips.skip(f"{program} is not installed here")
    mark = LIB / POM.name
    if not mark.exists() or mark.read_text() != POM.read_text():
        shutil.rmtree(LIB, ignore_errors=True)
        made = subprocess.run(
            ["mvn", "-B", "-q", "-f", POM, "dependency:copy-dependencies",
             "-DincludeScope=runtime", f"-DoutputDirectory={LIB}"],
            capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        if made.returncode != 0:
            skips.skip(f"Maven cannot get Hadoop: {made.stdout[-500:]}")
        shutil.copy(POM, mark)
    return LIB


class Hadoop:
    """work: a folder of its own.  nodes: how many."""

    def __init__(self, work: Path, *, nodes: int = 3, scheduler: str = "capacity"):
        self.work, self.nodes, self.lib = work, nodes, jars()
        self.port = _free_ports(conf.PORTS * (nodes + 1))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        conf.write(work, self.lib, self.port, nodes, scheduler=scheduler)

    @property
    def address(self):
        """The web address of the ResourceManager."""
        return f"http://{conf.HERE}:{self.port + conf.RM_WEB}"

    @property
    def history(self):
        """The web address of the history server."""
        return f"http://{conf.HERE}:{self.port + conf.HISTORY_WEB}"

    @property
    def files(self):
        """The address of the file system, without Java."""
        return f"webhdfs://root@{conf.HERE}:{self.port + conf.NAMES_WEB}"

    def start(self):
        self._run(DAEMONS["nn"][0], "-format", "-nonInteractive")
        for name in ("rm", "nn"):
            self.spawn(name)
        for number in range(1, self.nodes + 1):
            self.spawn("dn", number)
            self.spawn("nm", number)
        self.await_nodes(self.nodes)
        web = f"http://{conf.HERE}:{self.port + conf.NAMES_WEB}/jmx"
        beans = f"{web}?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        self._await("HDFS", lambda: _json(beans)["beans"][0]["NumLiveDataNodes"] == self.nodes)
        self.hdfs("-mkdir", "-p", "/staging", "/user/root")

    def start_history(self):
        self.spawn("hs")
        self._await("history server", lambda: _json(f"{self.history}/ws/v1/history/info"))

    def await_nodes(self, count):
        """Wait until so many NodeManagers are up."""
        metrics = f"{self.address}/ws/v1/cluster/metrics"
        self._await(
            f"{count} NodeManagers",
            lambda: _json(metrics)["clusterMetrics"]["activeNodes"] == count,
        )

    def spawn(self, name, number=0):
        """Start a daemon, or start it again."""
        java_class, heap = DAEMONS[name]
        key = f"{name}{number or ''}"
        with (self.work / f"{key}.log").open("ab") as log:
            self._processes[key] = subprocess.Popen(
                self.command(java_class, heap=heap, number=number),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.work, env=self.environment(number), start_new_session=True,
            )  # fmt: skip

    def kill(self, name, number=0):
        """End a daemon at once; what it has started lives on."""
        process = self._processes.pop(f"{name}{number or ''}")
        process.kill()
        process.wait()

    def stop(self):
        """At once: nothing is kept, and an orderly stop takes a quarter of a minute."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
        # Containers outlive a NodeManager that is killed.
        in_container = os.fsencode(f"{self.work}/nm")
        for pid in all_pids():
            if any(in_container in word for word in words_of(pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def hdfs(self, *words):
        """The output of a command of the file system's shell."""
        return self._run("org.apache.hadoop.fs.FsShell", *words)

    def hosts_of(self, path):
        """The hosts of the first block of a file."""
        web = f"http://{conf.HERE}:{self.port + conf.NAMES_WEB}/webhdfs/v1{path}"
        found = _json(f"{web}?op=GETFILEBLOCKLOCATIONS&user.name=root")
        return found["BlockLocations"]["BlockLocation"][0]["hosts"]

    def java(self, java_class, *words):
        """The output of a client of Hadoop."""
        return self._run(java_class, *words)

    def applications(self, states="RUNNING,ACCEPTED"):
        found = _json(f"{self.address}/ws/v1/cluster/apps?states={states}")["apps"] or {}
        return found.get("app", [])

    def _run(self, java_class, *words):
        done = subprocess.run(
            self.command(java_class, *words), cwd=self.work, env=self.environment(),
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout[-500:], done.stderr[-2000:])
        return done.stdout

    def command(self, java_class, *words, heap=256, number=0):
        """The command of a client or a daemon of Hadoop."""
        path = f"{self._conf(number)}:{self.lib}/*"
        options = conf.java_options(self.work)
        return [shutil.which("java"), f"-Xmx{heap}m", *options, "-cp", path, java_class, *words]

    def _conf(self, number):
        return self.work / (f"conf-{number}" if number else "conf")

    def environment(self, number=0):
        home = Path(shutil.which("java")).resolve().parents[1]
        own = {"JAVA_HOME": str(home), "HADOOP_CONF_DIR": str(self._conf(number))}
        return os.environ | own | {"HADOOP_HOME": str(self.work), "LC_ALL": "C.UTF-8"}

    def _await(self, what, is_there):
        give_up_at_s = time.monotonic() + UP_S
        while time.monotonic() < give_up_at_s:
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                if is_there():
                    return
            time.sleep(0.2)
        logs = {path.name: path.read_text()[-800:] for path in self.work.glob("*.log")}
        raise AssertionError(f"{what}: not there after {UP_S:g} s: {logs}")


def _json(url):
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  # one of our own
        return json.load(answer)


def _free_ports(count):
    """The first of so many free ports in a row, below those that systems give out themselves."""
    for first in range(21_000, 32_000, count):
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.create_server(("", port)))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports")
