"""The verbs as functions: paths and values, settings in either form, answers about any instant."""

import copy
import io
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import even_nodes, map_reduce, scheduler_of, totals
from tests.skips import required

import sluice
from sluice.api.sources import settings_of
from sluice.bootstrap.preparation.checks import check_slots
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.reasons import ReasonCode
from sluice.core.settings import CoreSettings
from sluice.core.transitions import JobState
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.policies.orders.fifo import Fifo
from sluice.reporting.explain.text import why_text

FILE = """
version: 1
cluster: {map_slots: 2, reduce_slots: 1}
prices: {vm_hour_usd: 1.0}
jobs:
  - {id: a, maps: {tasks: 6, avg_s: 10}, reduces: {tasks: 1, avg_s: 5}, deadline_s: 60}
  - {id: b, submitted_at_s: 5, maps: {tasks: 2, avg_s: 10}}
settings: {slowstart: 0.5}
"""


@pytest.fixture
def path(tmp_path):
    """A file on disk; a runs from 0 to 35, b from 30 to 40."""
    path = tmp_path / "jobs.yaml"
    path.write_text(FILE)
    return path


def of(*jobs, cluster=None, **more):
    return Workload(cluster=cluster or totals(2, 1), jobs=jobs, **more)


# --- what a verb takes ----------------------------------------------------------------------------


def test_a_path_a_string_standard_input_and_a_value_are_one_workload(path, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(FILE.encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    workload = sluice.parse_workload(FILE)
    digests = {sluice.simulate(source).digest for source in (path, str(path), "-", workload)}

    assert 1 == len(digests)


def test_jobs_may_be_made_without_any_file():
    result = sluice.simulate(of(map_reduce("j", 4, 10.0, 1, 5.0)))

    assert 25.0 == result.makespan_s
    assert JobState.DONE.value == result.jobs[0].state


def test_validate_gives_back_the_workload_or_complains(path):
    workload = sluice.validate(path)

    assert ["a", "b"] == [job.job_id for job in workload.jobs]
    assert workload is sluice.validate(workload)
    path.write_text(FILE.replace("tasks: 6", "tasks: -6"))
    with pytest.raises(InvalidInput, match="tasks"):
        sluice.validate(path)
    with pytest.raises(InvalidInput, match=r"none\.yaml"):
        sluice.validate(path.with_name("none.yaml"))


def test_the_schema_is_json_and_knows_the_file(path):
    jsonschema = required("jsonschema")
    schema = json.loads(json.dumps(sluice.schema()))
    document = {
        "version": 1,
        "cluster": {"map_slots": 2, "reduce_slots": 1},
        "jobs": [{"id": "a", "maps": {"tasks": 6, "avg_s": 10}}],
    }

    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"job": []}, schema)


# --- what a verb gives ---------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["simulate", "compare", "plan", "order", "validate"])
def test_results_go_to_another_process_and_are_copied(verb):
    text = (
        "{version: 1, prices: {vm_hour_usd: 1.0}, cluster: {map_slots: 2, reduce_slots: 1,"
        " map_slots_per_vm: 2, reduce_slots_per_vm: 1}, jobs: [{id: a, maps: {tasks: 6, avg_s: 9},"
        " reduces: {tasks: 1, avg_s: 5}}]}"
    )
    more: list[Any] = {"compare": [["fifo", "fair"]]}.get(verb, [])
    made = getattr(sluice, verb)(sluice.parse_workload(text), *more)

    unpickled = pickle.loads(pickle.dumps(made))  # noqa: S301  # our own bytes
    for other in (unpickled, copy.deepcopy(made)):
        if verb == "validate":
            assert made == other
        else:
            assert made.document() == other.document()


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"heartbeat_s": 3, "jitter": 0.2, "slow_factor": [2, 4]},
        ["heartbeat_s=3", "jitter=0.2", "slow_factor=2..4"],
        ("jitter=0.9", "heartbeat_s=3", "jitter=0.2", "slow_factor=[2, 4]"),
    ],
)
def test_settings_are_a_mapping_or_what_the_command_line_says(path, settings):
    found = settings_of(sluice.load_workload(str(path)), settings)

    expected = {"heartbeat_s": 3.0, "jitter": 0.2, "slow_factor": (2.0, 4.0), "slowstart": 0.5}
    assert expected == dict(found.general)


