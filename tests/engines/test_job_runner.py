"""The work of real jobs as the driver asks for it."""

import math
import sys

import pytest

from sluice.core.commands import Launch
from sluice.core.reasons import Reason, ReasonCode
from sluice.engines.job_runner import JobRunner
from sluice.engines.mapreduce.input_places import PlacedPart
from sluice.engines.mapreduce.layout import prepare
from sluice.engines.work_source import TaskOutput
from sluice.model.attempts import AttemptKey
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, RunSpec
from sluice.model.slot_kind import SlotKind

ID = JobId("../a b")


@pytest.fixture
def runner(tmp_path):
    (tmp_path / "in").write_text("x\n")
    (tmp_path / "scratch" / "node-1" / "data").mkdir(parents=True)
    spec = RunSpec(
        folder=str(tmp_path), input=("in",), output="out", mapper=("cat",), reducer=("cat",)
    )
    job = Job(job_id=ID, pool=PoolId("p"), phases=(), run=spec)
    return JobRunner([prepare(job)], tmp_path / "scratch")


def launch(phase, task):
    key, reason = AttemptKey(ID, phase, task, 1), Reason(ReasonCode.FIRST_IN_LINE)
    return Launch(key, 1, NodeId("n"), SlotKind.MAP, ((0, 1),), None, is_copy=False, reason=reason)


def output(phase, task, *files):
    return TaskOutput(AttemptKey(ID, phase, task, 1), NodeId("n"), files)


def staging(runner):
    return runner._prepared[ID].staging.attempts


def test_a_split_lies_on_the_node_that_wrote_its_file(runner, tmp_path):
    (prepared,) = runner._prepared.values()
    path = prepared.splits[0].path
    heard = JobRunner(
        [prepared],
        tmp_path / "scratch",
        {
            path: [PlacedPart(0, math.inf, (NodeId("node-2"),))],
            "other": [PlacedPart(0, math.inf, (NodeId("node-1"),))],
        },
    )

    assert {} == runner.locations(prepared.job)
    assert {0: ((NodeId("node-2"),),)} == heard.locations(prepared.job)


def test_a_reduce_is_given_what_the_maps_left(runner):
    work = runner.work(launch(1, 0), {0: {0: output(0, 0, "/data/spill")}})

    assert [source["path"] for source in work["sources"]] == ["/data/spill"]
    assert work["host"] is None
    assert work["job_name"].isascii()
    assert "/" not in work["job_name"]


def test_python_jobs_share_a_warm_interpreter(tmp_path):
    """Loaded once for a job and node, not once for each task."""
    (tmp_path / "in").write_text("x\n")
    (tmp_path / "count.py").write_text(
        "class Count:\n    def mapper(self, line):\n        return ()\n"
    )
    spec = RunSpec(folder=str(tmp_path), input=("in",), output="out", python="count.py:Count")
    job = Job(job_id=ID, pool=PoolId("p"), phases=(), run=spec)
    runner = JobRunner([prepare(job)], tmp_path / "scratch")

    work = runner.work(launch(0, 0), {})
    assert work["host"] == work["job_name"]
    assert sys.modules.get("count") is None  # user code stays out of the driver


def test_what_was_prepared_comes_back_from_its_record(runner, tmp_path):
    """Even though the input has changed and the output stands there by now."""
    (tmp_path / "in").write_text("much more\n" * 1000)
    (tmp_path / "out").mkdir()
    (job,) = runner.jobs

    again = JobRunner.reopened([job], runner.records(), tmp_path / "scratch")

    assert again.jobs == runner.jobs
    assert again.records() == runner.records()


def test_only_unfinished_files_of_former_lives_are_swept(runner, tmp_path):
    """Data that tasks left for each other is still needed; what runs now is not ours to remove."""
    data = tmp_path / "scratch" / "node-1" / "data"
    staging(runner).mkdir(parents=True)
    (data / "a-0-0-1-e1.tmp").mkdir()
    for name in ("a-0-0-2-e2.tmp", "a-0-1-1-e1.spill"):
        (data / name).write_text("")
    for name in ("a-1-0-1-e1.writing", "a-1-0-2-e2.writing", "a-1-0-1-e1.part"):
        (staging(runner) / name).write_text("")

    runner.sweep(2)

    assert {path.name for path in data.iterdir()} == {"a-0-0-2-e2.tmp", "a-0-1-1-e1.spill"}
    left = {path.name for path in staging(runner).iterdir()}
    assert left == {"a-1-0-2-e2.writing", "a-1-0-1-e1.part"}


def test_a_job_that_is_over_leaves_no_spills(runner, tmp_path):
    """Only its own: others still need theirs."""
    data = tmp_path / "scratch" / "node-1" / "data"
    name = runner._prepared[ID].name
    for job_name in (name, "other"):
        (data / f"{job_name}-0-0-1-e1.spill").write_text("")

    runner.abort(ID)

    assert [path.name for path in data.iterdir()] == ["other-0-0-1-e1.spill"]


def test_a_disk_that_fails_at_the_commit_is_shown(runner, tmp_path):
    """The driver then keeps the run open, so that the commit can be tried again."""
    runner.work(launch(0, 0), {})
    part = staging(runner) / "a-1-0-1-e1.part"
    part.write_text("x\t1\n")
    staging(runner).with_name("committed").write_text("in the way")

    with pytest.raises(EngineUnavailable, match="--resume"):
        runner.commit(ID, {1: {0: output(1, 0, str(part))}})

    staging(runner).with_name("committed").unlink()
    runner.commit(ID, {1: {0: output(1, 0, str(part))}})
    runner.commit(ID, {1: {0: output(1, 0, str(part))}})
    assert (tmp_path / "out" / "part-00000").read_text() == "x\t1\n"
