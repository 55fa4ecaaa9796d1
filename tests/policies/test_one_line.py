"""A new policy, order or room is one file and one line, in a copy of the sources."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES = "policies/__init__.py"

ORDER = '''
from dataclasses import dataclass

from sluice.model.settings import setting
from sluice.policies.orders.candidate_order import RankedJobs


@dataclass(frozen=True, slots=True, kw_only=True)
class YoungestSettings:
    oldest_first: bool = setting(False, "oldest jobs first instead")


class Youngest(RankedJobs):
    """The job that came last first."""

    name = "youngest"
    Settings = YoungestSettings

    def key(self, job):
        sign = 1 if self.settings.oldest_first else -1
        return (sign * job.submitted_at_s, sign * job.seq)
'''
TASKS = '''
from sluice.policies.orders.fifo import Fifo


class Lifo(Fifo):
    """As `fifo` under another name."""

    name = "lifo"
'''
ROOM = '''
from sluice.policies.rooms.room import Containers


class Anywhere(Containers):
    """Any slot takes any task."""
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A function that adds a file and a line after another to a copy, and runs a command there."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "sluice"
    shutil.copytree(ROOT / "src" / "sluice", package, ignore=shutil.ignore_patterns("*.pyc"))

    def run(path, text, line, after, *arguments):
        (package / path).write_text(text)
        tables = package / TABLES
        lines = tables.read_text().splitlines(keepends=True)
        at = next(number for number, one in enumerate(lines) if after in one)
        tables.write_text("".join([*lines[: at + 1], f"    {line}\n", *lines[at + 1 :]]))
        ended = subprocess.run(
            [sys.executable, "-m", "sluice", "simulate", ROOT / "examples" / "two_pools.yaml",
             "--json", *arguments],
            env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


def test_an_order_with_a_setting(copy):
    line = '"youngest": "sluice.policies.orders.youngest:Youngest",'
    new = ("policies/orders/youngest.py", ORDER, line, '"critical-path":')
    found = copy(*new, "--order", "youngest")
    assert '"order": "youngest"' in found

    other = copy(*new, "--order", "youngest", "--set", "youngest.oldest_first=true")
    assert json.loads(other)["digest"] != json.loads(found)["digest"]


def test_a_task_policy(copy):
    line = '"tasks.lifo": "sluice.policies.orders.lifo:Lifo",'
    assert "lifo" in copy(
        "policies/orders/lifo.py", TASKS, line, '"tasks.fifo":', "--tasks", "lifo"
    )


def test_a_room(copy):
    line = '"anywhere": "sluice.policies.rooms.anywhere:Anywhere",'
    new = ("policies/rooms/anywhere.py", ROOM, line, '"conservative":')
    assert '"slots": "anywhere"' in copy(*new, "--slots", "anywhere", "--order", "fifo")