@pytest.mark.parametrize("settings", [{"slowstart": 1}, ["slowstart=1"]])
def test_what_is_given_wins_over_the_file_and_does_not_change_it(path, settings):
    workload = sluice.load_workload(str(path))

    assert 0.5 == settings_of(workload).of(CoreSettings).slowstart
    assert 1.0 == settings_of(workload, settings).of(CoreSettings).slowstart
    assert {"slowstart": 0.5} == dict(workload.settings)
    # At 0.5 the reduce is placed at 20; only then can it fetch while maps run.
    early, late = sluice.simulate(workload), sluice.simulate(workload, settings=settings)
    assert [20.0, 30.0] == [
        min(a.started_at_s for a in result.attempts if a.key.phase == 1) for result in (early, late)
    ]


def test_a_key_with_a_prefix_holds_for_one_policy():
    jobs = [map_reduce(f"j{n}", 6, 10.0, 1, 5.0) for n in range(2)]
    own = {"fair.jitter": 0.5}
    plain, fifo, fair = (
        sluice.simulate(of(*jobs), tasks=tasks, settings=settings).makespan_s
        for tasks, settings in (("fifo", ()), ("fifo", own), ("fair", own))
    )

    assert plain == fifo
    assert fair != sluice.simulate(of(*jobs), tasks="fair").makespan_s


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"jiter": 0.1}, "jitter"),
        (["jitter"], "key=value"),
        ({"jitter": 1.5}, "jitter is 1.5"),
        ({"jitter": True}, "jitter is true"),
        ({"fiar.jitter": 0.1}, "unknown policy 'fiar'"),
        (["heartbeat_s=-1"], "heartbeat_s is -1"),
    ],
)
def test_a_wrong_setting_is_named(path, settings, said):
    with pytest.raises(InvalidInput) as caught:
        sluice.simulate(path, settings=settings)

    assert said in str(caught.value)


# --- what can run at all --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slots", "job", "said"),
    [
        ((2, 0), map_reduce("j", 1, 1.0, 3, 1.0), "job 'j' has 3 reduce tasks, and reduce_slots"),
        ((0, 2), map_reduce("j", 2, 1.0), "job 'j' has 2 map tasks, and map_slots"),
    ],
)
@pytest.mark.parametrize("tasks", ["fifo", "fair", "static"])
def test_work_for_which_there_is_no_slot_is_refused_before_anything_runs(slots, job, said, tasks):
    with pytest.raises(InvalidInput) as caught:
        sluice.simulate(of(job, cluster=totals(*slots), source="w.yaml"), tasks=tasks)

    assert said in caught.value.what
    assert caught.value.where.startswith("w.yaml")


def test_containers_take_any_kind_of_task():
    workload = of(map_reduce("j", 2, 1.0, 1, 1.0), cluster=totals(2, 0))

    assert 2.0 == sluice.simulate(workload, tasks="yarn-like").makespan_s


def test_a_policy_that_places_by_resources_needs_no_slots():
    """Its nodes may have none; only it can say what fits."""
    scheduler = scheduler_for(settings=resolved_settings({}))
    job = map_reduce("j", 1, 1.0)
    with pytest.raises(InvalidInput):
        check_slots([job], totals(0, 0), scheduler, "w.yaml")

    class ByResources(Fifo):
        def shortage(self, kind, nodes):
            return None

    check_slots([job], totals(0, 0), scheduler_of(ByResources()), "w.yaml")


def test_a_workload_without_cluster_or_with_an_unknown_policy_is_refused():
    with pytest.raises(InvalidInput, match="cluster is missing"):
        sluice.simulate(Workload(cluster=None, jobs=(map_reduce("j", 1),)))
    for kind in ("tasks", "release", "admission"):
        with pytest.raises(InvalidInput, match=f"^{kind}: unknown policy 'none'"):
            sluice.simulate(of(map_reduce("j", 1)), **{kind: "none"})


# --- simulate and compare -------------------------------------------------------------------------


def test_seeds_are_repeatable_and_show_themselves(path):
    jitter = {"jitter": 0.3}
    one, same, other = (sluice.simulate(path, settings=jitter, seed=seed) for seed in (1, 1, 2))

    assert one.digest == same.digest != other.digest
    assert (1, 2) == (one.document()["seed"], other.document()["seed"])


@pytest.mark.no_invariants
def test_an_observer_may_watch_a_simulation():
    said = []
    workload = of(map_reduce("j", 9000, (1.0,) * 9000), cluster=totals(1, 1))
    sluice.simulate(workload, on_progress=lambda now_s, ended: said.append((now_s, ended)))

    assert [(4095.0, 4095), (8191.0, 8191)] == said


