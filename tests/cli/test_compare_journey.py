"""A researcher's way: a policy in a file, compared with intervals, then drawn."""

import json

from tests.cli.terminal import sluice

POLICY = '''
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.slot_kind import SlotKind


class FewestTasks(TaskPolicy):
    """The job with the fewest waiting tasks first."""

    def assign(self, node, state, now_s):
        for kind in (SlotKind.MAP, SlotKind.REDUCE):
            while node.free[kind] and (phases := state.backlogs[kind].phases()):
                phase = min(phases, key=lambda one: (one.pending.count, one.line_key))
                yield Assignment(phase, kind, Reason(ReasonCode.FIRST_IN_LINE), 1)
'''

JOBS = {
    "version": 1,
    "cluster": {"map_slots": 4, "reduce_slots": 1},
    "jobs": [
        {"id": "load", "pool": "nightly", "maps": {"tasks": 40, "avg_s": 20}},
        {"id": "ask", "pool": "people", "submitted_at_s": 5, "maps": {"tasks": 4, "avg_s": 12}},
    ],
}


def test_from_a_policy_file_to_intervals_and_a_chart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fewest.py").write_text(POLICY)
    (tmp_path / "jobs.json").write_text(json.dumps(JOBS))
    words = ["compare", "jobs.json", "--schedulers", "fifo,fewest.py:FewestTasks,fair"]
    words += ["--seeds", "4", "--set", "jitter=0.2", "--plot", "waits.json"]

    shown = sluice(*words)
    assert 0 == shown.code, shown.err
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "fewest-tasks" in shown.out

    rows = json.loads(sluice(*words, "--json").out)["rows"]
    first, mine, _ = rows
    assert "difference" not in first
    wait = mine["difference"]["wait_s_p95"]
    assert wait["low"] <= wait["mean"] <= wait["high"] < 0, "the short job no longer waits"
    assert mine["pools"]["people"]["slowdown"]["p95"] < first["pools"]["people"]["slowdown"]["p95"]
    assert mine["jain"] > first["jain"]

    chart = json.loads((tmp_path / "waits.json").read_text())
    lines = chart["vconcat"][0]["layer"][1]["data"]["values"]
    assert {"1 fifo", "2 fewest-tasks", "3 fair"} == {line["scheduler"] for line in lines}


def test_an_idle_cluster_makes_no_difference(tmp_path):
    """40 maps of 20 s and 4 of 12 s hold 848 slot-seconds of 400 times 20 s."""
    (tmp_path / "idle.json").write_text(json.dumps(JOBS | {"cluster": {"map_slots": 400}}))
    answer = sluice("compare", tmp_path / "idle.json", "--schedulers", "fifo,fair", "--seeds", "2")

    assert "no difference: the cluster is idle 89 % of the time" in answer.out, answer.out
    assert "*" not in answer.out
