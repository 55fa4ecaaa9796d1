"""Chosen plans, their charts and exports, beyond the tests of the command line."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sluice
from sluice.api import plan
from sluice.ingest.workload import parse_workload
from sluice.model.ids import PoolId
from sluice.reporting.exports.fair_scheduler import SlotQueue, fair_scheduler_xml
from sluice.reporting.exports.workload_text import moved, workload_text

TEXT = """\
version: 1
cluster: {map_slots_per_vm: 2, reduce_slots_per_vm: 2}
prices: {vm_hour_usd: 1.0, billing_s: 60, io_op_usd: 1.0e-9}
pools: [{id: etl, weight: 3}]
jobs:
  - id: "5e3"
    pool: etl
    deadline_s: 9000
    maps: {tasks: 6, fixed_s: 20, work_s: 900, tasks_max: 12}
    reduces: {tasks: 2, rows: [[1, 300, 400], [4, 100, 150]], tasks_max: 4}
    shuffle: {avg_s: 5}
    map_output: {bytes: 3.0e8, records: 3.0e6}
  - id: listed
    maps: {durations_s: [10, 20, 30], tasks_max: 5}
    reduces: {tasks: 1, avg_s: 50}
limits: {vms_max: 6}
settings: {slowstart: 1.0}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "jobs.yaml"
    path.write_text(TEXT)
    return path


HOW = [
    {},
    {"tune": ["tasks"]},
    {"tune": ["tasks-hill", "buffers"]},
    {"prices": "example", "rents": ["on-demand", "spot"]},
    {"waves": True},
]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_the_file_with_a_plan_is_the_value_with_a_plan(file, how):
    """Two ways to the chosen workload: through the document, and through the model."""
    result = plan.plan(file, **how)

    for number in {1, len(result)}:
        text = workload_text(result.chosen_document(number), name="x.yaml", comment="a\nb")
        read = parse_workload(text, source=str(file), folder=str(file.parent))
        chosen = result.chosen(number)
        assert read.pools == chosen.pools
        assert [slots(read, kind) for kind in kinds()] == [slots(chosen, kind) for kind in kinds()]
        for mine, theirs in zip(read.jobs, chosen.jobs, strict=True):
            assert (mine.job_id, mine.pool) == (theirs.job_id, PoolId(str(theirs.job_id)))
            assert mine.phases == theirs.phases
            assert (mine.submitted_at_s, mine.deadline_at_s) == (
                theirs.submitted_at_s, theirs.deadline_at_s,
            )  # fmt: skip
            assert mine.buffer == theirs.buffer


def kinds():
    from sluice.model.slot_kind import SlotKind

    return SlotKind.MAP, SlotKind.REDUCE


def slots(workload, kind):
    return workload.cluster.slots(kind)


def makespan_s(workload):
    return sluice.simulate(workload, tasks="fair").makespan_s


@pytest.mark.parametrize("how", HOW[:4], ids=str)
def test_a_simulation_of_the_chosen_plan_ends_near_its_estimate(file, how):
    """Between the low estimate, which averages give, and the mean of the plan."""
    result = plan.plan(file, **how)

    for number in range(1, len(result) + 1):
        took_s = makespan_s(result.chosen(number))
        assert 0.4 * result.plan(number).makespan_s <= took_s
        assert took_s <= result.plan(number).makespan_s * (1 + 1e-9)


def test_tasks_of_a_job_on_a_faster_vm_are_shorter():
    """The simulator's nodes are all equally fast, so the lengths must be shorter."""
    result = plan.plan(parse_workload(TEXT), prices="example")
    fastest, chosen = result.plan(1), result.chosen(1)
    speeds = [entry.choice.offer.speed for entry in fastest.entries]
    assert 1.4 in speeds
    for before, after, speed in zip(result.workload.jobs, chosen.jobs, speeds, strict=True):
        for old, new in zip(before.phases, after.phases, strict=True):
            assert new.lengths.avg_s(new.tasks) * speed == pytest.approx(
                old.lengths.avg_s(old.tasks)
            )


def caps(pool):
    return pool.map_slots_max, pool.reduce_slots_max


def test_no_job_ever_has_more_slots_than_its_plan_gives(file):
    result = plan.plan(file)
    chosen = result.chosen(1)
    done = sluice.simulate(chosen, tasks="fair")

    for pool in chosen.pools:
        mine = [one for one in done.attempts if str(one.launch.key.job_id) == str(pool.pool_id)]
        for phase, most in enumerate(caps(pool)):
            changes = sorted(
                change
                for one in mine
                if one.launch.key.phase == phase
                for change in (
                    (one.started_at_s, one.launch.tasks),
                    (one.finished_at_s, -one.launch.tasks),
                )
            )
            busy = 0
            for _, change in changes:
                busy += change
                assert busy <= most


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
ODD = ["1e3", "0x10", "no", "~", "1:30", "- a", "a: b", "\x85", "a\u2028b", "\n", " a"]