def test_compare_runs_each_scheduler_with_the_same_seeds(path):
    jitter = {"jitter": 0.3}
    table: Any = sluice.compare(path, ["fair", "fifo", "fair"], seeds=3, settings=jitter).document()
    by_hand: list[Any] = [
        sluice.simulate(path, settings=jitter, seed=seed).makespan_s for seed in range(3)
    ]

    assert ["fair", "fifo"] == [row["scheduler"] for row in table["rows"]], "each once"
    fifo = table["rows"][1]
    assert pytest.approx(sum(by_hand) / 3) == fifo["makespan_s"]
    assert (min(by_hand), max(by_hand)) == (fifo["makespan_s_min"], fifo["makespan_s_max"])
    assert (3, 1) == (fifo["runs"], table["deadlines"])


def test_compare_shows_which_simulation_is_next(path):
    said = []
    sluice.compare(path, ["fifo", "fair"], seeds=2, on_progress=lambda *what: said.append(what))

    assert [("fifo", 0), ("fifo", 1), ("fair", 0), ("fair", 1)] == said


def test_compare_knows_release_and_tasks_by_one_name(path):
    table: Any = sluice.compare(path, ["input+fifo", "fifo"], seeds=1).document()
    one, other = table["rows"]

    assert "input+fifo" == one["scheduler"]
    assert {0.0} == {found["mean"] for found in other.pop("difference").values() if found}
    assert one | {"scheduler": "fifo"} == other


def test_parts_of_a_scheduler_are_arguments_as_they_are_options(path):
    by_parts = sluice.simulate(path, order="ltrf", slots="lent", copies="late")
    by_text = sluice.simulate(path, tasks="order=ltrf+slots=lent+copies=late")

    assert by_text.digest == by_parts.digest
    assert "ltrf" == by_parts.document()["composition"]["order"]
    preset = sluice.simulate(path, preset="roomy", copies="none")
    assert {"goals": "guarded", "copies": "none"}.items() <= preset.document()[
        "composition"
    ].items()
    changed = sluice.simulate(path, tasks="ltyarn", copies="late").document()["composition"]
    assert {"order": "ltyarn", "copies": "late"}.items() <= changed.items()


def test_parts_do_not_change_a_policy_of_ones_own(path):
    with pytest.raises(InvalidInput, match="a policy of your own") as caught:
        sluice.simulate(path, tasks=Fifo, order="fair")
    assert "order" == caught.value.where
    with pytest.raises(InvalidInput, match=r"order is 'fare'\. Did you mean fair"):
        sluice.simulate(path, order="fare")
    with pytest.raises(InvalidInput, match="given together with tasks"):
        sluice.simulate(path, tasks="fair", preset="roomy")


@pytest.mark.parametrize(
    ("schedulers", "seeds", "where"),
    [([], 10, "schedulers"), (["fifo"], 0, "seeds"), (["fiof"], 1, "schedulers fiof"),
     (["inptu+fifo"], 1, "schedulers inptu+fifo")],
)  # fmt: skip
def test_compare_refuses_what_it_cannot_compare(path, schedulers, seeds, where):
    with pytest.raises(InvalidInput) as caught:
        sluice.compare(path, schedulers, seeds=seeds)

    assert where == caught.value.where


@pytest.mark.parametrize(
    ("schedulers", "said"),
    [
        ([object()], "class object: the class is not derived from TaskPolicy"),
        (["fifo", b"fair"], "class bytes: the class is not derived"),
        ("fifo", "schedulers: 'fifo' is not a list"),
        (7, "schedulers: 7 is not a list"),
        (None, "schedulers: None is not a list"),
    ],
)
def test_compare_says_which_schedulers_it_accepts(path, schedulers, said):
    with pytest.raises(InvalidInput, match=said):
        sluice.compare(path, schedulers, seeds=1)


@pytest.mark.parametrize(
    "verb", ["compare", "simulate", "plan", "capacity", "order", "pools", "validate"]
)
@pytest.mark.parametrize("source", [object(), None, 7, ["a.yaml", object()]])
def test_a_source_that_is_neither_a_path_nor_a_workload_is_refused(verb, source):
    more = [["fifo"]] if verb == "compare" else []
    with pytest.raises(InvalidInput, match=r"source: .* is not a (text, a Path, a W|mapping)"):
        getattr(sluice, verb)(source, *more)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tasks": object()}, "class object: the class is not derived"),
        ({"release": 7}, "class int: the class is not derived"),
        ({"admission": 3.5}, "class float: the class is not derived"),
        ({"settings": 7}, "settings: 7 is not a mapping or a list"),
        ({"settings": [7]}, "settings: 7 is not a text"),
        ({"seed": "1"}, "seed: '1' is not a whole number"),
        ({"on_progress": "x"}, "on_progress: 'x' is not a function"),
    ],
)
def test_an_argument_of_another_type_is_refused(path, given, said):
    with pytest.raises(InvalidInput, match=said):
        sluice.simulate(path, **given)


