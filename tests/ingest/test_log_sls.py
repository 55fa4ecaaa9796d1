"""SLS: traces as `json` counts them, nodes as they are shown, SYNTH as its distributions say."""

import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.ingest.damaged_logs import damaged_reads

from sluice.ingest.logs import sls
from sluice.ingest.logs.limits import MIB, Limits
from sluice.ingest.logs.report import Contents, Report
from sluice.ingest.logs.sls import Options
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind

DATA = Path(__file__).resolve().parents[1] / "data" / "logs" / "sls"
LIMITS = Limits(ratio_free_bytes=MIB, ratio_max=40, skipped_max=1000)


def read(path: Path, **options: object) -> tuple[Contents, Report]:
    report = Report()
    return sls.read(path, report, Options(**options), LIMITS), report


def read_objects(folder: Path, *said: object, **options: object) -> tuple[Contents, Report]:
    path = folder / "sls.json"
    path.write_text("\n".join(json.dumps(one, indent=1) for one in said), encoding="utf-8")
    return read(path, **options)


# --- traces ---------------------------------------------------------------------------------------


def test_a_trace_is_what_json_counts():
    """No container and no millisecond is lost on the way."""
    path = DATA / "inputsls.json"
    contents, report = read(path)
    jobs = json.loads("[" + path.read_text("utf-8").replace("}\n{", "},{") + "]")

    assert (report.skipped, contents.workload) == ((), None)
    assert len(contents.runs) == len(jobs) == 2
    for run, said in zip(contents.runs, jobs, strict=True):
        lengths = [
            task["container.end.ms"] - task["container.start.ms"] for task in said["job.tasks"]
        ]
        (phase,) = run.phases
        assert (run.run_id, run.profile) == (f"inputsls/{said['job.id']}", said["job.id"])
        assert run.queue == said["job.queue.name"]
        assert run.submitted_at_s == said["job.start.ms"] / 1000
        assert run.elapsed_s == (said["job.end.ms"] - said["job.start.ms"]) / 1000
        assert (phase.name, phase.kind, phase.tasks) == ("map", "map", len(lengths))
        assert phase.avg_s == sum(lengths) / len(lengths) / 1000
        assert phase.max_s == max(lengths) / 1000
        assert [task.node for task in phase.timeline] == [
            task["container.host"] for task in said["job.tasks"]
        ]
        assert phase.timeline[0].started_at_s == pytest.approx(
            (said["job.tasks"][0]["container.start.ms"] - said["job.start.ms"]) / 1000
        )


def container(kind: str, start: int, end: int, **more: object) -> dict[str, object]:
    said = {"container.type": kind, "container.start.ms": start, "container.end.ms": end}
    return said | more


def test_reduces_follow_maps_whatever_their_order(tmp_path):
    tasks = [
        container("reduce", 900, 5000),
        container("map", 1000, 2000),
        container("map", 900, 2000),
    ]
    contents, _ = read_objects(tmp_path, {"job.id": "a", "job.start.ms": 500, "job.tasks": tasks})

    assert [
        (phase.name, phase.kind, phase.tasks, phase.after) for phase in contents.runs[0].phases
    ] == [("map", "map", 2, ()), ("reduce", "reduce", 1, (0,))]


def test_durations_and_counts_of_newer_traces_count(tmp_path):
    """Three forms of a length; the newest wins. Numbers may be text, as SLS takes them."""
    tasks = [
        {"container.duration.ms": 3000, "duration.ms": 1, "count": 3},
        {"duration.ms": "1000"},
        container("map", 0, 9000, **{"container.duration.ms": 2000}),
        {"duration.ms": 4000, "container.priority": 10},
    ]
    contents, report = read_objects(tmp_path, {"job.id": "a", "job.tasks": tasks})
    maps, reduces = contents.runs[0].phases

    assert (maps.tasks, maps.avg_s, maps.max_s) == (5, 12 / 5, 3.0)
    assert (reduces.name, reduces.tasks, reduces.avg_s) == ("reduce", 1, 4.0)
    assert (maps.timeline, report.skipped) == ((), ())
    assert "no submission" in contents.runs[0].notes[0]


