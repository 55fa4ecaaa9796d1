"""A new policy of each axis is one file and one line; from outside, an entry point or FILE.py."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import sluice

import sluice as package

ROOT = Path(__file__).parents[2]
TABLES = "policies/__init__.py"
WORKLOAD = ROOT / "examples" / "two_pools.yaml"

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
GOALS = '''
from sluice.policies.orders.order_decorator import OrderDecorator


class DeadlinesFirst(OrderDecorator):
    """Jobs with a deadline before all others."""

    def candidates(self, kind):
        found = list(self.inner.candidates(kind))
        yield from sorted(found, key=lambda phase: phase.job.job.deadline_at_s is None)

    def job_place(self, job, kind):
        return (job.job.deadline_at_s is None, super().job_place(job, kind))
'''
ROOM = '''
from sluice.policies.rooms.room import Containers


class Anywhere(Containers):
    """Any slot takes any task."""
'''
COPIES = '''
from dataclasses import dataclass

from sluice.model.settings import setting
from sluice.policies.copies.copy_order import CopyOrder


class Old(CopyOrder):
    """Whatever has run for a while is started again."""

    @dataclass(frozen=True)
    class Settings:
        after_s: float = setting(8.0, "seconds after which a task is started again", least=0)

    def __init__(self, inner, settings):
        super().__init__(inner)
        self._after_s = settings.after_s

    def worth_a_copy(self, kind):
        for one in self.state.running.values():
            if one.phase.kind is kind and self.state.now_s - one.started_at_s >= self._after_s:
                yield one
'''
DATA = '''
from dataclasses import dataclass

from sluice.model.settings import setting
from sluice.policies.decorator import earlier
from sluice.policies.orders.order_decorator import OrderDecorator


class AfterCopying(OrderDecorator):
    """No task starts before the input is on the nodes."""

    @dataclass(frozen=True)
    class Settings:
        hold_s: float = setting(7.0, "seconds until all input is there", least=0)

    def __init__(self, inner, settings):
        super().__init__(inner)
        self._hold_s = settings.hold_s

    def fits(self, phase, node):
        return self.state.now_s >= self._hold_s and super().fits(phase, node)

    def wake_at_s(self, state, now_s):
        inner_s = super().wake_at_s(state, now_s)
        return earlier(inner_s, self._hold_s) if now_s < self._hold_s else inner_s

    def holds_back(self, state, now_s):
        return now_s < self._hold_s or super().holds_back(state, now_s)
'''
MACHINES = '''
from sluice.policies.decorator import Decorator


class AllButOne(Decorator):
    """The first node is kept free."""

    def fill(self, offer):
        if offer.node.index:
            super().fill(offer)
'''
TASKS = '''
from sluice.policies.orders.fifo import Fifo


class Lifo(Fifo):
    """First in, first out, under another name."""

    name = "lifo"
'''
# By axis: what a member of it is called, its class, its text, its place, and a setting of its own.
PARTS = {
    "order": ("youngest", "Youngest", ORDER, "orders", "oldest_first=true"),
    "goals": ("deadlines-first", "DeadlinesFirst", GOALS, "orders", ""),
    "slots": ("anywhere", "Anywhere", ROOM, "rooms", ""),
    "copies": ("old", "Old", COPIES, "copies", "after_s=1"),
    "data": ("after-copying", "AfterCopying", DATA, "data", "hold_s=40"),
    "machines": ("all-but-one", "AllButOne", MACHINES, "machines", ""),
}
AXES = pytest.mark.parametrize("axis", PARTS)

# Run in a process of its own, where the package is the copy: what each scheduler came to.
SCRIPT = """
import json, sys
import sluice

