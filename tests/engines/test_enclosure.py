"""The control group around an agent, on a folder that behaves as the kernel's does."""

from pathlib import Path

import pytest

from sluice.engines.local.enclosure import Enclosure
from sluice.engines.local.node_limits import Machine


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose group `/user` may be divided; a new group has its files."""
    (tmp_path / "user").mkdir()
    (tmp_path / "cgroup.procs").touch()
    (tmp_path / "self").write_text("4:memory:/x\n0::/user\n")
    make, remove = Path.mkdir, Path.rmdir

    def mkdir(path, *words, **more):
        make(path, *words, **more)
        for name in ("cgroup.procs", "cgroup.kill"):
            (path / name).touch()

    def rmdir(path):
        if (path / "cgroup.procs").read_text() and not (path / "cgroup.kill").read_text():
            raise OSError(16, "Device or resource busy")
        for one in path.iterdir():
            one.unlink()
        remove(path)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)
    return Machine(processors=1, memory_bytes=1, groups=tmp_path, own_group=tmp_path / "self")


def test_an_agent_is_in_a_group_until_its_end(machine):
    found = Enclosure.around(42, Path("/scratch/node"), machine)

    assert machine.groups / "user" == found.group.parent
    assert "42" == (found.group / "cgroup.procs").read_text()
    found.end()
    assert not found.group.exists()
    found.end()


def test_what_an_earlier_life_left_is_ended_and_groups_of_others_stay(machine):
    first = Enclosure.around(1, Path("/scratch/a"), machine)
    other = Enclosure.around(2, Path("/scratch/b"), machine)
    again = Enclosure.around(3, Path("/scratch/a"), machine)

    assert first.group == again.group != other.group
    assert ("3", "2") == tuple((one.group / "cgroup.procs").read_text() for one in (again, other))


def test_empty_groups_of_agents_that_are_gone_are_removed(machine):
    gone = Enclosure.around(1, Path("/scratch/a"), machine)
    (gone.group / "cgroup.procs").write_text("")
    Enclosure.around(2, Path("/scratch/b"), machine)

    assert not gone.group.exists()


@pytest.mark.parametrize("text", ["4:memory:/x\n", "0::/not/mounted\n"])
def test_without_a_group_that_may_be_divided_there_is_none(machine, text):
    machine.own_group.write_text(text)

    assert Enclosure.around(1, Path("/scratch/a"), machine) is None
