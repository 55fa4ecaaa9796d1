"""The nodes of Slurm: how many processors are up, in each form in which they are listed."""

import json

import pytest
from tests.cli.terminal import sluice
from tests.ingest.test_squeue import TABLE as QUEUE

import sluice as api
from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind

DEFAULT = """\
PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
debug*       up      30:00      2   idle n[01-02]
batch        up   infinite      1 drain* n04
batch        up   infinite      1   mix- n03
batch        up   infinite      2   idle n[01-02]
"""
BY_NODE = """\
Sat Nov 28 10:00:00 2026
NODELIST|PARTITION|STATE|CPUS|MEMORY
n01|debug*|idle|16|64000
n02|debug*|mixed|16|64000
n02|batch|mixed|16|64000
n03|batch|alloc|32|64000
n04|batch|down*|32|64000
n05|batch|idle~|8+|64000
n06|batch|resv|8|64000
"""
BY_STATE = """\
PARTITION|AVAIL|TIMELIMIT|CPUS(A/I/O/T)|NODES(A/I/O/T)
debug*|up|30:00|16/16/0/32|1/1/0/2
batch|up|infinite|48/16/32/96|2/1/1/4
"""
GROUPS = """\
PARTITION|STATE|NODES|CPUS|NODELIST
debug|idle|2|16|a[1-2]
batch|idle|3|16|a[1-3]
batch|drained|1|16|a4
"""


def as_json():
    def group(partition, states, names, allocated, idle):
        return {
            "node": {"state": states},
            "nodes": {"total": len(names), "nodes": names},
            "cpus": {"allocated": allocated, "idle": idle, "other": 0},
            "partition": {"name": partition},
        }

    groups = [
        group("debug", ["IDLE"], ["n1", "n2"], 4, 28),
        group("debug", ["DOWN", "DRAIN"], ["n3"], 0, 16),
        group("all", ["MIXED", "PLANNED"], ["n1"], 4, 12),
    ]
    return json.dumps({"meta": {}, "sinfo": groups})


@pytest.fixture
def listing(tmp_path):
    def of(text, name="sinfo.txt"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return of


@pytest.mark.parametrize(
    ("text", "processors", "away"),
    [
        (DEFAULT, 3, 1),
        (BY_NODE, 72, 2),
        (BY_NODE.replace("|", "\t"), 72, 2),
        (BY_STATE, 64, 1),
        (BY_STATE.replace("|", ";"), 64, 1),
        (GROUPS, 48, 1),
        (GROUPS.replace("|", ";"), 48, 1),
        (as_json(), 32, 1),
    ],
)
def test_processors_of_nodes_that_are_up_count_once(listing, text, processors, away):
    log = read_log(listing(text))

    assert ("sinfo", 0) == (log.format, log.skipped_count)
    assert log.workload.cluster.slots(SlotKind.CONTAINER) == processors
    assert any(note.startswith(f"{away} node") for note in log.notes)


def test_slurm_prints_whole_thousands_with_a_letter(listing):
    text = "PARTITION|NODES|CPUS(A/I/O/T)\nbatch|1K|2K/1K/0/3K\n"

    assert read_log(listing(text)).workload.cluster.slots(SlotKind.CONTAINER) == 3072


@pytest.mark.parametrize(("partition", "processors"), [("debug", 32), ("batch", 48)])
def test_one_partition_alone(listing, partition, processors):
    log = read_log(listing(GROUPS), options={"partition": partition})

    assert log.workload.cluster.slots(SlotKind.CONTAINER) == processors


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (DEFAULT.replace("idle", "down").replace("mix-", "down"), "no node that is up"),
        (
            GROUPS.replace("a[1-2]", "a[1-").replace("a[1-3]", "a[x]"),
            "a list of nodes that is cut off",
        ),
        (GROUPS.replace("a[1-2]", "a[1-999999]").replace("a[1-3]", "[1-999][1-999]"), "more than"),
    ],
)
def test_what_has_no_node_is_refused_with_the_reason(listing, text, why):
    with pytest.raises(InvalidInput, match=why.replace("[", r"\[")):
        read_log(listing(text))


def test_with_a_queue_it_is_the_cluster(listing):
    """Whatever the order: the list of nodes states it, the queue only guesses."""
    nodes, queue = listing(BY_NODE), listing(QUEUE, "squeue.txt")
    for paths in ([nodes, queue], [queue, nodes]):
        workload = api.workload_from_logs(paths)

        assert workload.cluster.slots(SlotKind.CONTAINER) == 72
        assert len(workload.jobs) == 5


def test_the_eta_of_a_queue_knows_its_nodes(listing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listing(BY_NODE)
    listing(QUEUE, "squeue.txt")

    shown = sluice("eta", "--queue", "squeue.txt", "--nodes", "sinfo.txt", "--json")
    assert 0 == shown.code, shown.err
    assert json.loads(shown.out)["slots"] == 72

    refused = sluice("eta", "--queue", "squeue.txt", "--nodes", "squeue.txt")
    assert 2 == refused.code
    assert "Give the output of sinfo" in refused.err


def test_running_jobs_keep_their_processors_though_their_nodes_are_down(listing):
    found = api.eta(listing(QUEUE, "squeue.txt"), nodes=listing(GROUPS.replace("16", "1")))

    assert found.slots == 8
    assert any("the nodes that are up have 3" in note for note in found.notes)
