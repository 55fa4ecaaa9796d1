"""The changes that let a job end in time: the smallest of each kind, against trying them all."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.terminal import sluice as command
from tests.effort import share_of

import sluice
from sluice.model.errors import InvalidInput

TWO_POOLS = {
    "version": 1,
    "cluster": {"map_slots": 4, "reduce_slots": 1},
    "pools": [{"id": "etl", "weight": 1}, {"id": "ads", "weight": 1}],
    "jobs": [
        {"id": "long", "pool": "etl", "maps": {"tasks": 40, "avg_s": 10}},
        {"id": "mine", "pool": "ads", "maps": {"tasks": 8, "avg_s": 10}},
    ],
}


def read(document):
    return sluice.parse_workload(json.dumps(document))


def helpful(workload, by_s, tasks, **more):
    found = sluice.why("mine", source=workload, by_s=by_s, tasks=tasks, **more).helpful
    assert found is not None
    return found


def ends(workload, tasks):
    rows = {row.job_id: row.finished_at_s for row in sluice.simulate(workload, tasks=tasks).jobs}
    return rows["mine"]


def test_each_kind_has_its_smallest_change_and_the_smallest_comes_first():
    """Fair gives 2 of 4 slots: 8 maps take 40 s. With 3 of 4 they take 30 s."""
    workload = read(TWO_POOLS)
    found = helpful(workload, 30, "fair")
    by_kind = {one.kind: one for one in found.changes}

    assert (found.ends_at_s, found.is_in_time) == (40, False)
    assert set(by_kind) == {"pool weight", "quota", "slots"}
    assert by_kind["quota"].change == "3 map slots in place of 0 guaranteed to pool ads"
    assert by_kind["pool weight"].change == "weight 2 in place of 1 for pool ads"
    assert by_kind["slots"].change == "1 map slot more"
    assert [one.kind for one in found.changes] == ["slots", "quota", "pool weight"]
    assert all(one.ends_at_s <= 30 for one in found.changes)


def test_first_in_line_helps_where_the_order_of_submission_counts():
    found = helpful(read(TWO_POOLS), 20, "fifo")

    assert found.changes[0].kind == "order"
    assert (found.changes[0].starts_at_s, found.changes[0].ends_at_s) == (0, 20)


def test_a_deadline_helps_where_deadlines_are_kept_first():
    found = helpful(read(TWO_POOLS), 20, "order=deadline")

    assert "deadline" in {one.kind for one in found.changes}


def test_a_smaller_gang_starts_earlier():
    document = {
        "version": 1,
        "cluster": {"containers": 4},
        "jobs": [
            {"id": "long", "gang": True, "limit_s": 100,
             "phases": [{"name": "p", "tasks": 2, "avg_s": 100}]},
            {"id": "mine", "gang": True, "limit_s": 30,
             "phases": [{"name": "p", "tasks": 4, "avg_s": 30}]},
        ],
    }  # fmt: skip
    found = helpful(read(document), 60, "easy")

    assert [one.change for one in found.changes if one.kind == "request"] == [
        "2 tasks of mine start together in place of 4"
    ]


def test_what_ends_in_time_needs_no_change():
    found = helpful(read(TWO_POOLS), 40, "fair")

    assert (found.is_in_time, found.changes) == (True, ())


@pytest.mark.slow
def test_the_fewest_slots_are_those_of_an_exhaustive_search():
    draw = random.Random(9)
    asked = 0
    for _ in range(share_of(160)):
        slots = draw.randint(1, 4)
        jobs = [
            {"id": name, "phases": [{"name": "p", "tasks": draw.randint(1, 8),
                                     "avg_s": draw.randint(1, 9)}]}
            for name in draw.sample(["mine", "other", "third"], 3)
        ]  # fmt: skip
        document = {"version": 1, "cluster": {"containers": slots}, "jobs": jobs}
        workload = read(document)
        tasks = draw.choice(["yarn-like", "order=fifo+slots=containers"])
        by_s = draw.uniform(0.3, 0.95) * ends(workload, tasks)
        found = helpful(workload, by_s, tasks)
        fewest = next(
            (
                more
                for more in range(1, 2 * slots + 1)
                if ends(read({**document, "cluster": {"containers": slots + more}}), tasks) <= by_s
            ),
            None,
        )
        found_slots = [one.size * slots for one in found.changes if one.kind == "slots"]
        assert found_slots == ([] if fewest is None else [pytest.approx(fewest)])
        asked += fewest is not None
    assert asked > 5


def test_nodes_are_added_where_the_cluster_has_nodes():
    document = {**TWO_POOLS, "cluster": {"nodes": 2, "node": {"map_slots": 2, "reduce_slots": 1}}}
    found = helpful(read(document), 30, "fair")

    assert "1 node more" in {one.change for one in found.changes}


def test_map_and_reduce_tasks_get_containers_where_the_cluster_has_those():
    """Of 10 containers, the last 2 of 12 maps of 60 s leave 8 to `mine` after a minute."""
    document = {
        "version": 1,
        "cluster": {"containers": 4},
        "jobs": [
            {"id": "long", "maps": {"tasks": 12, "avg_s": 60}},
            {"id": "mine", "maps": {"tasks": 7, "avg_s": 20}, "reduces": {"tasks": 5, "avg_s": 5}},
        ],
    }
    found = helpful(read(document), 85, "order=fifo+slots=containers")

    assert [(one.change, one.ends_at_s) for one in found.changes if one.kind == "slots"] == [
        ("6 containers more", 85)
    ]


def test_the_smallest_of_many_slots_is_found_too():
    """1,000 tasks in as many waves as their slots leave: 10 waves take 100 slots, 60 more."""
    tasks = {"name": "p", "tasks": 1000, "avg_s": 10}
    document = {
        "version": 1,
        "cluster": {"containers": 40},
        "jobs": [{"id": "mine", "phases": [tasks]}],
    }
    found = helpful(read(document), 100, "yarn-like")

    assert [one.change for one in found.changes] == ["60 containers more"]


QUEUE = """JOBID|NAME|USER|PARTITION|STATE|CPUS|TIME_LIMIT|TIME
11|train|ann|gpu|RUNNING|8|2:00:00|30:00
13|big|ann|gpu|PENDING|8|3:00:00|0:00
14|small|eve|cpu|PENDING|2|1:00:00|0:00
"""


def test_a_note_about_the_simulation_is_shown_once(tmp_path):
    (tmp_path / "squeue.txt").write_text(QUEUE)
    asked = ("why", "14", "--from-log", tmp_path / "squeue.txt", "--by", "2:00:00")
    answer = command(*asked, "--tasks", "fifo")

    assert "10 containers more" in answer.out
    assert "is submitted before" not in answer.out, "job 11 holds all processors until 1:30"
    assert answer.err.count("start as a whole") == 1


def test_a_job_may_be_named_by_its_profile():
    logs = Path(__file__).resolve().parents[2] / "data" / "logs" / "jhist"
    workload = sluice.workload_from_logs([next(logs.glob("*Sleep*"))])
    by_id, by_name = (
        sluice.why(name, source=workload, by_s=24).helpful
        for name in (str(workload.jobs[0].job_id), "Sleep job")
    )

    assert by_name == by_id
    assert by_id.changes


CAPACITY = """<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>prod,dev</value></property>
<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>80</value></property>
<property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>20</value></property>
<property>
  <name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>{masters}</value>
