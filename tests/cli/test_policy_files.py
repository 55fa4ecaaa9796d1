"""A policy in one file outside the package, from the command line and from Python."""

import json
from dataclasses import dataclass
from textwrap import dedent

import pytest
from tests.cli.terminal import sluice

import sluice as package
from sluice.core.protocols import Admit, Assignment, ReleaseOrder, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.slot_kind import SlotKind

POLICY = """
from dataclasses import dataclass

from sluice.core.protocols import AdmissionPolicy, Admit, Assignment, ReleasePolicy, TaskPolicy
from sluice.core.protocols import ReleaseOrder
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.slot_kind import SlotKind
from sluice.model.settings import setting

WHY = Reason(ReasonCode.FIRST_IN_LINE)


class Mine(TaskPolicy):
    name = "mine"

    @dataclass(frozen=True)
    class Settings:
        decay: float = setting(1.0, "weight of old measurements", least=0, most=1)
        newest_first: bool = False

    def assign(self, node, state, now_s):
        for kind in (SlotKind.MAP, SlotKind.REDUCE):
            while node.free[kind] and (phases := state.backlogs[kind].phases()):
                choose = max if self.settings.newest_first else min
                phase = choose(phases, key=lambda one: one.line_key)
                tasks = min(node.free[kind], phase.pending.count) if phase.job.alike else 1
                yield Assignment(phase, kind, WHY, tasks)

    def report(self):
        return {"decay": self.settings.decay}


class AtOnce(ReleasePolicy):
    def release(self, waiting, state, now_s):
        return ReleaseOrder(waiting)


class TakeAll(AdmissionPolicy):
    def decide(self, job, state):
        return Admit()


class NotOne:
    pass


class Lazy(TaskPolicy):
    pass


class Fifo(Mine):
    name = "fifo"


class Nothing(TaskPolicy):
    def assign(self, node, state, now_s):
        return None


class Words(TaskPolicy):
    def assign(self, node, state, now_s):
        yield "map"


class Broken(TaskPolicy):
    def assign(self, node, state, now_s):
        return 1 / 0


class Greedy(TaskPolicy):
    def assign(self, node, state, now_s):
        for phase in state.backlogs[SlotKind.MAP].phases():
            yield Assignment(phase, SlotKind.MAP, WHY, 1000)


class Far(Mine):
    def next_node(self, index, state):
        return index + 99


class Named(Mine):
    def next_node(self, index, state):
        return "node-1"


class Unsure(Mine):
    def could_use(self, slot_kind, state):
        raise ValueError(slot_kind)


class Someday(Mine):
    def wake_at_s(self, state, now_s):
        return "soon"


class Mute(TaskPolicy):
    def assign(self, node, state, now_s):
        return ()

    def explain(self, phase, state, now_s):
        return "no"
"""

JOBS = """
version: 1
cluster: {map_slots: 2, reduce_slots: 1}
jobs:
  - {id: a, maps: {tasks: 6, avg_s: 10}}
  - {id: b, maps: {tasks: 2, avg_s: 10}, submitted_at_s: 1}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a policy and a workload; it is the working directory."""
    (tmp_path / "my.py").write_text(dedent(POLICY))
    (tmp_path / "jobs.yaml").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compare_takes_a_policy_file_with_settings():
    words = ("compare", "jobs.yaml", "--schedulers", "fifo,./my.py:Mine,mrorder+./my.py:Mine")
    answer = sluice(*words, "--set", "mine.decay=0.5", "--set", "mine.newest_first=Yes", "--json")

    rows = json.loads(answer.out)["rows"]
    assert (0, "") == (answer.code, answer.err)
    assert ["fifo", "mine", "mrorder+mine"] == [row["scheduler"] for row in rows]
    assert rows[0]["total_response_s"] > rows[1]["total_response_s"], "the newest job is shorter"


def test_a_path_may_be_absolute_and_the_working_directory_another(
    folder, tmp_path_factory, monkeypatch
):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    answer = sluice("simulate", folder / "jobs.yaml", "--tasks", f"{folder}/my.py:Mine", "--json")

    assert 1.0 == json.loads(answer.out)["decay"]


def test_release_and_admission_take_files_too():
    words = ("--release", "my.py:AtOnce", "--admission", "my.py:TakeAll", "--tasks", "my.py:Mine")
    answer = sluice("simulate", "jobs.yaml", *words, "--set", "mine.decay=25%", "--json")

    assert 0 == answer.code, answer.err
    assert 0.25 == json.loads(answer.out)["decay"]


def test_why_and_story_take_a_policy_file():
    words = ("--file", "jobs.yaml", "--tasks", "my.py:Mine", "--at-s", "5")

    why = sluice("why", "b", *words)
    assert 0 == why.code
    assert "policy mine has not chosen it" in " ".join(why.out.split())
    assert 0 == sluice("story", "a", *words).code


