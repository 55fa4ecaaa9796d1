"""A task that hangs among short tasks is copied within seconds, wherever it hangs.

A rate frozen at the last report, phases that are checked only after a report, and attempts that are
judged after a minute would each leave it hanging.
"""

import json

import pytest
from tests.effort import first_of
from tests.live.command_line import Place, awaited

CLUSTER = {"nodes": 4, "node": {"map_slots": 3, "reduce_slots": 1}}
LATE = ["--tasks", "dynamicmr", "--set", "copies.speculation=late", "--set", "copies.sepb=0.6"]
TASKS, LINES = 8, 10
COPIED_WITHIN_S = 15.0  # a few seconds on a quiet machine
WHERE = {"before": "0-0", "amid": f"0-{LINES // 2}", "after": f"0-{LINES - 1}"}

# Hangs on the first attempt at a task.
HANG = """\
import os, sys, time

def work():
    time.sleep(0.06)  # a map of ten lines reports its progress once or twice

def hang(phase, task):
    if (os.environ["SLUICE_PHASE"], os.environ["SLUICE_TASK"]) == (phase, str(task)):
        if "-1-e" in os.environ["SLUICE_ATTEMPT"]:
            time.sleep(10_000)
"""
FUNCTIONS = (
    HANG
    + """
def mapper(line):
    work()
    if line == {line!r}:
        hang("map", 0)
    yield line, 1

def reducer(key, values):
    yield key, sum(values)
"""
)
COMMAND = (
    HANG
    + """
if {place!r} == "before":
    hang("map", 0)
for line in iter(sys.stdin.readline, ""):
    work()
    if {place!r} == "amid" and line.strip() == {line!r}:
        hang("map", 0)
    print(line.strip(), 1, sep="\\t", flush=True)
if {place!r} == "after":
    hang("map", 0)
"""
)
MRJOB = (
    HANG
    + """
from mrjob.job import MRJob

class Count(MRJob):
    def mapper_init(self):
        if {place!r} == "before":
            hang("map", 0)

    def mapper(self, _, line):
        work()
        if {place!r} == "amid" and line == {line!r}:
            hang("map", 0)
        yield line, 1

    def mapper_final(self):
        if {place!r} == "after":
            hang("map", 0)

    def reducer(self, key, values):
        yield key, sum(values)
"""
)
SLOW_REDUCES = (
    HANG
    + """
def mapper(line):
    yield line, 1

def reducer(key, values):
    work()
    if os.environ["SLUICE_TASK"] == "0":
        seen.append(key)
        if len(seen) == 3:
            hang("reduce", 0)
    yield key, sum(values)

seen = []
"""
)


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.end()


def words():
    return [[f"{task}-{line}" for line in range(LINES)] for task in range(TASKS)]


def write(place, program, run, reduces=1):
    (place.folder / "work.py").write_text(program)
    place.write_input("in", *("".join(f"{word}\n" for word in task) for task in words()))
    job = {
        "id": "j",
        "reduces": {"tasks": reduces},
        "run": {"input": ["in"], "output": "out"} | run,
    }
    place.write([job], cluster=CLUSTER)


def check_cured(place, phase):
    """The run ended well, by a copy of task 0 of the phase that started in time."""
    code, _, complained = place.run("--trace", "trace.jsonl", *LATE)
    lines = map(json.loads, (place.folder / "trace.jsonl").read_text().splitlines())
    tried = {line["attempt"]: line for line in lines if (line["phase"], line["task"]) == (phase, 0)}

    assert 0 == code, complained
    assert {1: "killed", 2: "done"} == {number: line["outcome"] for number, line in tried.items()}
    assert tried[2]["speculative"]
    assert tried[2]["started_at_s"] - tried[1]["started_at_s"] < COPIED_WITHIN_S
    counted = [line.replace(b'"', b"").split(b"\t") for line in place.lines("out")]
    assert sorted(word.encode() for task in words() for word in task) == sorted(
        w for w, _ in counted
    )
    assert {} == place.processes_left()


STYLES = ["command", "functions", "mrjob"]
# Each style and each place once, and then all other pairs.
PAIRS = [(style, [*WHERE][(n + more) % 3]) for more in range(3) for n, style in enumerate(STYLES)]


@pytest.mark.slow
@pytest.mark.parametrize(("style", "where"), first_of(PAIRS, len(STYLES)))
def test_a_mapper_that_hangs_is_copied_within_seconds(place, style, where):
    program, run = {
        "functions": (FUNCTIONS, {"python": "work.py"}),
        "command": (COMMAND, {"mapper": "python3 work.py", "reducer": "cat"}),
        "mrjob": (MRJOB, {"python": "work.py:Count"}),
    }[style]
    write(place, program.format(place=where, line=WHERE[where]), run)

    check_cured(place, "map")


@pytest.mark.slow
def test_a_reducer_that_hangs_is_copied_within_seconds(place):
    write(place, SLOW_REDUCES, {"python": "work.py"}, reduces=4)

    check_cured(place, "reduce")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        (["--set", "copies.speculation=none"], "speculation is off"),
        (
            ["--set", "copies.speculation=late", "--set", "copies.min_age_s=900"],
            "run for 900.0 s (min_age_s)",
        ),
        (
            ["--set", "copies.speculation=late", "--set", "copies.spec_cap=0"],
            "as many copies run as spec_cap allows: 0",
        ),
    ],
    ids=["off", "young", "cap"],
)
def test_why_names_the_hanging_attempt_and_the_rule_while_the_run_is_driven(place, settings, rule):
    """The run has nothing more to do, so its journal does not say that time goes on."""
    write(place, FUNCTIONS.format(line=WHERE["amid"]), {"python": "work.py"})
    process = place.started("run", str(place.file), "--tasks", "dynamicmr", *settings)
    awaited(lambda: "7 of 8 tasks done" in why(place)[0], "seven maps")
    awaited(lambda: silent_s(why(place)[1]) > 1.5, "silence of the eighth map")
    # Until it is old enough, that is the rule that holds.
    awaited(lambda: rule in why(place)[0], "the rule")
    text, document = why(place)
    process.terminate()

    (hung,) = document["phases"][0]["slowest"]
    # Which node is up first, and gets the first map, depends on the machine.
    assert f"attempt j/map/0/1 on {hung['node']} has run for" in text
    assert rule in text
    assert hung["attempt"] == "j/map/0/1"
    assert 0.9 * WHERE_SHARE == pytest.approx(hung["progress"], abs=0.02)
    assert 1.5 < hung["reported_s"] < hung["age_s"]


WHERE_SHARE = 0.5  # of the lines are done with when the next one hangs


def silent_s(document):
    """Seconds since the last report of the slowest attempt; 0 before its first."""
    (hung,) = document["phases"][0]["slowest"]
    return hung["reported_s"] or 0.0


def why(place):
    """The text and the document of `sluice why`."""
    _, text, _ = place.sluice("why", "j")
    _, document, _ = place.sluice("why", "j", "--json")
    return text, json.loads(document or "{}")