def test_what_cannot_be_used_is_skipped_and_shown(tmp_path):
    tasks = [container("map", 5, 5), container("map", 9, 5), None, {}, container("map", 0, 1)]
    contents, report = read_objects(
        tmp_path,
        {"job.id": "a", "job.tasks": tasks, "job.count": 4},
        {"job.id": "a", "job.tasks": tasks[-1:]},
        {"job.id": "b", "job.tasks": []},
        {"what": "else"},
    )

    assert [run.phases[0].tasks for run in contents.runs] == [1]
    assert "4 copies of the job" in contents.runs[0].notes[1]
    whys = [one.why for one in report.skipped]
    assert [why for why in whys if "container" in why and "length" in why][:4] == [
        f"job a, container {number}: its length is missing, or not above 0"
        for number in (1, 2, 3, 4)
    ]
    assert whys[-3:] == [
        "job sls/a is given twice",
        "job b has no container with a length",
        "an object that is not a job, a rack or a workload",
    ]


@pytest.mark.parametrize(
    ("by", "name"), [("job", "job_1"), ("queue", "sls_queue_1"), ("user", "default")]
)
def test_profiles_are_named_after_what_is_chosen_and_it_is_shown(by, name):
    contents, _ = read(DATA / "inputsls.json", profile=by)

    assert contents.runs[0].profile == name
    assert any(note.startswith(f"profile = {by}: ") for note in contents.notes)


# --- nodes ----------------------------------------------------------------------------------------


def test_nodes_and_racks_are_those_of_the_file():
    contents, report = read(DATA / "nodes.json", node_map_slots=4, node_reduce_slots=2)
    nodes = contents.workload.cluster.nodes

    assert [node.node_id for node in nodes] == [f"node{number}" for number in range(1, 20)]
    assert [node.rack for node in nodes[3:5]] == ["rack1", "rack2"]
    assert {(node.map_slots, node.reduce_slots) for node in nodes} == {(4, 2)}
    assert [one.why for one in report.skipped] == ["rack 'rack5', node 4: it has no name"]
    assert contents.workload.jobs == ()


def test_memory_and_cores_of_a_node_become_slots():
    """2 GB hold two containers of 1 GB, 6 GB six, whichever of memory and cores is less."""
    contents, _ = read(DATA / "nodes-with-resources.json")

    assert [(node.map_slots, node.reduce_slots) for node in contents.workload.cluster.nodes] == [
        (1, 1),
        (5, 5),
        (5, 5),
        (3, 3),
    ]


def test_a_trace_may_show_how_many_nodes_it_ran_on(tmp_path):
    job = {"num.nodes": 5, "num.racks": 2, "job.id": "a", "job.tasks": [container("map", 0, 1)]}
    contents, _ = read_objects(tmp_path, job)

    assert [node.rack for node in contents.workload.cluster.nodes] == [
        *["rack-1"] * 3,
        *["rack-2"] * 2,
    ]
    assert len(contents.runs) == 1


# --- SYNTH ----------------------------------------------------------------------------------------


def jobs_of(path: Path, **options: object) -> tuple[Job, ...]:
    contents, _ = read(path, **options)
    return contents.workload.jobs


def job_class(name: str = "c", **more: object) -> dict[str, object]:
    tasks = [{"type": "map", "count": {"val": 2}, "time": {"val": 10}}]
    return {"class_name": name, "class_weight": 1, "tasks": tasks} | more


def synth(*classes: object, times: object = ((0, 1),), **more: object) -> dict[str, object]:
    distribution = [{"time": time, "weight": weight} for time, weight in times]
    workload = {"job_classes": classes, "time_distribution": distribution, "queue_name": "q"}
    return {"num_jobs": 400, "rand_seed": 1, "workloads": [workload]} | more


@pytest.mark.parametrize("name", ["syn.json", "syn_generic.json"])
def test_both_spellings_are_drawn_from(name):
    contents, report = read(DATA / name)
    workload = contents.workload

    assert (len(workload.jobs), contents.runs, report.skipped) == (10, (), ())
    assert len(workload.cluster.nodes) == 20
    assert workload.cluster.nodes[4].rack == "rack-2"
    assert {job.pool for job in workload.jobs} == {"sls_queue_1"}
    assert all(1 <= job.submitted_at_s < 60 for job in workload.jobs)
    assert [job.submitted_at_s for job in workload.jobs] == sorted(
        job.submitted_at_s for job in workload.jobs
    )
    maps, reduces = workload.jobs[0].phases
    assert (maps.kind, reduces.kind, reduces.after) == (SlotKind.MAP, SlotKind.REDUCE, (0,))


def test_a_seed_gives_one_workload_and_another_seed_another():
    path = DATA / "syn.json"

    assert jobs_of(path) == jobs_of(path) == jobs_of(path, seed=2)
    assert jobs_of(path) != jobs_of(path, seed=3)