@pytest.mark.parametrize(
    ("spec", "fragments"),
    [
        ("none.py:Mine", ["--tasks none.py:Mine: no such file"]),
        ("my.py", ["unknown policy 'my.py'", "my.py:MyPolicy"]),
        ("my.py:Mien", ["my.py: the file has no class 'Mien'", "Mine"]),
        ("syntax.py:Mine", ["syntax.py, line 2: the file is not valid Python"]),
        ("raises.py:Mine", ["raises.py, line 1: the file raised ZeroDivisionError"]),
        ("my.py:NotOne", ["my.py:NotOne: the class is not derived from TaskPolicy", "TaskPolicy"]),
        ("my.py:AtOnce", ["my.py:AtOnce: the class is not derived from TaskPolicy"]),
        ("my.py:WHY", ["my.py:WHY", "not a class"]),
        ("my.py:Lazy", ["my.py:Lazy: the class has no method assign()"]),
        ("my.py:Fifo", ["my.py:Fifo: the name 'fifo' is that of a policy of Sluice"]),
        ("my.py:Nothing", ["policy my.py:Nothing: TaskPolicy.assign returned None"]),
        ("my.py:Words", ["policy my.py:Words: TaskPolicy.assign gave 'map'", "Assignment"]),
        ("my.py:Broken", ["TaskPolicy.assign raised ZeroDivisionError", "(line ", "my.py)"]),
        ("my.py:Far", ["my.py:Far: TaskPolicy.next_node returned 99", "from 0 to 0"]),
        ("my.py:Named", ["my.py:Named: TaskPolicy.next_node returned 'node-1'", "type int"]),
        ("my.py:Unsure", ["my.py:Unsure: TaskPolicy.could_use raised ValueError", "my.py)"]),
        ("my.py:Someday", ["my.py:Someday: TaskPolicy.wake_at_s returned 'soon'"]),
        ("my.py:Greedy", ["policy my.py:Greedy: TaskPolicy.assign", "1000 tasks"]),
    ],
)
def test_a_wrong_policy_is_refused_by_its_name(folder, spec, fragments):
    (folder / "syntax.py").write_text("\ndef x(:\n")
    (folder / "raises.py").write_text("1 / 0\n")
    answer = sluice("simulate", "jobs.yaml", "--tasks", spec)

    assert (2, "") == (answer.code, answer.out)
    assert "Traceback" not in answer.err
    assert [] == [one for one in fragments if one not in answer.err], answer.err


def test_a_wrong_explanation_is_refused():
    answer = sluice("why", "a", "--file", "jobs.yaml", "--tasks", "my.py:Mute")

    assert 2 == answer.code
    assert "policy my.py:Mute: TaskPolicy.explain returned 'no'" in answer.err


@pytest.mark.parametrize(
    ("setting", "fragment"),
    [
        ("mine.decai=1", "Did you mean mine.decay?"),
        ("mine.decay=2", "decay is 2. Give a number from 0 to 1"),
        ("mine.newest_first=maybe", "newest_first is 'maybe'. Give true or false"),
        ("decay=0.5", "unknown setting decay"),
    ],
)
def test_its_settings_are_checked(setting, fragment):
    answer = sluice("simulate", "jobs.yaml", "--tasks", "my.py:Mine", "--set", setting)

    assert 2 == answer.code
    assert fragment in answer.err


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (
            ["--set", "copies.spec_cap=3"],
            "`copies.spec_cap` has no effect without `copies.speculation=late`",
        ),
        (
            ["--set", "copies.sepb=.5", "--set", "copies.speculation=none"],
            "`copies.sepb` has no effect without",
        ),
        (
            ["--set", "yarn-like.ramp=.5"],
            "`yarn-like.ramp` has no effect without `--tasks` yarn-like",
        ),
        (["--set", "fair.slowstart=0"], "`fair.slowstart` has no effect without `--tasks fair`"),
        (["--set", "mrorder.jobs_min=3"], "without `--release mrorder`"),
        (
            ["--release", "mrorder", "--set", "mrorder.jobs_min=3"],
            "`mrorder.jobs_min` has no effect without `policy=pnj`",
        ),
        (["--set", "kappa_io=1"], "`kappa_io` has no effect without `contention=shared`"),
        (["--set", "slow_factor=2"], "`slow_factor` has no effect without `p_slow`"),
        (["--set", "run.task_wall_s=9"], "`run.task_wall_s` has no effect in a simulation"),
        (["--set", "slowstart=.5"], ""),
        (["--set", "copies.sepb=.5"], ""),
        (["--set", "slow_factor=2", "--set", "p_slow=1%"], ""),
        (["--copies", "late", "--set", "copies.spec_cap=3"], ""),
        (["--copies", "sepb", "--set", "copies.sepb_mode=pool"], ""),
        (["--order", "ltrf", "--set", "copies.kill_slow=true"], ""),
        *(
            (["--order", "ltrf", "--set", given], "has no effect without `--copies` late or sepb")
            for given in ("copies.spec_cap=3", "copies.sepb=.5", "copies.speculation=late")
        ),
    ],
)
def test_a_setting_without_an_effect_is_reported_on_stderr(words, note):
    answer = sluice("simulate", "jobs.yaml", *words, "--json")

    assert (0, 1) == (answer.code, answer.out.count("\n"))
    assert note in answer.err
    assert bool(note) == ("no effect" in answer.err)


