"""Holds the processes of each virtual node to the cpu, memory and io of that node, by cgroup v2.

A node's capacity is in percent of this machine, as `profile-run` measures demands. Each node gets
a control group below the one in which this process runs; its agent and all that the agent starts
are in it. This needs a delegated group, such as that of `systemd-run --user --scope -p
Delegate=yes`: one that this user may write to, and that holds no process but this one. The kernel
allows limits only below groups without processes, so this process moves into a group of its own.

The io of a node is a share of what the disk moves, which the user says; it is the disk of the run's
scratch folder. Without that, or without the controller, io is only scheduled. cgroup v2 has no
limit for the bytes of a network.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst, "Delegation", "No Internal Process
Constraint" and "IO Interface Files".
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.model.cluster import Node
from sluice.model.ids import NodeId

_CONTROLLERS = ("cpu", "memory")
_IO = "io"
_RESOURCES = (*_CONTROLLERS, _IO, "network")
_OF_MACHINE = "in percent of this machine"
_PERIOD_US = 100_000
_QUOTA_US_MIN = 1000  # the kernel takes no less
_FULL = 100.0


class LimitsUnavailable(Exception):
    """This machine cannot hold nodes to limits; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The resources that the limits are a share of, and where the kernel has its control groups.

    io_bytes_per_s: what its disk moves; None if that is not known.  disk: its number as the kernel
    writes it, such as 8:0; "" for a file system that is on no disk.
    """

    processors: int
    memory_bytes: int
    io_bytes_per_s: float | None = None
    disk: str = ""
    groups: Path = Path("/sys/fs/cgroup")
    own_group: Path = Path("/proc/self/cgroup")

    @classmethod
    def this(cls, *, io_bytes_per_s: float | None = None, scratch: Path | None = None) -> Machine:
        """The machine on which this process runs. scratch: a folder on the disk to limit."""
        return cls(
            io_bytes_per_s=io_bytes_per_s,
            disk="" if scratch is None else disk_of(scratch),
            processors=os.cpu_count() or 1,
            memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        )


class NodeLimits:
    """The control groups of the nodes of one engine. `close` removes them.

    only_scheduled: resources of the nodes that no limit holds, and why.
    """

    def __init__(self, nodes: Sequence[Node], machine: Machine) -> None:
        """Make the groups. Raises LimitsUnavailable; nothing is left behind then."""
        self._machine = machine
        self._own, found = _delegated_group(machine)
        self.only_scheduled = _only_scheduled(nodes, machine, found)
        self._held = [one for one in capacities_of(nodes) if one not in self.only_scheduled]
        self._holds_io = _IO in self._held
        self._leaf = self._own / f"sluice-{os.getpid()}"
        self._groups: dict[NodeId, Path] = {}
        try:
            self._leaf.mkdir()
            write_in_group(self._leaf / "cgroup.procs", str(os.getpid()))
            write_in_group(self._own / "cgroup.subtree_control", self._switched("+"))
            for node in nodes:
                self._add(node)
        except OSError as error:
            self.close()
            raise LimitsUnavailable(f"{error.filename}: {error.strerror}") from error

    @property
    def summary(self) -> str:
        """A sentence without its point: what tasks are held to, and what is only scheduled."""
        parts = [f"{name} is only scheduled: {why}" for name, why in self.only_scheduled.items()]
        if self._held:
            most, last = ", ".join(self._held[:-1]), self._held[-1]
            listed = f"{most} and {last}" if most else last
            parts = [f"tasks are held to the {listed} of their node, {_OF_MACHINE}", *parts]
        return "; ".join(parts)

    def confine(self, node: Node, pid: int) -> None:
        """Put a process into the group of a node; what it starts from now on is in it, too.

        A node that came later gets a group now. Raises OSError.
        """
        if node.node_id not in self._groups:
            self._add(node)
        write_in_group(self._groups[node.node_id] / "cgroup.procs", str(pid))

    def _add(self, node: Node) -> None:
        group = self._own / f"{self._leaf.name}-node-{len(self._groups) + 1}"
        group.mkdir()
        self._groups[node.node_id] = group
        limits = limits_of(node, self._machine)
        if not self._holds_io:
            limits.pop("io.max", None)
        for name, text in limits.items():
            write_in_group(group / name, text)

    def close(self) -> None:
        """Remove the groups, and move this process back. Processes in the groups have ended."""
        for group in self._groups.values():
            with contextlib.suppress(OSError):
                write_in_group(group / "cgroup.kill", "1")  # a daemon may have stayed
            with contextlib.suppress(OSError):
                group.rmdir()
        for path, text in (
            (self._own / "cgroup.subtree_control", self._switched("-")),
            (self._own / "cgroup.procs", str(os.getpid())),
        ):
            with contextlib.suppress(OSError):
                write_in_group(path, text)
        with contextlib.suppress(OSError):
            self._leaf.rmdir()

    def _switched(self, sign: str) -> str:
        used = (*_CONTROLLERS, _IO) if self._holds_io else _CONTROLLERS
        return " ".join(f"{sign}{name}" for name in used)


def capacities_of(nodes: Sequence[Node]) -> list[str]:
    """The resources of which a node has an amount of its own."""
    return [one for one in _RESOURCES if any(getattr(node.capacity, one) for node in nodes)]


def limits_of(node: Node, machine: Machine) -> dict[str, str]:
    """The files of a node's group with their contents; none for a resource of which it has 0.

    >>> from sluice.model.resources import Resources
    >>> half = Node(node_id=NodeId("n"), capacity=Resources(cpu=50, memory=25))
    >>> limits_of(half, Machine(processors=4, memory_bytes=1000))
    {'cpu.max': '200000 100000', 'memory.max': '250'}
    """
    found = {}
    if node.capacity.cpu:
        quota_us = round(node.capacity.cpu / _FULL * machine.processors * _PERIOD_US)
        found["cpu.max"] = f"{max(_QUOTA_US_MIN, quota_us)} {_PERIOD_US}"
    if node.capacity.memory:
        found["memory.max"] = str(round(node.capacity.memory / _FULL * machine.memory_bytes))
    if node.capacity.io and machine.io_bytes_per_s and machine.disk:
        most = max(1, round(node.capacity.io / _FULL * machine.io_bytes_per_s))
        # Reads and writes have a limit each; the node's io is for both, and one alone may use it.
        found["io.max"] = f"{machine.disk} rbps={most} wbps={most}"
    return found


def disk_of(folder: Path, system: Path = Path("/sys")) -> str:
    """The number of the disk that a folder is on; "" if its file system is on none.

    A limit of io is for a whole disk, so that for a partition it is that of its disk.
    """
    number = folder.stat().st_dev
    device = system / "dev/block" / f"{os.major(number)}:{os.minor(number)}"
    try:
        device = device.resolve(strict=True)
        whole = device.parent if (device / "partition").exists() else device
        return (whole / "dev").read_text().strip()
    except OSError:
        return ""


def _only_scheduled(
    nodes: Sequence[Node], machine: Machine, controllers: Sequence[str]
) -> dict[str, str]:
    found, having = {}, capacities_of(nodes)
    if _IO in having:
        if not machine.io_bytes_per_s:
            found[_IO] = "run.io_bytes_per_s does not say how much the disk moves"
        elif _IO not in controllers:
            found[_IO] = "the control group has no io controller"
        elif not machine.disk:
            found[_IO] = "the run's folder is on no disk of this machine"
    if "network" in having:
        found["network"] = "cgroup v2 has no limit for it"
    return found


def _delegated_group(machine: Machine) -> tuple[Path, Sequence[str]]:
    """The group of this process, if it may be divided, and what can be limited in it.

    Raises LimitsUnavailable.
    """
    try:
        lines = machine.own_group.read_text().splitlines()
    except OSError as error:
        raise LimitsUnavailable(f"this machine has no control groups ({error.strerror})") from error
    name = next((line[3:] for line in lines if line.startswith("0::")), None)
    if name is None:
        raise LimitsUnavailable("this machine has no cgroup v2")
    own = machine.groups / name.lstrip("/")
    try:
        controllers = (own / "cgroup.controllers").read_text().split()
        pids = {int(pid) for pid in (own / "cgroup.procs").read_text().split()}
    except OSError as error:
        raise LimitsUnavailable("cgroup v2 is not mounted on /sys/fs/cgroup") from error
    missing = [name for name in _CONTROLLERS if name not in controllers]
    if missing:
        raise LimitsUnavailable(f"the control group has no {' and no '.join(missing)} controller")
    if not all(
        os.access(own / f, os.W_OK) for f in (".", "cgroup.procs", "cgroup.subtree_control")
    ):
        raise LimitsUnavailable("the control group is not delegated to this user")
    if pids - {os.getpid()}:
        raise LimitsUnavailable("other processes share the control group")
    return own, controllers


def write_in_group(path: Path, text: str) -> None:
    """Write to a file of a control group. Raises OSError, with the path."""
    # One write: the kernel reads each as one command. O_CREAT would be wrong in a group.
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)
