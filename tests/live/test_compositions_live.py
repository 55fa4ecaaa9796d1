"""Schedulers composed of parts, on real processes: same outputs, promises kept, and resumed."""

import json

import pytest
from tests.live.command_line import Place, awaited
from tests.live.recorded_decisions import checks_out
from tests.live.recorded_lives import lives_of

JOBS = {"crawl": (6, 1), "join": (3, 3), "report": (2, 2), "grep": (4, 1)}
POOLS = [{"id": "etl", "weight": 2}, {"id": "people"}]
CLUSTER = {"nodes": 2, "node": {"map_slots": 2, "reduce_slots": 1, "cpu": 100}}
COMPOSED = {
    "all of it": "--order ltrf --goals guarded --slots lent --copies late",
    "resources": "--order ltyarn --slots resources",
    "a preset with copies": "--tasks ltyarn --copies late",
    "queues by deadline": "--order deadline --slots containers --data delay",
    "whole jobs": "--order deadline --slots easy",
    "promises": "--order ltrf --slots lent --admission capacity --release on-demand",
}


@pytest.fixture
def place(tmp_path):
    place = written(tmp_path)
    yield place
    place.end()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The outputs of a plain run of the same jobs."""
    return outputs_of(written(tmp_path_factory.mktemp("plain")))[0]


def written(folder):
    place = Place(folder)
    (folder / "task.sh").write_text("sleep 0.1\ncat\n")
    jobs = []
    for number, (name, (maps, reduces)) in enumerate(JOBS.items()):
        place.write_input(f"in/{name}", *(f"{name}\nword {n}\nword\n" for n in range(maps)))
        run = {"input": [f"in/{name}"], "output": f"out/{name}", "mapper": "sh task.sh"}
        lengths = {
            "maps": {"tasks": maps, "avg_s": 0.3},
            "reduces": {"tasks": reduces, "avg_s": 0.2},
        }
        pool = POOLS[number % 2]["id"]
        run["reducer"] = "uniq -c"
        jobs.append({"id": name, "pool": pool, "deadline_s": 60, "run": run} | lengths)
    place.write(jobs, cluster=CLUSTER, pools=POOLS)
    return place


def outputs_of(place, *words):
    """The outputs of a run that went well, and its document."""
    code, document = place.document(*words)
    assert code == 0
    assert {"done"} == {job["state"] for job in document["jobs"].values()}
    assert checks_out(place.runs[-1])
    assert {} == place.processes_left()
    return place.outputs(), document


@pytest.mark.in_turn(3)
@pytest.mark.slow
@pytest.mark.parametrize("words", COMPOSED.values(), ids=list(COMPOSED))
def test_a_composed_run_gives_the_outputs_of_a_plain_one(place, plain, words):
    found, document = outputs_of(place, *words.split())

    assert plain == found
    asked = dict(zip(words.split()[::2], words.split()[1::2], strict=True))
    said = document["composition"]
    assert all(said[key.lstrip("-")] == name for key, name in asked.items() if key != "--tasks")
    if "capacity" in words:
        assert {"made": len(JOBS), "kept": len(JOBS), "broken": 0} == document["promises"]


@pytest.mark.slow
def test_a_composed_run_that_was_killed_goes_on_as_composed(place, plain):
    words = COMPOSED["all of it"].split()
    process = place.started("run", str(place.file), *words)
    awaited(lambda: place.runs and len(lives_of(place.runs[-1]).finished) >= 3, "tasks")
    process.kill()
    process.communicate()

    code, document = place.document("--resume")

    assert code == 0
    assert plain == place.outputs()
    assert ("ltrf", "guarded", "lent", "late") == tuple(
        document["composition"][axis] for axis in ("order", "goals", "slots", "copies")
    )
    assert checks_out(place.runs[-1])
    assert place.sluice("why", "crawl")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "slots"), [("fair", "rigid"), ("easy", "easy")])
def test_jobs_that_start_as_a_whole_give_the_same_outputs_also_after_a_kill(
    place, plain, tasks, slots
):
    document = json.loads(place.file.read_text())
    for job in document["jobs"]:
        job |= {"gang": True, "limit_s": 5}
    place.file.write_text(json.dumps(document))
    process = place.started("run", str(place.file), "--tasks", tasks)
    awaited(lambda: place.runs and len(lives_of(place.runs[-1]).finished) >= 4, "tasks")
    process.kill()
    process.communicate()

    code, document = place.document("--resume")

    assert code == 0
    assert plain == place.outputs()
    assert checks_out(place.runs[-1])
    assert document["composition"]["slots"] == slots


@pytest.mark.slow
def test_a_gang_starts_together_or_not_at_all_and_a_short_job_passes(tmp_path):
    """`long` runs past its limit, `big` needs its slots, and `small` takes the one that is free."""
    place = Place(tmp_path)
    (tmp_path / "task.sh").write_text("sleep $1\ncat\n")
    jobs = []
    for name, tasks, seconds in (("long", 3, 4), ("big", 4, 1), ("small", 1, 1)):
        place.write_input(f"in/{name}", *(f"{n}\n" for n in range(tasks)))
        mapper = f"sh task.sh {seconds}"
        run = {"input": [f"in/{name}"], "output": f"out/{name}", "mapper": mapper}
        jobs.append({"id": name, "gang": True, "limit_s": 2, "run": run})
    place.write(jobs, cluster={"nodes": 1, "node": {"containers": 4}})
    code, _ = place.document("--tasks", "easy", "--trace", str(tmp_path / "trace.jsonl"))
    times: dict[str, list[tuple[float, float]]] = {}
    for line in (tmp_path / "trace.jsonl").read_text().splitlines():
        one = json.loads(line)
        times.setdefault(one["job"], []).append((one["started_at_s"], one["finished_at_s"]))
    began = {name: [start_s for start_s, _ in spans] for name, spans in times.items()}
    ended = {name: [end_s for _, end_s in spans] for name, spans in times.items()}

    assert code == 0
    assert {name: len(spans) for name, spans in times.items()} == {"long": 3, "big": 4, "small": 1}
    assert all(max(began[name]) < min(ended[name]) for name in times)
    assert max(ended["long"]) <= min(began["big"])
    assert max(ended["small"]) < min(ended["long"])
    assert place.processes_left() == {}
