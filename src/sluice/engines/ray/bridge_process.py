"""The bridge of a run as the driver sees it: a process, a socket, and a record in the run's folder.

The record holds the token of the run, and the folder in which the bridge's socket is. A resumed run
reads it, and finds the bridge, the actors and the node servers of the run that was interrupted.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sluice.engines.agent import kernel
from sluice.engines.agent.attempts import tail
from sluice.engines.agent.channel import Channel, parsed
from sluice.engines.cluster.handshake import new_token
from sluice.engines.cluster.run_record import RunRecord
from sluice.engines.local.agents import NODE_MARK, sweep
from sluice.engines.ray.authentication import authentication_mode
from sluice.engines.ray.bridge import BRIDGE_NAME, BridgeSettings
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.store.private import make_private_folder, open_private_file

RAY_FOLDER = "ray"  # in the folder of a run
RECORD_NAME = "bridge.json"
ROOT_PREFIX = "sluice-ray-"
ROOT_CHARACTERS_MAX = 30  # Ray makes sockets in it, whose paths may have 107
AUTO = "auto"  # the address of the cluster that this machine belongs to
END_S = 30.0
LIST_S = 60.0
CONNECT_S = 5.0

# As for the agent: the bridge imports from the folders that this process imports from.
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sluice.engines.ray.bridge import main; main()"
)

# Of the head, which decides which nodes are dead: a hung one within 5 s. Engines spec, section 4.
FAILURE_DETECTION = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RayPlace:
    """Where the nodes are. address: of a Ray cluster; None for an embedded one.

    raylets: of an embedded cluster.  grace_s: how long all goes on without driver.
    token: of the node servers; "" for a new one.  rented: nodes that a former life had
    rented, of an embedded cluster.
    """

    address: str | None = None
    raylets: int = 0
    grace_s: float = 60.0
    token: str = field(default="", repr=False)
    rented: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeRecord(RunRecord):
    """root: the bridge's folder."""

    file = RECORD_NAME
    root: str


class BridgeProcess:
    """folder: of the run's bridge, private. Raises EngineUnavailable or OSError."""

    def __init__(self, folder: Path, place: RayPlace) -> None:
        make_private_folder(folder)
        self._folder = folder.resolve()
        self._errors = self._folder / "bridge.log"
        self._process: subprocess.Popen[bytes] | None = None
        record = BridgeRecord.read(self._folder)
        connected = None if record is None else _connected(Path(record.root, "s"))
        self.is_found = connected is not None
        if record is None or connected is None:
            _check_listens(place.address)
            end_remnants(self._folder)
            root = _new_root()
            token = place.token or (record.token if record else new_token())
            record = BridgeRecord(token=token, root=str(root))
            record.write(self._folder)
            connected = self._start(root, place)
        self.token = record.token
        self._root = Path(record.root)
        descriptor = connected.detach()
        self._channel = Channel(descriptor, os.dup(descriptor))

    def reports(self) -> list[dict[str, Any]]:
        """Return what the bridge has reported since the last call."""
        self._channel.flush()
        found = [parsed(line) for line in self._channel.lines()]
        if self._channel.is_at_end and self._channel.read_fd is not None:
            self._channel.close()
            found.append({"report": "fault", "why": f"its bridge ended\n{tail(self._errors)}"})
        return found

    def send(self, command: Mapping[str, Any]) -> None:
        """Hand over a command."""
        self._channel.send(command)
        self._channel.flush()

    def stop(self) -> None:
        """End the bridge, with all that it has started."""
        self.send({"do": "stop"})
        give_up_at_s = time.monotonic() + END_S
        while self._channel.read_fd is not None and time.monotonic() < give_up_at_s:
            self.reports()
            time.sleep(0.01)
        self._channel.close()
        end_remnants(self._folder)
        if self._process is not None:
            self._process.wait()
        (self._folder / RECORD_NAME).unlink(missing_ok=True)

    def _start(self, root: Path, place: RayPlace) -> socket.socket:
        path = str(root / "s")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            settings = bridge_settings(place, root, f"sluice-{self._folder.parent.name}")
            mark = {NODE_MARK: str(self._folder)} if settings.env else {}
            settings = replace(settings, listen_fd=listener.fileno(), env=dict(settings.env) | mark)
            errors = open_private_file(self._errors, os.O_WRONLY | os.O_TRUNC)
            try:
                self._process = _started(settings, errors, mark=str(self._folder))
            finally:
                os.close(errors)
        return _connected(Path(path)) or _unavailable("its bridge ended at once")


def token_of(folder: Path) -> str:
    """The token of the run with this bridge folder: of its bridge before, or a new one."""
    record = BridgeRecord.read(folder)
    return record.token if record else new_token()


def bridge_settings(place: RayPlace, root: Path, namespace: str) -> BridgeSettings:
    """The settings of a bridge."""
    is_here = place.address is None
    return BridgeSettings(
        root=str(root),
        address=place.address,
        raylets=[*map(str, range(place.raylets)), *place.rented],
        namespace=namespace,
        grace_s=place.grace_s,
        import_path=[entry for entry in sys.path if entry] if is_here else [],
        env=dict(os.environ) if is_here else {},
    )


