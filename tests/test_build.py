"""The installed package (its hot modules compiled) does what the sources do, and harms no memory.

The allocator of Python's debug mode puts a pattern around each object, and stops the process once
it is overwritten.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests import subject
from tests.effort import IS_THOROUGH

HOUSE = subject.HOUSE
LOGS = HOUSE / "tests" / "data" / "logs" / "spark"
LOG = LOGS / "nds_q72_dataproc_2_2.zstd"  # 49 stages
WATCHED = {"PYTHONMALLOC": "debug", "PYTHONFAULTHANDLER": "1"}
WORKLOADS = 10_000 if IS_THOROUGH else 120
pytestmark = [pytest.mark.slow, pytest.mark.no_invariants]


def environment(*path, **more):
    """That of this process, with modules from these folders before what is installed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return env | {"PYTHONPATH": os.pathsep.join(map(str, path))} | more


def lines_of(first, count, *path, **more):
    child = subprocess.run(
        [sys.executable, "-P", "-m", "tests.same_bits", str(first), str(count)],
        env=environment(*path, HOUSE, **more), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert child.returncode == 0, (child.stdout[-300:], child.stderr[-3000:])
    where, *lines = child.stdout.splitlines()
    return Path(where), lines


# Each part starts two interpreters, and one of all would keep a worker until the others are done.
PARTS = 4 if IS_THOROUGH else 2


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_modules_give_the_same_bits_as_the_sources(part):
    first, count = WORKLOADS // PARTS * part, WORKLOADS // PARTS
    compiled_at, compiled = lines_of(first, count, **WATCHED)
    source_at, expected = lines_of(first, count, subject.SOURCES.parent)

    assert compiled_at.suffix == ".so"
    assert source_at.is_relative_to(subject.SOURCES)
    assert expected == compiled
    assert count == len(expected)
    assert count * 0.9 < sum(" sha256:" in line for line in expected)


def graph(count):
    """Two jobs of as many stages, each after up to two before it."""
    draw = random.Random(count)
    rows = [
        {
            "name": f"s{index}",
            "tasks": draw.randint(1, 3),
            "avg_s": draw.randint(1, 9),
            "after": [
                f"s{other}"
                for other in sorted(draw.sample(range(index), min(index, draw.randint(0, 2))))
            ],
        }
        for index in range(count)
    ]
    jobs = [{"id": name, "phases": rows} for name in "ab"]
    return json.dumps({"version": 1, "cluster": {"containers": 8}, "jobs": jobs})


def printed(*words, cwd, home):
    """The output of the installed command under the debug allocator."""
    child = subprocess.run(
        [Path(sys.executable).with_name("sluice"), *map(str, words), "--json"],
        cwd=cwd, env=environment(SLUICE_HOME=str(home), **WATCHED),
        capture_output=True, check=False,
    )  # fmt: skip
    assert child.returncode == 0, (words, child.stderr[-3000:])
    return child.stdout


# fmt: off
COMMANDS: dict[str, list[str | Path]] = {
    "explain": ["explain", LOG],
    "compare": ["compare", "--from-log", LOG, "--schedulers", "fifo,fair,yarn-like"],
    "simulate": ["simulate", "--from-log", LOG, "--tasks", "ltyarn", "--set", "jitter=0.1"],
    "whatif": [
        "whatif", "--history", LOG, "--config", HOUSE / "examples" / "queues" / "halves.xml",
        "--map", "*=root.nightly", "--containers", "8", "--seeds", "2",
    ],
    "size": [
        "size", "--from-log", LOG, "--deadline-s", "3600", "--vm-type", "medium-4", "--draws", "10",
    ],
    "graph": ["compare", "graph.json", "--schedulers", "fifo,fair,yarn-like", "--seeds", "3"],
    "ltrf": ["simulate", "graph.json", "--tasks", "ltrf"],
    "queues": ["simulate", "graph.json", "--tasks", "queue-tree"],
}
# fmt: on


@pytest.mark.parametrize("name", COMMANDS)
def test_graphs_of_many_stages_harm_no_memory(name, tmp_path):
    """Each answer is given again, byte for byte."""
    (tmp_path / "graph.json").write_text(graph(300))
    rounds = 20 if IS_THOROUGH else 2
    answers = [printed(*COMMANDS[name], cwd=tmp_path, home=tmp_path) for _ in range(rounds)]

    assert json.loads(answers[0])
    assert 1 == len({*answers})