found = {}
for tasks, *settings in json.loads(sys.argv[2]):
    run = sluice.simulate(sys.argv[1], tasks=tasks, settings=settings)
    found[" ".join([tasks, *settings])] = run.document()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def of_copy(tmp_path_factory):
    """Documents of runs, by scheduler, of a copy of the package to which one of each is added."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "sluice"
    shutil.copytree(ROOT / "src" / "sluice", package, ignore=shutil.ignore_patterns("*.so"))
    tables = package / TABLES
    text = tables.read_text()
    added = {**PARTS, "tasks": ("lifo", "Lifo", TASKS, "orders", "")}
    schedulers = [["lifo"]]
    for axis, (name, kind, source, place, setting) in added.items():
        module = name.replace("-", "_")
        (package / "policies" / place / f"{module}.py").write_text(source)
        line = f'    "{axis}.{name}": "sluice.policies.{place}.{module}:{kind}",\n'
        end = text.index("}\n\n\ndef members")
        text = text[:end] + line + text[end:]
        if axis != "tasks":
            schedulers += [
                [f"{axis}={name}"],
                *([[f"{axis}={name}", f"{name}.{setting}"]] if setting else []),
            ]
    tables.write_text(text)
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(WORKLOAD), json.dumps(schedulers)],
        env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@AXES
def test_a_part_of_ours_is_one_file_and_one_line(axis, of_copy):
    name, _, _, _, setting = PARTS[axis]
    found = of_copy[f"{axis}={name}"]
    assert found["composition"][axis] == name
    if setting:
        assert of_copy[f"{axis}={name} {name}.{setting}"]["digest"] != found["digest"]


def test_a_task_policy_of_ours_is_one_file_and_one_line(of_copy):
    assert of_copy["lifo"]["digest"] == simulated("fifo")["digest"]


def simulated(tasks):
    return package.simulate(WORKLOAD, tasks=tasks).document()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder with an installed package that offers one part of each axis."""
    lines = []
    for axis, (name, kind, source, _, _) in PARTS.items():
        (tmp_path / f"their_{axis}.py").write_text(source)
        lines.append(f"{axis}.their-{name} = their_{axis}:{kind}\n")
    info = tmp_path / "their_parts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-parts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[sluice.policies]\n{''.join(lines)}")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for axis in PARTS:
        sys.modules.pop(f"their_{axis}", None)


@AXES
def test_a_part_of_another_package_runs_and_is_compared(axis, installed):
    name, kind, *_ = PARTS[axis]
    theirs = f"{axis}=their-{name}"
    found = simulated(theirs)
    assert found["composition"][axis] == f"their-{name}"
    in_file = f"{axis}={installed / f'their_{axis}.py'}:{kind}"
    assert simulated(in_file)["digest"] == found["digest"]

    rows = package.compare(WORKLOAD, ["fair", theirs], seeds=1, processes=1).rows
    assert rows[1].document()["makespan_s"] == found["makespan_s"]


@pytest.mark.parametrize("axis", [axis for axis in PARTS if PARTS[axis][-1]])
def test_a_setting_of_another_package_s_part(axis, installed):
    name, kind, _, _, setting = PARTS[axis]
    spec = f"{axis}={installed / f'their_{axis}.py'}:{kind}"
    assert simulated(f"{spec}[{name}.{setting}]")["digest"] != simulated(spec)["digest"]


@pytest.mark.usefixtures("installed")
def test_parts_of_other_packages_are_in_the_help():
    shown = sluice("simulate", "--help").out
    for axis, (name, *_) in PARTS.items():
        assert f"--{axis}, of other packages: their-{name}." in " ".join(shown.split())


@pytest.mark.usefixtures("installed")
def test_each_part_changes_what_it_is_about():
    plain = simulated("order=fair")
    for axis in ("order", "copies", "machines"):
        assert simulated(f"{axis}=their-{PARTS[axis][0]}")["digest"] != plain["digest"]
    held = simulated("data=their-after-copying")
    assert held["makespan_s"] == plain["makespan_s"] + 7.0


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("slots", ["typed", "lent", "lent-by-pool", "their-anywhere"])
def test_parts_of_other_packages_go_together(slots):
    others = [f"{axis}=their-{PARTS[axis][0]}" for axis in PARTS if axis != "slots"]
    found = simulated("+".join([*others, f"slots={slots}"]))
    assert found["composition"]["slots"] == slots
    assert found["states"] == {"done": 4}


def test_a_class_of_another_axis_is_refused(installed):
    with pytest.raises(package.InvalidInput, match="CopyOrder"):
        simulated(f"copies={installed / 'their_goals.py'}:DeadlinesFirst")
