"""A control group around each agent, where the user may make one: none of its processes escapes.

A process that a task has turned into a daemon is no child of the agent after the agent's death, and
one that has cleared its environment is not found by its mark either. The kernel keeps it in the
group of the agent, and ends all of the group at once. Elsewhere the search by mark must do.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst, `cgroup.kill`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path

from sluice.engines.local.node_limits import Machine, write_in_group

_PREFIX = "sluice-agent-"
_PATIENCE_S = 10.0  # a process that was killed needs a processor to end


class Enclosure:
    """The control group of one agent."""

    def __init__(self, group: Path) -> None:
        self.group = group

    @classmethod
    def around(cls, pid: int, folder: Path, machine: Machine | None = None) -> Enclosure | None:
        """Put an agent that has started nothing yet into a group; None where that is not allowed.

        folder: of the agent's files. The group has its name from it, so that another life of the
        engine finds, and ends, what an earlier one has left there.
        """
        own = _own_group(machine or Machine.this())
        if own is None:
            return None
        digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        found = cls(own / f"{_PREFIX}{digest}")
        try:
            _remove_empty(own)
            found.end()
            found.group.mkdir()
            write_in_group(found.group / "cgroup.procs", str(pid))
        except OSError:
            found.end()
            return None
        return found

    def end(self) -> None:
        """Kill all processes of the group, and remove it."""
        give_up_at_s = time.monotonic() + _PATIENCE_S
        with contextlib.suppress(OSError):  # no such group, or a kernel before 5.14
            write_in_group(self.group / "cgroup.kill", "1")
        while self.group.is_dir() and time.monotonic() < give_up_at_s:
            with contextlib.suppress(OSError):
                self.group.rmdir()
                return
            time.sleep(0.001)


def _own_group(machine: Machine) -> Path | None:
    """The group of this process in cgroup v2, which some systems mount next to version 1."""
    try:
        lines = machine.own_group.read_text().splitlines()
    except OSError:
        return None
    name = next((line[3:] for line in lines if line.startswith("0::")), None)
    roots = (machine.groups, machine.groups / "unified")
    mounted = next((root for root in roots if (root / "cgroup.procs").exists()), None)
    return None if name is None or mounted is None else mounted / name.lstrip("/")


def _remove_empty(own: Path) -> None:
    """Remove the groups of agents that are gone; the kernel keeps those with processes."""
    for group in own.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            group.rmdir()