def test_draws_have_the_mean_and_spread_that_are_shown():
    """Tolerances are five standard errors wide; the seed is fixed."""
    jobs = jobs_of(DATA / "syn.json", jobs=2000)
    counts = [job.phases[0].tasks for job in jobs]
    lengths = [s for job in jobs for s in job.phases[1].lengths.durations_s]
    logs = [math.log(s) for s in lengths]

    assert statistics.mean(counts) == pytest.approx(5, abs=0.15)
    assert statistics.stdev(counts) == pytest.approx(math.sqrt(1 + 1 / 12), abs=0.15)
    assert statistics.mean(lengths) == pytest.approx(20, abs=0.2)
    assert statistics.stdev(lengths) == pytest.approx(4, abs=0.2)
    # Log-normal: the logarithms are symmetrical about their median, the lengths are not.
    assert statistics.mean(logs) == pytest.approx(statistics.median(logs), abs=0.01)
    assert statistics.mean(lengths) > statistics.median(lengths) + 0.2


def test_deadlines_come_by_the_chance_of_a_reservation():
    jobs = jobs_of(DATA / "syn_generic.json", jobs=1000)
    allowed = [job.deadline_at_s - job.submitted_at_s for job in jobs if job.deadline_at_s]

    assert len(allowed) == pytest.approx(500, abs=80)
    assert statistics.mean(allowed) == pytest.approx(600, abs=15)
    assert all(length % 10 == 0 for length in allowed)  # 10 times whole seconds


def test_a_normal_draw_below_0_is_0(tmp_path):
    tasks = [{"type": "map", "count": {"val": 1}, "time": {"val": 1, "std": 3, "dist": "NORM"}}]
    contents, _ = read_objects(tmp_path, synth(job_class(tasks=tasks)))
    lengths = [job.phases[0].lengths.durations_s[0] for job in contents.workload.jobs]

    assert 100 < lengths.count(0.001) < 200  # a third of the draws
    assert min(lengths) == 0.001


def test_discrete_values_come_by_their_weights(tmp_path):
    tasks = [
        {"type": "map", "count": {"discrete": ["1", 7], "weights": [3, 1]}, "time": {"val": 1}}
    ]
    contents, _ = read_objects(tmp_path, synth(job_class(tasks=tasks)))
    counts = [job.phases[0].tasks for job in contents.workload.jobs]

    assert set(counts) == {1, 7}
    assert counts.count(7) == pytest.approx(100, abs=45)


def test_classes_and_stretches_of_time_come_by_their_weights(tmp_path):
    said = synth(
        job_class("a", class_weight=3),
        job_class("b", class_weight=1),
        job_class("never", class_weight=0),
        times=((10, 1), (20, 3), (40, 0), (50, 4)),
    )
    contents, _ = read_objects(tmp_path, said)
    jobs = contents.workload.jobs
    instants = [job.submitted_at_s for job in jobs]

    assert sum(job.job_id.startswith("b_") for job in jobs) == pytest.approx(100, abs=45)
    assert not any(job.job_id.startswith("never") for job in jobs)
    assert sum(10 <= at < 20 for at in instants) == pytest.approx(50, abs=35)
    assert sum(20 <= at < 40 for at in instants) == pytest.approx(150, abs=50)
    assert instants.count(50) == sum(at >= 40 for at in instants)
    assert all(at == int(at) for at in instants)


def test_a_spread_of_0_is_a_sixth_of_the_mean_and_none_is_none(tmp_path):
    tasks = [
        {"type": "map", "count": {"val": 40}, "time": {"val": 12, "std": 0}},
        {"type": "reduce", "count": {"val": 40}, "time": {"val": 12}},
    ]
    contents, _ = read_objects(tmp_path, synth(job_class(tasks=tasks)), jobs=50)
    maps = [s for job in contents.workload.jobs for s in job.phases[0].lengths.durations_s]

    assert statistics.stdev(maps) == pytest.approx(2, abs=0.2)
    assert {s for job in contents.workload.jobs for s in job.phases[1].lengths.durations_s} == {12}


