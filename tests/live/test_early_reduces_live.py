"""Reduces that start early in real runs: the same bytes, whatever is killed, lost or full."""

import os
import random
import re
import signal

import pytest
from tests.effort import IS_THOROUGH, first_of
from tests.live.chaos import Chaos, name_of
from tests.live.command_line import Place, awaited, words_of
from tests.live.recorded_lives import lives_of

KILLS = 10 if IS_THOROUGH else 4  # for each seed
FILES = 8
SETTINGS = {"slowstart": 0.1}
NODE = {"map_slots": 1, "reduce_slots": 2}
COUNT_PY = """\
import os
import time


def mapper(line):
    time.sleep(0.01)
    for word in line.split():
        yield word, os.environ["SLUICE_TASK"]


def reducer(word, tasks):
    yield word, sorted(tasks)
"""
COMMANDS = {"mapper": "sh -c 'sleep 0.3; cat'", "reducer": "cat"}
JOBS = [
    {"id": "sort", "reduces": {"tasks": 3}, "run": COMMANDS},
    {"id": "python", "reduces": {"tasks": 2}, "run": {"python": "count.py"}},
]


def write(place, jobs=JOBS, node=NODE, nodes=2, **settings):
    """Jobs that read files of their own lines, so that the order of maps shows in the output."""
    place.folder.mkdir(exist_ok=True)
    lines = [f"k{number % 5}\t{number} {number * 7919 % 1009}\n" for number in range(FILES * 20)]
    place.write_input("in", *("".join(lines[first::FILES]) for first in range(FILES)))
    (place.folder / "count.py").write_text(COUNT_PY)
    jobs = [
        one | {"run": {"input": ["in"], "output": f"out/{one['id']}"} | one["run"]} for one in jobs
    ]
    place.write(jobs, cluster={"nodes": nodes, "node": node}, settings=settings)


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.end()


def plain_outputs(folder, jobs=JOBS):
    place = Place(folder)
    write(place, jobs)
    code, _, complained = place.run()
    assert code == 0, complained
    return place.outputs()


@pytest.mark.parametrize("way", ["disk", "network"])
def test_reduces_fetch_while_maps_run_and_write_the_same(place, tmp_path, way):
    jobs = JOBS[:1] if way == "network" else JOBS
    plain = plain_outputs(tmp_path / "plain", jobs)
    write(place, jobs, **SETTINGS | ({"run.data_plane": "network"} if way == "network" else {}))
    code, document = place.document()

    assert code == 0
    assert place.outputs() == plain
    story = place.story("sort")
    assert re.search(
        r"it starts early and fetches while \d tasks that it reads from are left", story
    )
    row = document["measured"]["sort"]["phases"][1]
    assert row["avg_s"] < document["jobs"]["sort"]["finished_at_s"] / 2
    ended_s = document["jobs"]["sort"]["finished_at_s"]
    parts = (part / 20 for part in range(6, 20))  # one is before the last map's end
    texts = [place.sluice("why", "sort", "--at-s", f"{ended_s * part}")[1] for part in parts]
    early = re.compile(
        r"map: [0-7] of 8 tasks done.*reduce: 0 of 3 tasks done, [1-3] running", re.DOTALL
    )
    assert any(map(early.search, texts)), texts
    assert place.remains() == []


def test_without_a_setting_reduces_start_after_the_last_map(place):
    write(place, JOBS[:1])
    assert place.run()[0] == 0
    assert "early" not in place.story("sort")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", first_of(range(3), 1))
def test_kills_of_driver_and_agents_change_no_byte(tmp_path, seed):
    plain = plain_outputs(tmp_path / "plain")
    rng, kills, lost = random.Random(seed), 0, 0
    while kills < KILLS or not lost:
        place = Place(tmp_path / f"killed-{kills}-{lost}-{rng.random()}")
        write(place, **SETTINGS)
        chaos = Chaos(place, rng)
        chaos.run(max(1, KILLS - kills))
        kills += chaos.kills

        lives = lives_of(place.runs[0])
        lost += lives.nodes_lost
        assert place.outputs() == plain, chaos.log
        assert place.remains() == [], chaos.log
        assert lives.ends == [], chaos.log
        assert lives.rerun == [], chaos.log


@pytest.mark.slow
def test_a_map_whose_output_is_lost_runs_again_and_the_waiting_reduces_fetch_that(place, tmp_path):
    """An agent is killed while reduces of the other node wait for the last map."""
    gate = tmp_path / "go"
    waits = {
        "mapper": f"sh -c 'test $SLUICE_TASK != 7 || until test -e {gate}; do sleep 0.1; done; cat'"
    }
    jobs = [JOBS[0] | {"run": COMMANDS | waits}]
    plain = plain_outputs(tmp_path / "plain", JOBS[:1])
    write(place, jobs, node={"map_slots": 2, "reduce_slots": 2}, **SETTINGS)
    process = place.started("run", str(place.file))

    def spills():
        return list(place.home.glob("runs/*/scratch/*/data/*.spill"))

    awaited(lambda: len(spills()) >= FILES - 1, "seven maps")
    waiting = spills()[0].parents[1].name
    agents = [pid for pid in place.processes() if _is_agent_of(pid, waiting)]
    os.kill(agents[0], signal.SIGKILL)
    awaited(lambda: lives_of(place.runs[0]).nodes_lost, "the loss of the node")
    gate.touch()
    _, complained = process.communicate(timeout=60)

    assert process.returncode == 0, complained
    assert place.outputs() == plain
    lives = lives_of(place.runs[0])
    assert len(lives.finished) > FILES + 3  # maps of the lost node, once more


def _is_agent_of(pid, node):
    mark = any(word.endswith(f"/{node}".encode()) for word in words_of(pid))
    return name_of(pid) == "sluice-agent" and mark


FAILS_ONCE = (
    "sh -c 'test $SLUICE_TASK != 0 || { sleep 0.6; mkdir tried 2>/dev/null && exit 1; };"
    " sleep 0.1; cat'"
)


@pytest.mark.parametrize(
    ("words", "node"),
    [
        ("--slots containers", {"containers": 2}),
        ("--tasks yarn-like", {"containers": 2}),
        ("--tasks fair", {"map_slots": 1, "reduce_slots": 1}),
    ],
)
def test_waiting_reduces_never_hold_all_that_a_map_needs(place, words, node):
    """A map fails when reduces wait for it, on a cluster that they could fill."""
    jobs = [{"id": "sort", "reduces": {"tasks": 3}, "run": COMMANDS | {"mapper": FAILS_ONCE}}]
    write(place, jobs, node, nodes=1, **SETTINGS)
    code, _, complained = place.run(*words.split())

    assert code == 0, complained
    assert (place.folder / "tried").is_dir()


@pytest.mark.slow
def test_waiting_reduces_of_ras_give_way_to_a_map_that_failed(place):
    """Maps and reduces use what a node has; reduces that shuffle hold it all, and are ended."""
    demand = {"map": {"memory": 50}, "reduce": {"memory": 10}, "shuffle": {"memory": 25}}
    run = COMMANDS | {"mapper": FAILS_ONCE}
    jobs = [
        {
            "id": "sort",
            "maps": {"tasks": FILES},
            "reduces": {"tasks": 2},
            "demand": demand,
            "run": run,
        }
    ]
    node = {"cpu": 50, "io": 50, "memory": 50}
    write(place, jobs, node, nodes=2, period_s=1, node_limits="off", **SETTINGS)
    code, _, complained = place.run("--tasks", "ras")

    assert code == 0, complained
    assert "early" in place.story("sort")