def listed_nodes(address: str) -> Sequence[Mapping[str, Any]]:
    """The nodes of a Ray cluster now. Raises EngineUnavailable."""
    _check_listens(address)
    root = _new_root()
    try:
        settings = bridge_settings(RayPlace(address=address), root, "sluice-list")
        process = _started(settings, subprocess.DEVNULL, mark=str(root), stdout=subprocess.PIPE)
        try:
            answer, _ = process.communicate(timeout=LIST_S)
            said = parsed(answer)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            said = {"fault": f"no answer in {LIST_S:g} s"}
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if "nodes" not in said:
        _unavailable(f"{address}: {said.get('fault', 'Ray ended without an answer')}")
    nodes: list[Mapping[str, Any]] = said["nodes"]
    return nodes


def host_and_port(address: str) -> tuple[str, int] | None:
    """The parts of HOST:PORT; None for another text.

    >>> host_and_port("head:6379"), host_and_port("[::1]:6379"), host_and_port("ray://head:1")
    (('head', 6379), ('::1', 6379), None)
    """
    host, _, port = address.rpartition(":")
    is_right = (
        host and "/" not in host and port.isascii() and port.isdigit() and int(port) < 1 << 16
    )
    return (host.strip("[]"), int(port)) if is_right else None


def _check_listens(address: str | None) -> None:
    """Raise EngineUnavailable if nothing listens there; Ray would try again for a minute."""
    place = host_and_port(address or "")
    if place is None:
        return
    try:
        socket.create_connection(place, CONNECT_S).close()
    except OSError as error:
        _unavailable(
            f"{address}: {error.strerror or error}. Start it, or give the address that"
            " `ray start --head` printed."
        )


def check_ray() -> None:
    """Raise InvalidInput if Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise InvalidInput(
            "engine 'ray' needs Ray, which is not installed",
            where="--engine",
            hint='run: pip install "sluice[ray]"',
        )


def end_remnants(folder: Path) -> bool:
    """End what a bridge has left: its processes and its folder. Returns whether there was any.

    folder: of the run's bridge.  No other process may use the run now.
    """
    record = BridgeRecord.read(folder)
    if record is None:
        return False
    sweep(folder.resolve())
    root = Path(record.root)
    # Only what looks like such a folder is ever removed, whatever a damaged file says.
    was_there = root.name.startswith(ROOT_PREFIX) and root.is_dir()
    if was_there:
        shutil.rmtree(root, ignore_errors=True)
    return was_there


def has_bridge(folder: Path) -> bool:
    """Whether a bridge serves the run with this folder. It ends by itself, after the grace time."""
    mark = f"{NODE_MARK}={folder.resolve()}"
    return any(
        kernel.has_mark(pid, mark) and kernel.process_name(pid) == BRIDGE_NAME
        for pid in kernel.all_pids()
    )


def _new_root() -> Path:
    usual = tempfile.gettempdir()
    parent = usual if len(usual) <= ROOT_CHARACTERS_MAX else "/tmp"  # noqa: S108  # a short path
    return Path(tempfile.mkdtemp(prefix=ROOT_PREFIX, dir=parent))


def _started(
    settings: BridgeSettings, stderr: int, *, mark: str, stdout: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    path = [str(entry) for entry in sys.path]
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", BOOT, json.dumps(path)],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        pass_fds=(settings.listen_fd,) if settings.listen_fd >= 0 else (),
        env=_environment(settings) | {NODE_MARK: mark},
        start_new_session=True,  # Ctrl-C at the terminal does not reach it
    )
    assert process.stdin is not None
    with suppress(OSError), process.stdin:  # it has ended; its log says why
        process.stdin.write(json.dumps(asdict(settings)).encode() + b"\n")
    process.stdin = None
    return process


def _environment(settings: BridgeSettings) -> dict[str, str]:
    """For the bridge and all that Ray starts. Ray reads it when it is imported."""
    environment = dict(os.environ) | {"RAY_USAGE_STATS_ENABLED": "0"}
    if settings.address is None:
        token = Path(settings.root, "token")
        with os.fdopen(open_private_file(token, os.O_WRONLY | os.O_TRUNC), "w") as text:
            text.write(new_token())
        own = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_TMPDIR": settings.root,
            "RAY_memory_monitor_refresh_ms": "0",  # the limits of attempts are the agents' part
            "RAY_worker_niceness": "0",  # its 15 would hold for all attempts
            "PYTHONPATH": os.pathsep.join(settings.import_path),
        }
        environment.pop("RAY_ADDRESS", None)
        environment.pop("RAY_AUTH_TOKEN", None)
        return environment | own | FAILURE_DETECTION
    # Ray would make a token in the home folder where nothing is said.
    return environment | {"RAY_AUTH_MODE": authentication_mode(environment)}


def _connected(path: Path) -> socket.socket | None:
    connecting = socket.socket(socket.AF_UNIX)
    try:
        connecting.connect(str(path))
    except OSError:
        connecting.close()
        return None
    return connecting


def _unavailable(why: str) -> Any:  # noqa: ANN401  # it never returns
    raise EngineUnavailable(f"no Ray cluster: {why}")
