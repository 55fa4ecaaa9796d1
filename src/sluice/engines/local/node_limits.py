"""Holds the processes of each virtual node to the cpu and memory of that node, by cgroup v2.

A node's capacity is in percent of this machine, as `profile-run` measures demands. Each node gets
a control group below the one in which this process runs; its agent and all that the agent starts
are in it. This needs a delegated group, such as that of `systemd-run --user --scope -p
Delegate=yes`: one that this user may write to, and that holds no process but this one. The kernel
allows limits only below groups without processes, so this process moves into a group of its own.

io and network are not limited: their share of a device is not known.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst, "Delegation" and "No Internal Process
Constraint".
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
_PERIOD_US = 100_000
_QUOTA_US_MIN = 1000  # the kernel takes no less
_FULL = 100.0


class LimitsUnavailable(Exception):
    """This machine cannot hold nodes to limits; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the limits are a share of, and where the kernel has its control groups."""

    processors: int
    memory_bytes: int
    groups: Path = Path("/sys/fs/cgroup")
    own_group: Path = Path("/proc/self/cgroup")

    @classmethod
    def this(cls) -> Machine:
        """The machine on which this process runs."""
        return cls(
            processors=os.cpu_count() or 1,
            memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        )


class NodeLimits:
    """The control groups of the nodes of one engine. `close` removes them."""

    def __init__(self, nodes: Sequence[Node], machine: Machine) -> None:
        """Make the groups. Raises LimitsUnavailable; nothing is left behind then."""
        self._own = _delegated_group(machine)
        self._leaf = self._own / f"sluice-{os.getpid()}"
        self._groups: dict[NodeId, Path] = {}
        try:
            self._leaf.mkdir()
            write_in_group(self._leaf / "cgroup.procs", str(os.getpid()))
            write_in_group(self._own / "cgroup.subtree_control", _switched("+"))
            for number, node in enumerate(nodes, start=1):
                group = self._own / f"{self._leaf.name}-node-{number}"
                group.mkdir()
                self._groups[node.node_id] = group
                for name, text in limits_of(node, machine).items():
                    write_in_group(group / name, text)
        except OSError as error:
            self.close()
            raise LimitsUnavailable(f"{error.filename}: {error.strerror}") from error

    def confine(self, node_id: NodeId, pid: int) -> None:
        """Put a process into the group of a node; what it starts from now on is in it, too."""
        write_in_group(self._groups[node_id] / "cgroup.procs", str(pid))

    def close(self) -> None:
        """Remove the groups, and move this process back. Processes in the groups have ended."""
        for group in self._groups.values():
            with contextlib.suppress(OSError):
                write_in_group(group / "cgroup.kill", "1")  # a daemon may have stayed
            with contextlib.suppress(OSError):
                group.rmdir()
        for path, text in (
            (self._own / "cgroup.subtree_control", _switched("-")),
            (self._own / "cgroup.procs", str(os.getpid())),
        ):
            with contextlib.suppress(OSError):
                write_in_group(path, text)
        with contextlib.suppress(OSError):
            self._leaf.rmdir()


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
    return found


def _delegated_group(machine: Machine) -> Path:
    """The group of this process, if it may be divided. Raises LimitsUnavailable."""
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
    return own


def _switched(sign: str) -> str:
    return " ".join(f"{sign}{name}" for name in _CONTROLLERS)


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