</property>
</configuration>"""
FAIR = """<allocations>
<queue name="prod"><weight>4</weight></queue>
<queue name="dev"><maxRunningApps>1</maxRunningApps></queue>
</allocations>"""
KUEUE = """apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: dev}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 2}]}]
"""
LOCAL = f"""{KUEUE}---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: mine, namespace: ns}}
spec: {{clusterQueue: dev}}
"""


@pytest.mark.parametrize(
    ("text", "jobs", "by_s", "changes"),
    [
        # Of 50 containers dev has 10, and one user of it no more: 100 tasks take 10 waves.
        (CAPACITY.format(masters=0.5), [100], 300, [
            "40 % in place of 20 % guaranteed to root.dev",
            "one user of root.dev may hold 2 times its guarantee in place of 1 (user-limit-factor)",
        ]),
        # 2 of 50 containers are for masters, so the third job waits for the first.
        (CAPACITY.format(masters=0.04), [1, 1, 1], 30, [
            "application masters may hold 9 % of root.dev in place of 4 %",
        ]),
        (FAIR, [1, 1], 30, ["2 applications of root.dev may run in place of 1"]),
        (KUEUE, [5], 60, ["5 containers in place of 2 at most for root.dev"]),
        (LOCAL, [5], 60, ["5 containers in place of 2 at most for root.dev"]),
    ],
    ids=["user", "masters", "applications", "quota", "quota above"],
)  # fmt: skip
def test_wider_limits_of_a_read_queue_help(tmp_path, text, jobs, by_s, changes):
    """One user, masters, applications and quota: each limit alone, and the least that helps."""
    path = tmp_path / ("queues.yaml" if "kueue" in text else "queues.xml")
    path.write_text(text)
    names = [*(f"j{number}" for number in range(len(jobs) - 1)), "mine"]
    document = {
        "version": 1,
        "cluster": {"containers": 50},
        "jobs": [
            {
                "id": name,
                "pool": "mine" if text is LOCAL else "dev",
                "maps": {"tasks": tasks, "avg_s": by_s / (5 if tasks > 99 else 1)},
            }
            for name, tasks in zip(names, jobs, strict=True)
        ],
    }
    found = sluice.why("mine", source=read(document), by_s=by_s, config=path).helpful

    assert [one.change for one in found.changes if one.kind == "quota"] == changes
    assert found.ends_at_s > by_s


RUN = """version: 1
cluster: {nodes: 1, node: {map_slots: 2, reduce_slots: 1}}
jobs:
  - id: long
    run: {input: ["in/*.txt"], output: out1, mapper: "sh -c 'sleep 0.4; cat'"}
  - id: late
    run: {input: ["in/1.txt"], output: out2, mapper: cat}
