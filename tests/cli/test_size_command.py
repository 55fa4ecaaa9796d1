"""`size`: from a history, or logs, to the smallest cluster that meets the deadlines."""

import json

import pytest
from tests.cli.terminal import sluice
from tests.estimate.nightly_jobs import night_of, nightly_jobs, nights_of

import sluice as package
from sluice.bootstrap.night_simulation import NodeShape, drawn_jobs, simulated_night
from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.settings import resolved_settings
from sluice.estimate.nights import NightJob
from sluice.store.profiles import Profiles

# Hundreds of simulated nights; the simulator's own tests recount after each event.
pytestmark = pytest.mark.no_invariants

FIELDS = {"nodes", "slots", "probability", "low", "high", "cost_usd", "curve"}
LOGS = "tests/data/logs/rumen"
SHAPE = NodeShape(map_slots=4, reduce_slots=4)


def stored(jobs, seed=0):
    with Profiles.open() as profiles:
        for runs in nights_of(jobs, seed=seed).values():
            profiles.add(runs)


def file_of(jobs, every_s=5, more=""):
    """A file with these jobs, submitted one after the other."""
    lines = [
        f"  - {{id: {job.name}, profile: {job.name}, submitted_at_s: {every_s * number}{more}}}"
        for number, job in enumerate(jobs)
    ]
    return "\n".join(["version: 1", "jobs:", *lines]) + "\n"


@pytest.fixture
def few(home, tmp_path):
    """Five jobs, ten nights each, in a file."""
    jobs = nightly_jobs(0, jobs=5)
    stored(jobs)
    (tmp_path / "jobs.yaml").write_text(file_of(jobs))
    return tmp_path / "jobs.yaml"


def document(*words, code=0):
    answer = sluice("size", *words, "--draws", "20", "--json")
    assert code == answer.code, answer
    return json.loads(answer.out, parse_constant=pytest.fail)


def test_the_document_has_the_fields_of_the_contract(few):
    found = document(few, "--deadline-s", "150", "--vm-type", "medium-4")
    answer = next(point for point in found["curve"] if point["nodes"] == found["nodes"])

    assert set(found) >= FIELDS
    assert found["slots"] == 4 * found["nodes"]
    assert 0.95 <= found["probability"] == answer["probability"]
    assert found["low"] <= found["probability"] <= found["high"]
    assert found["cost_usd"] == answer["cost_usd"] > 0
    smaller = [point for point in found["curve"] if point["nodes"] < found["nodes"]]
    assert all(point["probability"] < 0.95 for point in smaller)
    assert found["nodes"] == 1 or found["nodes"] - 1 in [point["nodes"] for point in smaller]


def test_a_tighter_deadline_needs_no_fewer_nodes(few):
    nodes = [document(few, "--deadline-s", limit_s)["nodes"] for limit_s in (130, 200, 800)]

    assert sorted(nodes, reverse=True) == nodes
    assert nodes[0] > nodes[-1]


def test_deadlines_of_single_jobs_count(few):
    few.write_text(file_of(nightly_jobs(0, jobs=5), more=", deadline_s: 130"))
    tight = document(few)
    few.write_text(file_of(nightly_jobs(0, jobs=5), more=", deadline_s: 5000"))

    assert tight["nodes"] > document(few)["nodes"] == 1


def test_no_size_that_does_is_a_no(few):
    found = document(few, "--deadline-s", "5", "--nodes-max", "4", code=1)

    assert (None, None, None) == (found["nodes"], found["slots"], found["probability"])
    assert [1, 2, 4] == [point["nodes"] for point in found["curve"]]
    answer = sluice("size", few, "--deadline-s", 5, "--nodes-max", 4, "--draws", 20)
    assert "no size up to 4 nodes" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_the_same_seed_gives_the_same_answer(few):
    words = (few, "--deadline-s", "150", "--one-night", "drawn", "--seed", "3")

    assert document(*words) == document(*words)


@pytest.mark.parametrize("mode", ["newest", "typical", "drawn"])
def test_logs_become_one_night_and_gaps_are_mentioned(mode):
    found = document("--from-log", LOGS, "--deadline-s", "100000", "--one-night", mode)

    assert (1, mode) == (found["nodes"], found["one_night"])
    assert any("gap of" in note for note in found["notes"])


def test_gaps_are_cut_on_request():
    found = document(
        "--from-log", LOGS, "--deadline-s", "100000", "--cut-gaps-days", "30"
    )  # fmt: skip

    assert any("before the last gap are left out" in note for note in found["notes"])
    assert not any("there is a gap" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "FILE is missing"),
        (["FILE"], "no job has a deadline"),
        (["FILE", "--deadline-s", "-1"], "--deadline-s"),
        (["FILE", "--deadline-s", "nan"], "--deadline-s"),
        (["FILE", "--deadline-s", "9", "--probability", "1"], "--probability"),
        (["FILE", "--deadline-s", "9", "--one-night", "newst"], "did you mean newest"),
        (["FILE", "--deadline-s", "9", "--vm-type", "medum-4"], "did you mean medium-4"),
        (["FILE", "--deadline-s", "9", "--tasks", "fare"], "did you mean fair"),
        (["FILE", "--deadline-s", "9", "--nodes-max", "0"], "--nodes-max"),
        (["FILE", "--from-log", LOGS], "give one of the two"),
        (["FILE", "--deadline-s", "9", "--rent", "stolen"], "--rent"),
    ],
)
def test_bad_input_is_refused_with_a_way_to_fix_it(few, words, said):
    answer = sluice("size", *[few if word == "FILE" else word for word in words])

    assert (2, "") == (answer.code, answer.out)
    assert said.lower() in answer.err.lower()


class _AsTheyWere:
    """Gives the lengths of tasks as they were, in place of a new draw."""

    def choices(self, lengths_s, k):
        assert k == len(lengths_s)
        return lengths_s


def _true_probability(jobs, nodes, deadline_s, seed, nights=50):
    """By nights of the model itself, which `size` never saw."""
    tasks = chosen_policy("tasks", "fifo")
    settings = resolved_settings({}, (), (tasks,))
    met = 0
    for night in range(nights):
        runs = night_of(jobs, 1000 + night, seed)
        drawn = [NightJob(run.profile, 5.0 * number, run) for number, run in enumerate(runs)]
        found = simulated_night(
            drawn_jobs(drawn, _AsTheyWere(), 1.0), SHAPE.cluster(nodes), tasks, settings
        )
        met += found.span_s <= deadline_s
    return met / nights


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("seed", "deadline_s"), [(0, 500), (1, 400)])
def test_the_answer_for_forty_jobs_is_within_one_node_of_the_truth(seed, deadline_s, home):
    """The truth by brute force: every size near the answer, on nights of the model itself."""
    jobs = nightly_jobs(seed)
    stored(jobs, seed)
    found = package.size(
        package.parse_workload(file_of(jobs)), deadline_s=deadline_s, draws=50
    ).answer.nodes
    near = range(found - 3, found + 3)
    chances = {nodes: _true_probability(jobs, nodes, deadline_s, seed) for nodes in near}
    truth = min(nodes for nodes, chance in chances.items() if chance >= 0.95)

    assert chances[near[0]] < 0.95, "the sizes bracket the truth"
    assert abs(found - truth) <= 1