# --- why and story --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "at_s", "state", "reason"),
    [
        ("b", 12.0, JobState.QUEUED, ReasonCode.BEHIND_IN_LINE),
        ("a", 7.0, JobState.RUNNING, ReasonCode.SLOTS_BUSY),
        ("b", 31.0, JobState.RUNNING, ReasonCode.ALL_RUNNING),
        ("a", None, JobState.DONE, ReasonCode.ENDED),
    ],
)
def test_why_looks_at_an_instant_of_a_simulation(path, job, at_s, state, reason):
    answer = sluice.why(job, source=path, at_s=at_s)

    assert (state, reason) == (answer.state, answer.reason.code)
    assert (40.0 if at_s is None else at_s) == answer.at_s


def test_why_counts_what_had_ended_by_that_very_instant(path):
    (maps, reduces) = sluice.why("a", source=path, at_s=20.0).phases

    assert (0, 2, 4) == (maps.waiting, maps.running, maps.done)
    assert 1 == reduces.running, "slow start lets it in when half of the maps are done"


def test_why_and_story_know_nothing_of_what_is_yet_to_come(path):
    assert "it is submitted later" == sluice.why("b", source=path, at_s=4.9).reason.text()
    with pytest.raises(InvalidInput, match="'b'"):
        sluice.story("b", source=path, at_s=4.9)
    assert sluice.why("b", source=path, at_s=5.0).phases


def test_why_says_when_a_job_came_and_what_its_driver_did():
    """B comes when a is done; a's driver works for 3 s before it asks for a task, and waits not."""
    jobs = [
        replace(map_reduce("a", 2, 10.0), driver_s=3.0),
        replace(map_reduce("b", 2, 10.0), after=("a",)),
    ]
    workload = of(*jobs, cluster=totals(2, 1))
    first, second = (sluice.why(name, source=workload) for name in "ab")

    works = sluice.why("a", source=workload, at_s=1.0).reason
    assert (ReasonCode.DRIVER_WORKS, (("driver_s", 3.0),)) == (works.code, works.numbers)
    assert (0.0, None, 13.0) == (first.waited_s, first.came_after, first.finished_at_s)
    assert (0.0, "a", 13.0) == (second.waited_s, second.came_after, second.submitted_at_s)
    assert first.diagnosis is not None
    assert "took 13 s: no task ran for 3 s, slots idle 0 %" == next(first.diagnosis.in_short())
    assert "b ended at 23 s; it came at 13 s, when a was done." == why_text(second).plain.strip()


def test_why_depends_on_who_decides():
    jobs = [map_reduce(f"j{n}", 6, 10.0, pool=f"p{n}") for n in range(2)]
    workload = of(*jobs, cluster=totals(2, 1))

    assert 0 == sluice.why("j1", source=workload, at_s=5.0).phases[0].running
    assert 1 == sluice.why("j1", source=workload, at_s=5.0, tasks="fair").phases[0].running


def test_a_story_is_of_a_job_a_task_or_a_node():
    workload = of(map_reduce("j", 4, 10.0, 1, 5.0), cluster=even_nodes(2, 1, 1))
    stories = [sluice.story(subject, source=workload) for subject in ("j", "j/map/3", "n1")]

    assert ["job", "task", "node"] == [each.kind for each in stories]
    for said in stories:
        instants = [line.at_s for line in said.lines]
        assert instants == sorted(instants)
        json.dumps(said.document(), allow_nan=False)
    assert 25.0 == stories[0].lines[-1].at_s
    until = sluice.story("j", source=workload, at_s=12.0)
    assert max(line.at_s for line in until.lines) <= 12.0
    with pytest.raises(InvalidInput):
        sluice.story("nobody", source=workload)


def test_without_a_source_the_last_real_run_is_asked_about(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    with pytest.raises(InvalidInput, match="no run is recorded yet"):
        sluice.why("a")


def test_the_verbs_keep_their_hands_off_the_file(path):
    before = Path(path).read_bytes()
    sluice.simulate(path)
    sluice.compare(path, ["fifo"], seeds=1)
    sluice.why("a", source=path)

    assert before == Path(path).read_bytes()
    assert [path] == list(path.parent.iterdir())


def test_what_a_session_shows_of_a_value_is_short(path):
    workload = sluice.load_workload(path)
    long = replace(workload, source="x" * 500)

    shown = [repr(one) for one in (workload, long, sluice.simulate(path).plot("slots"))]

    assert [len(text) < 200 for text in shown] == [True] * 3
    assert f"{len(workload.jobs)} jobs" in shown[0]
