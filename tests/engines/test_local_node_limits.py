"""Limits of nodes by cgroup v2, against a folder that behaves as the kernel's does."""

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.engines.local.node_limits import (
    LimitsUnavailable,
    Machine,
    NodeLimits,
    disk_of,
    limits_of,
)
from sluice.model.cluster import Node
from sluice.model.resources import Resources

HALF = Node(node_id="half", capacity=Resources(cpu=50, io=80, memory=25))
REST = Node(node_id="rest", capacity=Resources(cpu=20))
MEMORY = 1_000_000


class GroupFiles:
    """A folder of control groups: a new group has its files, and loses them when it is removed."""

    def __init__(self, root):
        self.root, self.log = root, []
        self.own = root / "user.slice" / "sluice.scope"
        self.own.mkdir(parents=True)
        self.write("cgroup.controllers", "cpuset cpu io memory pids")
        self.write("cgroup.subtree_control", "")
        self.write("cgroup.procs", f"{os.getpid()}\n")
        self.membership = root / "self"
        self.membership.write_text("0::/user.slice/sluice.scope\n")

    def write(self, name, text):
        (self.own / name).write_text(text)

    def machine(self):
        return Machine(
            processors=4, memory_bytes=MEMORY, groups=self.root, own_group=self.membership
        )

    def groups(self):
        return sorted(path.name for path in self.own.iterdir() if path.is_dir())


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Group folders of a kernel with a delegated group."""
    files = GroupFiles(tmp_path)
    make, remove = Path.mkdir, Path.rmdir

    def mkdir(path, *words, **more):
        make(path, *words, **more)
        if path.parent == files.own:
            for name in ("cgroup.procs", "cpu.max", "memory.max", "io.max"):
                (path / name).touch()

    def rmdir(path):
        for one in path.iterdir():
            one.unlink()
        remove(path)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)
    return files


def test_each_node_has_a_group_with_its_share_of_the_machine(kernel):
    limits = NodeLimits([HALF, REST], kernel.machine())
    leaf, half, rest = kernel.groups()

    assert "200000 100000" == (kernel.own / half / "cpu.max").read_text()
    assert "250000" == (kernel.own / half / "memory.max").read_text()
    assert "80000 100000" == (kernel.own / rest / "cpu.max").read_text()
    assert "" == (kernel.own / rest / "memory.max").read_text()
    assert str(os.getpid()) == (kernel.own / leaf / "cgroup.procs").read_text()
    assert "+cpu +memory" == (kernel.own / "cgroup.subtree_control").read_text()
    limits.close()


def test_an_agent_is_put_into_the_group_of_its_node(kernel):
    limits = NodeLimits([HALF, REST], kernel.machine())
    limits.confine(REST, 4711)

    assert "4711" == (kernel.own / kernel.groups()[2] / "cgroup.procs").read_text()
    limits.close()


def test_a_node_that_is_rented_later_has_a_group_too(kernel):
    limits = NodeLimits([HALF], kernel.machine())
    limits.confine(REST, 4711)

    group = kernel.own / kernel.groups()[2]
    assert ("4711", "80000 100000") == tuple(
        (group / name).read_text() for name in ("cgroup.procs", "cpu.max")
    )
    limits.close()


def test_nothing_is_left_at_the_end(kernel):
    NodeLimits([HALF], kernel.machine()).close()

    assert [] == kernel.groups()
    assert str(os.getpid()) in (kernel.own / "cgroup.procs").read_text()


def test_nothing_is_left_if_the_kernel_refuses(kernel):
    (kernel.own / "cgroup.subtree_control").unlink()
    (kernel.own / "cgroup.subtree_control").mkdir()

    with pytest.raises(LimitsUnavailable, match=r"cgroup\.subtree_control: Is a directory"):
        NodeLimits([HALF], kernel.machine())

    assert ["cgroup.subtree_control"] == kernel.groups()


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("cgroup.controllers", "cpu io", "no memory controller"),
        ("cgroup.controllers", "", "no cpu and no memory controller"),
        ("cgroup.procs", "{own}\n1\n", "other processes share the control group"),
    ],
)
def test_a_group_that_cannot_be_divided_is_left_alone(kernel, name, text, why):
    kernel.write(name, text.format(own=os.getpid()))

    with pytest.raises(LimitsUnavailable, match=why):
        NodeLimits([HALF], kernel.machine())

    assert [] == kernel.groups()


@pytest.mark.parametrize(
    ("membership", "why"),
    [
        ("4:memory:/x\n", "this machine has no cgroup v2"),
        ("0::/elsewhere\n", "cgroup v2 is not mounted"),
        (None, "this machine has no control groups"),
    ],
)
def test_a_machine_without_cgroup_v2_says_so(kernel, membership, why):
    kernel.membership.unlink()
    if membership is not None:
        kernel.membership.write_text(membership)

    with pytest.raises(LimitsUnavailable, match=why):
        NodeLimits([HALF], kernel.machine())


def test_a_tiny_share_is_what_the_kernel_takes_at_least():
    tiny = Node(node_id="tiny", capacity=Resources(cpu=0.01))

    assert {"cpu.max": "1000 100000"} == limits_of(tiny, Machine(processors=1, memory_bytes=MEMORY))


# --- io -------------------------------------------------------------------------------------------

BUSY = Node(node_id="busy", capacity=Resources(cpu=50, io=25, network=10))


def with_disk(kernel, **more):
    return replace(kernel.machine(), **({"io_bytes_per_s": 4e6, "disk": "8:0"} | more))


def test_io_of_a_node_is_its_share_of_what_the_disk_moves(kernel):
    limits = NodeLimits([BUSY, REST], with_disk(kernel))
    _, busy, rest = kernel.groups()

    assert "8:0 rbps=1000000 wbps=1000000" == (kernel.own / busy / "io.max").read_text()
    assert "" == (kernel.own / rest / "io.max").read_text()
    assert "+cpu +memory +io" == (kernel.own / "cgroup.subtree_control").read_text()
    assert {"network": "cgroup v2 has no limit for it"} == limits.only_scheduled
    limits.close()
    assert "-cpu -memory -io" == (kernel.own / "cgroup.subtree_control").read_text()


@pytest.mark.parametrize(
    ("controllers", "more", "why"),
    [
        ("cpu memory", {}, "no io controller"),
        ("cpu memory io", {"io_bytes_per_s": None}, "does not say how much the disk moves"),
        ("cpu memory io", {"disk": ""}, "on no disk"),
    ],
)
def test_where_io_cannot_be_limited_the_rest_is_and_the_reason_is_known(
    kernel, controllers, more, why
):
    kernel.write("cgroup.controllers", controllers)
    limits = NodeLimits([BUSY], with_disk(kernel, **more))
    _, busy = kernel.groups()

    assert why in limits.only_scheduled["io"]
    assert "200000 100000" == (kernel.own / busy / "cpu.max").read_text()
    assert "" == (kernel.own / busy / "io.max").read_text()
    assert "+cpu +memory" == (kernel.own / "cgroup.subtree_control").read_text()
    limits.close()


@pytest.mark.parametrize(
    ("node", "more", "says"),
    [
        (
            HALF,
            {},
            "tasks are held to the cpu, memory and io of their node, in percent of this machine",
        ),
        (REST, {}, "tasks are held to the cpu of their node, in percent of this machine"),
        (
            BUSY,
            {},
            (
                "tasks are held to the cpu and io of their node, in percent of this machine;"
                " network is only scheduled: cgroup v2 has no limit for it"
            ),
        ),
        (
            Node(node_id="io", capacity=Resources(io=10)),
            {"io_bytes_per_s": None},
            "io is only scheduled: run.io_bytes_per_s does not say how much the disk moves",
        ),
    ],
)
def test_one_sentence_says_what_is_held_and_what_is_not(kernel, node, more, says):
    limits = NodeLimits([node], with_disk(kernel, **more))

    assert says == limits.summary
    limits.close()


def test_the_disk_of_a_partition_is_the_whole_disk(tmp_path):
    number = tmp_path.stat().st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    part = tmp_path / "devices/sda/sda1"
    part.mkdir(parents=True)
    for file, text in (("partition", "1\n"), ("dev", f"{name}\n"), ("../dev", "8:0\n")):
        (part / file).write_text(text)
    (tmp_path / "dev/block").mkdir(parents=True)

    assert "" == disk_of(tmp_path, tmp_path)
    (tmp_path / "dev/block" / name).symlink_to(part)
    assert "8:0" == disk_of(tmp_path, tmp_path)
    (part / "partition").unlink()
    assert name == disk_of(tmp_path, tmp_path)


def test_a_real_disk_is_held_to_its_limit(tmp_path):
    """Where this process has a control group of its own, with the io controller.

    No package brings it, so `.ci/run` cannot install it: there the tests above, on a made-up tree
    of control groups, are what holds the limits.
    """
    machine = Machine.this(io_bytes_per_s=4e6, scratch=tmp_path)
    node = Node(node_id="slow", capacity=Resources(io=25))
    try:
        limits = NodeLimits([node], machine)
    except LimitsUnavailable as error:
        pytest.skip(f"{error}; the tests on a made-up tree of groups run everywhere")
    try:
        if "io" in limits.only_scheduled:
            pytest.skip(f"io: {limits.only_scheduled['io']}; the tests on a made-up tree run")
        words = ["dd", "if=/dev/zero", f"of={tmp_path / 'out'}", "bs=1M", "count=3", "oflag=direct"]
        began_s = time.monotonic()
        # The shell waits until it is in the group, so that all of its child's bytes count.
        child = subprocess.Popen(
            ["sh", "-c", 'read go; exec "$@"', "sh", *words], stdin=subprocess.PIPE
        )
        limits.confine(node, child.pid)
        child.communicate(b"\n")
        assert 0 == child.returncode
        assert time.monotonic() - began_s > 1.5  # 3 MB at 1 MB a second
    finally:
        limits.close()