def test_what_was_chosen_is_shown(tmp_path):
    none = {"type": "map", "count": {"val": 0}, "time": {"val": 1}}
    said = synth(job_class(), job_class("none", tasks=[none]), num_nodes=1)
    contents, _ = read_objects(tmp_path, said, seed=5, jobs=50, task_time="ms")
    notes = "\n".join(contents.notes)

    assert contents.workload.jobs[0].phases[0].lengths.durations_s == (0.01, 0.01)
    for words in (
        "seed = 5: 50 jobs are drawn",
        "task_time = ms",
        "node_map_slots and node_reduce_slots = 5 and 5",
        "Memory, cores and execution types of SYNTH are left out",
        f"{50 - len(contents.workload.jobs)} jobs were drawn without a task",
    ):
        assert words in notes


BAD_TASKS = [{"type": "map", "count": {"val": -1}, "time": {"val": 1}}]


def test_a_class_that_cannot_be_drawn_is_left_out_and_shown(tmp_path):
    contents, report = read_objects(
        tmp_path,
        synth(
            job_class("bad", tasks=BAD_TASKS),
            job_class("worse", tasks=[]),
            job_class("odd", class_weight="heavy"),
            job_class("good"),
        ),
    )

    assert len(contents.workload.jobs) == 400
    assert all(job.job_id.startswith("good") for job in contents.workload.jobs)
    assert [one.why for one in report.skipped] == [
        "job class 'bad': count is -1, not from 0 to 1e+12",
        "job class 'worse': no tasks",
        "job class 'odd': class_weight is not a number",
    ]


@pytest.mark.parametrize(
    ("count", "said"),
    [(10**400, "above 1e+12"), (-(10**400), "below -1e+12"), (1e13, "1e+13")],
    ids=["huge", "below", "float"],
)
def test_an_integer_of_any_size_is_refused_by_name(tmp_path, count, said):
    tasks = [{"type": "map", "count": {"val": count}, "time": {"val": 1}}]
    _, report = read_objects(tmp_path, synth(job_class("huge", tasks=tasks), job_class("good")))

    assert [one.why for one in report.skipped] == [
        f"job class 'huge': count is {said}, not from 0 to 1e+12"
    ]


@pytest.mark.parametrize(
    "said",
    [
        synth(job_class("bad", tasks=BAD_TASKS)),
        synth(job_class(), num_jobs=0),
        synth(job_class(), num_jobs=10**9),
        synth(job_class(), times=()),
        synth(job_class(), times=((0, 0),)),
        synth(job_class(tasks=[{"count": {"val": 1e9}, "time": {"val": 1}}])),
        synth(job_class(tasks=[{"count": {"discrete": [1], "weights": [1, 2]}, "time": 1}])),
        {"workloads": []},
        {"rack": "r", "nodes": [{}]},
    ],
)
def test_a_file_that_shows_nothing_is_refused(said, tmp_path):
    with pytest.raises(InvalidInput, match="holds no job, rack or workload of SLS"):
        read_objects(tmp_path, said)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
ways = st.lists(st.integers(0, 60), max_size=7)


@given(json_values, ways, st.sampled_from(["syn.json", "syn_generic.json", "inputsls.json"]))
def test_any_value_in_any_place_is_read_or_refused(tmp_path_factory, value, steps, name):
    """A description is small, and every member of it steers the draws."""
    text = (DATA / name).read_text("utf-8")
    said, _ = json.JSONDecoder().raw_decode(text)
    _planted(said, steps, value)
    path = tmp_path_factory.mktemp("sls") / "sls.json"
    path.write_text(json.dumps(said), encoding="utf-8")

    try:
        contents, report = read(path)
    except InvalidInput as error:
        reason = str(error)
    else:
        event("skipped" if report.skipped else "read")
        assert contents.runs or contents.workload
        return
    event("refused")
    assert str(path) in reason


def _planted(said, steps: list[int], value: object) -> None:
    """The value, in place of what the last step leads to."""
    *inner, last = steps or [0]
    for step in inner:
        places = _places(said)
        if places and isinstance(said[places[step % len(places)]], dict | list):
            said = said[places[step % len(places)]]
    places = _places(said)
    if places:
        said[places[last % len(places)]] = value


def _places(said) -> list[Any]:
    return list(said) if isinstance(said, dict) else list(range(len(said)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["inputsls.json", "syn_generic.json", "nodes.json"])
def test_damaged_files_are_read_or_refused(name, tmp_path):
    """Nothing else comes out, and what comes out is sound; the values check themselves."""
    content = (DATA / name).read_bytes()
    seen = set()
    for outcome, contents in damaged_reads(content, tmp_path / "sls.json", read):
        seen.add(outcome)
        assert bool(contents.runs or contents.workload) == (outcome != "refused")

    assert {"refused", "skipped" if name == "nodes.json" else "whole"} <= seen