def test_a_setting_of_one_of_the_schedulers_has_an_effect():
    words = ("compare", "jobs.yaml", "--seeds", "1", "--set", "fair.slowstart=0.5")

    assert "note: " not in sluice(*words, "--schedulers", "fifo,fair").err
    assert "note: " in sluice(*words, "--schedulers", "fifo,static").err


def test_a_setting_of_a_row_that_has_no_effect_there_is_reported_with_the_row():
    words = ("compare", "jobs.yaml", "--seeds", "1", "--schedulers")
    row = "order=fair[goals.guard=0.4]"

    assert f"note: {row}: `goals.guard` has no effect" in sluice(*words, f"fifo, {row}").err
    assert "note: " not in sluice(*words, f"fifo, {row.replace('[', '+goals=guarded[')}").err


def test_all_compares_every_task_policy():
    answer = sluice("compare", "jobs.yaml", "--schedulers", "all", "--seeds", "1", "--json")

    names = {row["scheduler"] for row in json.loads(answer.out)["rows"]}
    assert {"fifo", "fair", "static", "dynamicmr", "yarn-like"} <= names


# --- from Python ----------------------------------------------------------------------------------


class Last(TaskPolicy):
    """The newest job first."""

    @dataclass(frozen=True)
    class Settings:
        label: str = "x"

    def assign(self, node, state, now_s):
        kind = SlotKind.MAP
        while node.free[kind] and (phases := state.backlogs[kind].phases()):
            phase = max(phases, key=lambda one: one.line_key)
            yield Assignment(phase, kind, Reason(ReasonCode.FIRST_IN_LINE))

    def report(self):
        return {"label": self.settings.label}


def test_a_class_or_an_object_is_a_scheduler():
    made = package.compare("jobs.yaml", ["fifo", Last, "fair"], seeds=2).document()
    again = package.compare("jobs.yaml", [Last()], seeds=2).document()

    assert ["fifo", "last", "fair"] == [row["scheduler"] for row in made["rows"]]
    ours = {name: value for name, value in made["rows"][1].items() if name != "difference"}
    assert ours.items() <= again["rows"][0].items()


def test_a_class_takes_its_settings_and_an_object_has_them():
    given = package.simulate("jobs.yaml", tasks=Last, settings={"last.label": "y"})
    object_s = package.simulate("jobs.yaml", tasks=Last(Last.Settings(label="z")))

    assert ("y", "z") == (given.extra["label"], object_s.extra["label"])


def test_a_wrong_object_is_refused():
    for wrong, fragment in (
        (object(), "object: the class is not derived from TaskPolicy"),
        (Admit, "Admit"),
    ):
        with pytest.raises(package.InvalidInput, match=fragment):
            package.simulate("jobs.yaml", tasks=wrong)


def test_two_policies_of_one_name_are_refused(folder):
    (folder / "other.py").write_text((folder / "my.py").read_text() + "# another\n")

    with pytest.raises(package.InvalidInput, match="both named 'mine'"):
        package.compare("jobs.yaml", ["my.py:Mine", "other.py:Mine"], seeds=1)


def test_an_answer_may_be_empty():
    """`ReleaseOrder` without jobs is an answer as well."""
    assert () == tuple(ReleaseOrder().order)


# --- a real run -----------------------------------------------------------------------------------

REAL = """
version: 1
cluster: {nodes: 1, node: {map_slots: 2, reduce_slots: 1}}
jobs:
  - {id: wc, reduces: {tasks: 1}, run: {input: [in.txt], output: out, mapper: cat, reducer: cat}}
"""


@pytest.mark.slow
def test_a_run_keeps_to_the_code_that_it_began_with(folder, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(folder / "home"))
    (folder / "in.txt").write_text("a\nb\n")
    (folder / "real.yaml").write_text(REAL)
    words = ("--tasks", "./my.py:Mine", "--set", "mine.decay=.5", "--set", "jitter=.1", "--json")
    done = sluice("run", "real.yaml", *words)

    assert (0, 0.5) == (done.code, json.loads(done.out)["decay"])
    assert "note: `jitter` has no effect on a real run" in done.err
    assert 0 == sluice("why", "wc").code
    assert 0 == sluice("run", "real.yaml", "--resume").code

    (folder / "my.py").write_text((folder / "my.py").read_text() + "# changed\n")
    for again in (("why", "wc"), ("run", "real.yaml", "--resume")):
        answer = sluice(*again)
        assert 2 == answer.code
        assert "my.py has changed since run" in answer.err