@given(
    st.recursive(
        PLAIN | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(ODD),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_yaml_text_is_read_as_it_was_written(value):
    """Our reader takes fewer words for numbers than YAML does, and others, too."""
    from sluice.ingest.positions import NotationError
    from sluice.ingest.yaml_notation import read_yaml

    text = workload_text({"k": value}, name="x.yaml")
    try:
        read = read_yaml(text)
    except NotationError:
        # A workload cannot have characters that are not allowed in YAML.
        assert not json.dumps(value, ensure_ascii=False).isprintable()
        return
    assert read == {"k": value}


def test_paths_of_commands_become_relative_to_the_new_folder(tmp_path):
    run = {"input": ["data/*.txt", "/abs"], "output": "out", "python": "jobs/wc.py:Count"}
    document = {"jobs": [{"id": "a", "run": run}, {"id": "b"}]}

    there = moved(document, folder=str(tmp_path), to=str(tmp_path / "plans"))
    assert there["jobs"][0]["run"] == {
        "input": ["../data/*.txt", "/abs"], "output": "../out", "python": "../jobs/wc.py:Count",
    }  # fmt: skip
    assert moved(document, folder=str(tmp_path), to=str(tmp_path)) == document


def test_the_frame_has_a_row_for_each_job_of_each_plan(file):
    result = plan.plan(file)
    frame = result.to_frame()

    assert len(frame) == 2 * len(result)
    assert set(frame.columns) >= {"plan", "job", "vms", "cost_usd", "buffer_bytes"}


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_workload_from_a_program_is_written_like_one_from_a_file(file, how):
    """A workload out of logs has no file, and its chosen plan is to run all the same."""
    result = plan.plan(sluice.load_workload(str(file)), **how)
    read = parse_workload(workload_text(result.chosen_document(1), name="x.yaml"))

    assert [job.phases for job in read.jobs] == [job.phases for job in result.chosen(1).jobs]
    assert read.pools == result.chosen(1).pools


@pytest.mark.parametrize("limits", ["deadline_s: 700, budget_usd_min: 0.5", "vms_max: 1"])
def test_the_chart_can_be_drawn_with_any_limits(limits):
    text = TEXT.replace("limits: {vms_max: 6}", f"limits: {{{limits}}}")
    chart = plan.plan(parse_workload(text)).plot()

    assert chart.png().startswith(b"\x89PNG")


def test_the_chart_marks_the_knee_and_shades_the_area_beyond_the_limits():
    many = "".join(
        f"  - {{id: j{n}, maps: {{tasks: {9 * n}, avg_s: 60}}, reduces: {{tasks: 2, avg_s: 9}}}}\n"
        for n in range(1, 6)
    )
    head, tail = TEXT.split("limits:", 1)[0], "settings: {}\n"
    result = plan.plan(parse_workload(head + many + tail))
    spec = json.dumps(dict(result.plot().spec))

    assert f"knee: plan {result.knee}" in spec
    assert "zoom" in spec
    late = TEXT.replace("limits: {vms_max: 6}", "limits: {deadline_s: 700}")
    shaded = json.dumps(dict(plan.plan(parse_workload(late)).plot().spec))
    assert "deadline 11:40" in shaded
    assert "beyond the limits" in shaded


def test_names_that_a_scheduler_refuses_are_changed():
    queue = SlotQueue(name="a.b <c>", map_slots=2, reduce_slots=1, vms=1)
    text = fair_scheduler_xml([queue, queue], comment="-- from <here>")

    assert 'name="a_b_c_"' in text
    assert 'name="a_b_c_-2"' in text
    assert "<!-- - - from &lt;here&gt; -->" in text


@pytest.mark.parametrize("deadline_s", [None, 200.0, 500.0])
def test_plans_without_their_jobs_are_not_built_more_often_than_deadlines_need(deadline_s):
    """A table of 10,000 jobs has as many plans, and each is a walk over all jobs."""
    rows = [
        {"name": f"j{number}", "tasks": 3 + number, "seconds": 40 + 7 * number}
        | ({"deadline_s": deadline_s} if deadline_s else {})
        for number in range(12)
    ]
    result = sluice.plan(rows, prices=[{"type": "m", "cpus": 2, "memory_gb": 8, "price": 0.2}])
    listed, plans = result.document()["plans"], result.answer.plans
    built = []

    def made(number):
        built.append(number)
        return plans.make(number)

    counted = replace(plans, make=made)
    result = replace(result, answer=replace(result.answer, plans=counted))

    found = result.document(0)["plans"]
    late = sum(bool(one["misses"]) for one in found)

    # Those that miss a deadline, and as many as it takes to find the first of them.
    assert len(built) <= (late + len(result).bit_length() if deadline_s else 0)
    assert len(found) > 10
    if deadline_s == 500:
        assert 0 < late < len(result) / 2
    assert found == [one | {"jobs": None} for one in listed]
