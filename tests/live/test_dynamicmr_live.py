"""DynamicMR on real processes: slots are lent, hung mappers are cured, stragglers are ended."""

import json

import pytest
from tests.effort import first_of
from tests.live.command_line import Place
from tests.live.recorded_decisions import checks_out, events_of, scheduler_like

from sluice.core.events import Tick
from sluice.model.slot_kind import SlotKind

CLUSTER = {"nodes": 4, "node": {"map_slots": 3, "reduce_slots": 1}}
# What a task that waits for a disk or a service does to a processor: nothing.
SLOW_SH = "sleep $1\ncat\n"
# Hangs on the first attempt at the first file, without a word of progress.
HANGS_SH = """\
case "$SLUICE_PHASE $SLUICE_TASK $SLUICE_ATTEMPT" in "map 0 "*-1-e?) sleep 1000 ;; esac
sleep 0.2
cat
"""


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.end()


def job(name, files, mapper, reducer=None, reduces=0):
    run = {"input": [f"in/{files}"], "output": f"out/{name}", "mapper": mapper}
    more = {"reduces": {"tasks": reduces}} if reduces else {}
    return {"id": name, "run": run | ({"reducer": reducer} if reducer else {})} | more


def write_skewed(place):
    """Six jobs: three with many maps and a reduce, three with two maps and many reduces."""
    (place.folder / "slow.sh").write_text(SLOW_SH)
    place.write_input("in/many", *(f"a{n}\nb{n}\n" for n in range(16)))
    place.write_input("in/few", *("".join(f"k{n}\n" for n in range(40)) for _ in range(2)))
    jobs = [job(f"maps-{n}", "many", "sh slow.sh 0.3", "sh slow.sh 0.1", 1) for n in range(3)]
    jobs += [job(f"reduces-{n}", "few", "sh slow.sh 0.1", "sh slow.sh 0.3", 12) for n in range(3)]
    place.write(jobs, cluster=CLUSTER)


def idle_while_work_waited(run):
    """Instants at which, all decisions made, a slot was free and a task could have started."""
    scheduler = scheduler_like(run, is_live=True)
    found = []
    for event in events_of(run):
        scheduler.handle(event)
        state = scheduler.state
        if not isinstance(event, Tick) or not state.startable:
            continue
        nodes = [node for node in state.nodes.values() if node.is_up]
        if any(node.free[kind] for node in nodes for kind in (SlotKind.MAP, SlotKind.REDUCE)):
            found.append(event.at_s)
    return found


@pytest.fixture(scope="module")
def skewed(tmp_path_factory):
    """The place of a run with static slots, and of one with slots that are lent."""
    place = Place(tmp_path_factory.mktemp("skewed"))
    write_skewed(place)
    for tasks in ("static", "dynamicmr"):
        code, document = place.document("--tasks", tasks, "--trace", "trace.jsonl")
        assert 0 == code
        assert {"done"} == {one["state"] for one in document["jobs"].values()}
        (place.folder / "out").rename(place.folder / f"out-{tasks}")
    return place


@pytest.mark.slow
def test_no_slot_idles_while_a_startable_task_waits(skewed):
    """Static slots do idle on the very same jobs, so the question can be answered with no."""
    place, found = skewed, {}
    for tasks, run in zip(("static", "dynamicmr"), place.runs, strict=True):
        assert checks_out(run)
        found[tasks] = idle_while_work_waited(run)

    assert place.outputs("out-static") == place.outputs("out-dynamicmr")
    assert [] == found["dynamicmr"]
    assert found["static"]
    assert {} == place.processes_left()


def trace_of(place):
    """The attempts that `--trace trace.jsonl` shown."""
    return [json.loads(line) for line in (place.folder / "trace.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_a_borrowed_slot_is_shown_with_its_reason(skewed):
    lines = trace_of(skewed)

    borrowers = {
        (line["phase"], line["slot"]): line for line in lines if line["slot"] != line["phase"]
    }
    assert {("map", "reduce"), ("reduce", "map")} == borrowers.keys()
    for (phase, slot), line in borrowers.items():
        heard = skewed.story(f"{line['job']}/{phase}/{line['task']}")
        assert f"it runs in a borrowed {slot} slot, because {phase}s asked for" in heard


HANG_SETTINGS = {"task_timeout_s": "none"}


CURES = {
    "copies": ["speculation=late", "sepb=1", "min_age_s=0.5"],
    "kills": ["kill_slow=true"],
    "both": ["speculation=late", "sepb=1", "min_age_s=0.5", "kill_slow=true"],
}


@pytest.mark.slow
@pytest.mark.parametrize("cure", first_of([*CURES], 2))
def test_a_mapper_that_hangs_on_its_first_attempt_is_cured(place, cure):
    """First finisher wins; the one that hangs is killed, and its output plays no part."""
    settings = CURES[cure]
    (place.folder / "hangs.sh").write_text(HANGS_SH)
    place.write_input("in/files", *(f"a{n}\nb{n}\n" for n in range(12)))
    jobs = [
        job("hangs", "files", "sh hangs.sh", "cat", 2),
        job("other", "files", "sh -c 'sleep 0.1; cat'", "cat", 1),
    ]
    place.write(jobs, cluster=CLUSTER, settings=HANG_SETTINGS)
    words = [word for setting in settings for word in ("--set", setting)]
    code, _, complained = place.run("--tasks", "dynamicmr", "--trace", "trace.jsonl", *words)
    lines = trace_of(place)

    assert 0 == code, complained
    task = ("hangs", "map", 0)
    tried = [line for line in lines if (line["job"], line["phase"], line["task"]) == task]
    assert {1: "killed", 2: "done"} == {line["attempt"]: line["outcome"] for line in tried}
    (cured,) = (line for line in tried if line["outcome"] == "done")
    assert cured["speculative"] in ({True, False} if len(settings) > 3 else {len(settings) == 3})
    wanted = sorted(f"{letter}{n}".encode() for letter in "ab" for n in range(12))
    assert wanted == sorted(line.rstrip() for line in place.lines("out/hangs"))
    assert {} == place.processes_left()
    assert [] == place.remains()