"""


@pytest.mark.slow
def test_a_recorded_run_says_what_would_have_helped(tmp_path, monkeypatch):
    """Two slots for six tasks of 0.4 s: the other job waits for all of them, unless it is first."""
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for number in range(6):
        (tmp_path / "in" / f"{number}.txt").write_text("a b c\n")
    (tmp_path / "run.yaml").write_text(RUN)
    assert command("run", "run.yaml", "--tasks", "fifo").code == 0
    (tmp_path / "run.yaml").unlink()  # the journal knows it all

    shown = command("why", "late", "--by", "0.9")
    assert shown.code == 0, shown.err
    assert "what would help" in shown.out
    document = json.loads(command("why", "late", "--by", "0.9", "--json").out)
    kinds = {one["kind"]: one["ends_at_s"] for one in document["would_help"]}
    assert "order" in kinds
    assert max(kinds.values()) <= 0.9
    assert "without a change" in command("why", "late", "--by", "60").out


def test_odd_instants_are_refused():
    with pytest.raises(InvalidInput, match="by_s is"):
        sluice.why("mine", source=read(TWO_POOLS), by_s=-1)


def test_the_command_lists_them_and_the_document_has_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.json").write_text(json.dumps(TWO_POOLS))
    words = ("why", "mine", "--file", "w.json", "--tasks", "fair", "--by", 30)
    answer = command(*words)
    document = json.loads(command(*words, "--json").out)

    assert answer.code == 0
    assert "1 map slot more: it starts at 0 s and ends at" in answer.out
    assert document["would_help"][0]["change"] == "1 map slot more"
    assert set(document["would_help"][0]) >= {"change", "starts_at_s", "ends_at_s"}
    assert "by then without a change" in command(*words[:-1], 400).out
    assert command(*words[:-1], "0:00:30").out == answer.out
    assert "'soon' is not an instant" in command(*words[:-1], "soon").err


def test_every_change_is_as_it_says():
    """The same change, made by hand, gives the same end."""
    workload = read(TWO_POOLS)
    (slots,) = [one for one in helpful(workload, 30, "fair").changes if one.kind == "slots"]
    node = replace(workload.cluster.nodes[0], map_slots=5)
    larger = replace(workload, cluster=replace(workload.cluster, nodes=(node,)))

    assert ends(larger, "fair") == slots.ends_at_s


def test_notes_are_given_once_and_not_for_each_change(tmp_path):
    jobs = [{"id": name, "gang": True, "maps": {"tasks": 4, "avg_s": 10}} for name in ("a", "late")]
    (tmp_path / "w.json").write_text(json.dumps(TWO_POOLS | {"jobs": jobs}))
    answer = command("why", "late", "--file", tmp_path / "w.json", "--by", 12)

    assert 1 == answer.err.count("jobs start as a whole")
    assert "what would help" in answer.out
