"""Release policies on real processes: jobs wait, and are released into a cluster that runs."""

import json

import pytest
from tests.live.command_line import Place, awaited
from tests.live.recorded_decisions import checks_out, events_of, scheduler_like
from tests.live.recorded_lives import lives_of

# Maps, reduces, and the seconds that one of either is said to take; the largest job first.
JOBS = {
    "crawl": (6, 1, 0.5, 0.2),
    "join": (3, 4, 0.4, 0.5),
    "rollup": (2, 4, 0.2, 0.4),
    "report": (1, 4, 0.1, 0.3),
    "index": (4, 2, 0.3, 0.2),
    "grep": (5, 1, 0.2, 0.1),
}
# By Johnson's rule on two slots of each kind: ascending map work, then descending reduce work.
JOHNSON = ["report", "rollup", "join", "index", "crawl", "grep"]
CLUSTER = {"nodes": 2, "node": {"map_slots": 1, "reduce_slots": 1}}
# Jobs released together begin with whatever fits; what is asked here is when each was released.
# The nodes have come up by then, on a busy machine too; until they have, jobs wait.
SECOND_ROUND_S = 5.0
TASK_SH = "sleep 0.1\ncat\n"


@pytest.fixture
def place(tmp_path):
    """Six jobs of the same words, with lengths shown, that Johnson's rule turns round."""
    place = Place(tmp_path)
    (tmp_path / "task.sh").write_text(TASK_SH)
    jobs = []
    for name, (maps, reduces, map_s, reduce_s) in JOBS.items():
        place.write_input(f"in/{name}", *(f"{name}\nword {n}\nword\n" for n in range(maps)))
        run = {
            "input": [f"in/{name}"],
            "output": f"out/{name}",
            "mapper": "sh task.sh",
            "reducer": "uniq -c",
        }
        lengths = {
            "maps": {"tasks": maps, "avg_s": map_s},
            "reduces": {"tasks": reduces, "avg_s": reduce_s},
        }
        jobs.append({"id": name, "run": run} | lengths)
    place.write(jobs, cluster=CLUSTER)
    yield place
    place.end()


def state_of(run):
    """The state as a run's journal leaves it, finished or not."""
    scheduler = scheduler_like(run, is_live=True)
    for event in events_of(run):
        scheduler.handle(event)
    return scheduler.state


def releases(run):
    """(instant, job) of each release that a run has made, in their order."""
    jobs = [job for job in state_of(run).jobs.values() if job.release_seq >= 0]
    jobs.sort(key=lambda job: job.release_seq)
    return [(job.released_at_s, job.job_id) for job in jobs]


def ran(place, *words):
    """The document of a run that went well, whose outputs are put aside, and its folder."""
    code, document = place.document(*words)
    assert code == 0
    assert {"done"} == {job["state"] for job in document["jobs"].values()}
    run = place.runs[-1]
    (place.folder / "out").rename(place.folder / run.name)
    assert checks_out(run)
    assert {} == place.processes_left()
    return document, run


@pytest.mark.slow
def test_every_way_of_release_has_its_order_and_the_same_outputs(place):
    code, _, complained = place.sluice(
        "order", str(place.file), "--method", "mk-jr", "--out", str(place.folder / "mk-jr.json")
    )
    assert code == 0, complained
    _, as_given = ran(place)
    _, on_demand = ran(place, "--release", "on-demand")
    place.file.write_text((place.folder / "mk-jr.json").read_text())
    _, reordered = ran(place)

    assert list(JOBS) == [job for _, job in releases(as_given)]
    assert JOHNSON == [job for _, job in releases(reordered)]
    assert JOHNSON == [job for _, job in releases(on_demand)]
    outputs = [place.outputs(run.name) for run in (as_given, on_demand, reordered)]
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(outputs[0]) == sum(reduces for _, reduces, _, _ in JOBS.values()) + len(JOBS)


@pytest.mark.slow
def test_on_demand_holds_jobs_back_until_the_running_cluster_has_room(place):
    _, run = ran(place, "--release", "on-demand")
    state = state_of(run)

    first_s = min(attempt.started_at_s for attempt in state.closed)
    late = [(at_s, job) for at_s, job in releases(run) if at_s > first_s]
    assert len(late) >= 3
    for at_s, job in late:
        own = [attempt for attempt in state.closed if attempt.phase.job.job_id == job]
        assert any(attempt.finished_at_s <= at_s for attempt in state.closed), "it made room"
        assert all(attempt.started_at_s >= at_s for attempt in own)


@pytest.mark.slow
def test_rounds_release_into_the_running_cluster_and_are_shown(place):
    workload = json.loads(place.file.read_text())
    for number, job in enumerate(workload["jobs"]):
        job["submitted_at_s"] = 0.0 if number < 3 else SECOND_ROUND_S
    place.file.write_text(json.dumps(workload))
    words = ("--release", "mrorder", "--set", "mrorder.policy=pnj", "--set", "mrorder.jobs_min=3")
    document, run = ran(place, *words, "--set", "mrorder.exact_jobs_max=1")

    orders = [one["order"] for one in document["rounds"]]
    assert [["rollup", "join", "crawl"], ["report", "index", "grep"]] == orders
    assert orders[0] + orders[1] == [job for _, job in releases(run)]
    assert document["rounds"][1]["at_s"] >= SECOND_ROUND_S
    assert all(one["estimate_s"] > 0 for one in document["rounds"])


@pytest.mark.slow
@pytest.mark.parametrize("release", ["on-demand", "mrorder"])
def test_a_run_that_was_killed_releases_the_rest_as_it_would_have(place, release):
    """Jobs in the dispatching queue are not lost, and those that were released stay released."""
    words = ["--release", release]
    if release == "mrorder":
        words += ["--set", "mrorder.interval_s=0.3", "--set", "mrorder.jobs_max=2"]
    process = place.started("run", str(place.file), *words)
    awaited(lambda: place.runs and len(lives_of(place.runs[-1]).finished) >= 3, "three tasks")
    process.kill()
    process.communicate()
    before = releases(place.runs[-1])
    code, document = place.document("--resume")
    (run,) = place.runs

    assert code == 0
    assert {"done"} == {job["state"] for job in document["jobs"].values()}
    after = releases(run)
    assert 0 < len(before) < len(JOBS)
    assert before == after[: len(before)]
    assert sorted(JOBS) == sorted(job for _, job in after)
    if release == "on-demand":
        assert JOHNSON == [job for _, job in after]
    assert checks_out(run)
