"""A Ray cluster that exists by itself: `ray start --head`, and `ray start` for each other node.

All its processes end with this one, also if this one is killed.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.live.command_line import all_pids, awaited, is_program, marked, words_of

from sluice.engines.agent.kernel import process_name
from sluice.engines.ray.bridge_process import FAILURE_DETECTION

MARK = "RAY_BY_HAND"
STORE_BYTES = 80_000_000
END_S = 20.0
COMMANDS = (
    "cluster_synced_files",
    "file_mounts_sync_continuously",
    "initialization_commands",
    "setup_commands",
    "head_setup_commands",
    "worker_setup_commands",
    "head_start_ray_commands",
    "worker_start_ray_commands",
)
AUTOSCALER = {"AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_FAKE_CLUSTER": "1"}


class RayByHand:
    """A head without processors.

    autoscales_to: nodes of 2 processors that its autoscaler starts when it is asked for them.
    env: of the user of the cluster, and of all its nodes.
    """

    def __init__(self, import_path, autoscales_to=0):
        self._folder = Path(tempfile.mkdtemp(prefix="rh-", dir="/tmp"))  # sockets: a short path
        (self._folder / "token").write_text(secrets.token_hex(16))
        self.env = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self._folder / "token"),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_TMPDIR": str(self._folder),
            "TMPDIR": str(self._folder),
            "PYTHONPATH": import_path,
        }
        self._port = free_port()
        self.address = f"127.0.0.1:{self._port}"
        self._nodes = {}
        head = ["--head", f"--port={self._port}", f"--temp-dir={self._folder}"]
        more = AUTOSCALER if autoscales_to else {}
        if autoscales_to:
            rules = self._folder / "autoscaling.json"
            rules.write_text(json.dumps(autoscaling(self.address, autoscales_to)))
            head.append(f"--autoscaling-config={rules}")
        self._start("head", FAILURE_DETECTION | more, *head)

    def add(self, name, cpus, **labels):
        """Start a node; it belongs to the cluster soon after. Two at a time would take one name."""
        given = ",".join(f"{label}={value}" for label, value in labels.items())
        options = [f"--labels={given}"] if given else []
        self._start(name, {}, f"--address={self.address}", f"--num-cpus={cpus}", *options)

    def kill(self, name):
        """`kill -9` of a raylet; what it has started ends by itself."""
        os.kill(awaited(lambda: self._raylet(name), f"raylet {name}"), signal.SIGKILL)
        self._nodes.pop(name).wait(END_S)

    def sluice_processes(self):
        """Those of Sluice that are on the nodes now."""
        return [pid for pid in marked(self._mark) if process_name(pid).startswith("sluice")]

    def end(self):
        """End all of it."""
        while left := marked(self._mark):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in self._nodes.values():
                process.wait(END_S)
        shutil.rmtree(self._folder)

    @property
    def _mark(self):
        return f"{MARK}={self._folder}"

    def _raylet(self, name):
        mark = f"{self._mark}/{name}".encode()
        ours = (pid for pid in all_pids() if mark in words_of(pid))
        is_raylet = (pid for pid in ours if is_program(words_of(pid, "cmdline"), b"raylet/raylet"))
        return next(is_raylet, None)

    def _start(self, name, env, *options):
        with (self._folder / f"{name}.log").open("wb") as log:
            self._nodes[name] = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "TERM"),
                    *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block"),
                    *("--disable-usage-stats", "--include-log-monitor=false"),
                    f"--object-store-memory={STORE_BYTES}",
                    *(["--num-cpus=0", "--include-dashboard=false"] if name == "head" else []),
                    *options,
                ],
                env=os.environ | self.env | env | {MARK: f"{self._folder}/{name}"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        text = self._folder / f"{name}.log"
        awaited(lambda: "Ray runtime started" in text.read_text(), f"raylet {name}")


def autoscaling(address, nodes):
    """The rules of an autoscaler whose nodes are raylets of this machine."""
    head = {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0}
    other = {"resources": {"CPU": 2, "object_store_memory": STORE_BYTES}, "node_config": {}}
    return {
        "cluster_name": "by-hand",
        "max_workers": nodes,
        "provider": {
            "type": "fake_multinode",
            "gcs_address": address,
            "disable_node_updaters": True,  # they would log in by ssh
            "use_node_id_as_ip": True,  # all have one; else it sees none of them idle
        },
        "available_node_types": {
            "ray.head.default": head,
            "other": other | {"min_workers": 0, "max_workers": nodes},
        },
        "head_node_type": "ray.head.default",
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": 0.1,
        "auth": {},
        "file_mounts": {},
        **{name: [] for name in COMMANDS},
    }


def free_port():
    """A port that nobody listens at now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
