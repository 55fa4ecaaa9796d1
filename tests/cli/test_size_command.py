"""`size`: from a history, or logs, to the smallest cluster that meets the deadlines."""

import gc
import json
import traceback

import pytest
from tests.cli.terminal import sluice
from tests.effort import first_of
from tests.estimate.nightly_jobs import night_of, nightly_jobs, nights_of

import sluice as package
from sluice.bootstrap.nights.simulation import DrawnJobs, NodeShape, simulated_night
from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.settings import resolved_settings
from sluice.cli import progress
from sluice.estimate.nights import NightJob
from sluice.estimate.proportions import wilson_interval
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


def document(*words, code=0, draws=20):
    answer = sluice("size", *words, "--draws", draws, "--json")
    assert code == answer.code, answer
    return json.loads(answer.out, parse_constant=pytest.fail)


def test_nodes_without_slots_for_a_task_are_refused(tmp_path):
    for slots in ("map_slots: 2", "reduce_slots: 1", "cpu: 4"):
        (tmp_path / "jobs.yaml").write_text(
            f"version: 1\ncluster: {{nodes: 2, node: {{{slots}}}}}\njobs:\n"
            "  - {id: a, maps: {tasks: 3, avg_s: 4}, reduces: {tasks: 1, avg_s: 3}}\n"
        )
        answer = sluice("size", tmp_path / "jobs.yaml", "--deadline-s", "100")

        assert answer.code == 2, answer
        assert "job 'a' has" in answer.err, answer
        assert "slots of the cluster is 0" in answer.err, answer


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


def test_the_deadline_of_all_jobs_in_the_file_counts(few):
    given = document(few, "--deadline-s", "130")
    few.write_text("limits: {deadline_s: 130}\n" + few.read_text())

    assert given["curve"] == document(few)["curve"]
    assert document(few, "--deadline-s", "800")["nodes"] < given["nodes"]


def test_nodes_of_the_file_are_called_so(few):
    few.write_text("cluster: {nodes: 2, node: {map_slots: 4, reduce_slots: 4}}\n" + few.read_text())
    answer = sluice("size", few, "--deadline-s", "800", "--draws", "20")

    assert " of the file met the deadlines in " in answer.out
    assert "of type" not in answer.out


def test_deadlines_of_single_jobs_count(few):
    few.write_text(file_of(nightly_jobs(0, jobs=5), more=", deadline_s: 130"))
    tight = document(few)
    few.write_text(file_of(nightly_jobs(0, jobs=5), more=", deadline_s: 5000"))

    assert tight["nodes"] > document(few)["nodes"] == 1


def test_no_size_that_does_is_a_no(few):
    found = document(few, "--deadline-s", "5", "--nodes-max", "4", code=1)

    assert (None, None, None) == (found["nodes"], found["slots"], found["probability"])
    # Smaller sizes have no time for the work, whatever the draw.
    assert [4] == [point["nodes"] for point in found["curve"]]
    answer = sluice("size", few, "--deadline-s", 5, "--nodes-max", 4, "--draws", 20)
    assert "No cluster of up to 4 nodes" in answer.out
    assert "after the first, after the deadline of 5 s" in " ".join(answer.out.split())
    assert "after the first, after the deadline of 5 s" in found["cause"]
    assert max(map(len, answer.out.splitlines())) <= 80


FAR = """version: 1
jobs:
  - {id: early, maps: {tasks: 1, avg_s: 4}, reduces: {tasks: 1, avg_s: 3}}
  - {id: far, submitted_at_s: 1560, maps: {tasks: 1, avg_s: 4}, reduces: {tasks: 1, avg_s: 3}%s}
"""


@pytest.mark.parametrize(
    ("more", "words", "cause"),
    [
        ("", ["--deadline-s", "100"], "job far arrives 26 m 00 s after the first, after the dead"),
        (", deadline_s: 5", [], "the critical path of job far takes 7 s and its deadline is 5 s."),
        (", deadline_s: 8", [], None),
    ],
)
def test_the_cause_of_a_no_names_the_job(tmp_path, more, words, cause):
    (tmp_path / "far.yaml").write_text(FAR % more)
    answer = sluice("size", tmp_path / "far.yaml", *words, "--nodes-max", 8, "--draws", 5)
    sentence = " ".join(answer.out.split("╭")[0].split())

    if cause is None:
        assert (0, "1 node met the deadlines in 100 % of 5 nights.") == (answer.code, sentence)
    else:
        assert 1 == answer.code
        assert sentence.startswith(f"No size up to 8 nodes meets the deadlines: {cause}")


def test_too_few_slots_are_a_cause(tmp_path):
    """40 maps of 4 s on 4 slots take 40 s, though the longest chain takes 7 s."""
    wide = FAR % ", deadline_s: 8"
    (tmp_path / "far.yaml").write_text(wide.replace("1560, maps: {tasks: 1", "0, maps: {tasks: 40"))
    found = document(tmp_path / "far.yaml", "--nodes-max", "1", code=1, draws=5)

    assert "job far is late, for want of slots" == found["cause"]


@pytest.mark.parametrize("draws", range(1, 200))
def test_the_interval_of_a_probability_ends_at_0_and_at_1(draws):
    assert wilson_interval(draws, draws)[1] == 1.0
    assert wilson_interval(0, draws)[0] == 0.0


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

    assert any("before the last gap ignored" in note for note in found["notes"])
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
        (["FILE", "--deadline-s", "9", "--reserved-vms", "2"], "on_demand_vm_usd is missing"),
        (["FILE", "--deadline-s", "9", "--reserved-vms", "-2"], "--reserved-vms"),
        (["--from-log", LOGS, "--deadline-s", "9", "--reserved-vms", "2"], "there are no prices"),
        (
            ["FILE", "--deadline-s", "9", "--reserved-vms", "2", "--rent", "spot"],
            "leave out --rent",
        ),
    ],
)
def test_bad_input_is_refused_with_a_way_to_fix_it(few, words, said):
    answer = sluice("size", *[few if word == "FILE" else word for word in words])

    assert (2, "") == (answer.code, answer.out)
    assert said.lower() in answer.err.lower()


PRICES = (
    "version: 1\nprices: {on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 2,"
    " billing_s: 3600}\njobs:"
)


def test_reserved_vms_are_used_first_and_the_rest_is_on_demand(few):
    few.write_text(few.read_text().replace("version: 1\njobs:", PRICES))
    found = document(few, "--deadline-s", "200", draws=5)

    for point in (found, *found["curve"]):
        reserved, on_demand = point["reserved_vms"], point["on_demand_vms"]
        assert (reserved, reserved + on_demand) == (min(2, point["nodes"]), point["nodes"])
        # A night takes less than an hour, and hours are paid whole.
        assert point["cost_usd"] == pytest.approx(8 * reserved + 20 * on_demand)
    assert found["on_demand_vms"] > 0
    assert found["next_node_usd"] == pytest.approx(20)
    shown = sluice("size", few, "--deadline-s", "200", "--draws", "5").out
    assert f"2 reserved, {found['on_demand_vms']} on demand" in shown


TYPES = """
version: 1
listed_on: '2025-01-31'
billing_s: 3600
vm_types:
  - {id: big, map_slots_per_vm: 8, reduce_slots_per_vm: 8, on_demand_hour_usd: 9,
     reserved_hour_usd: 6, spot_hour_usd: 2}
  - {id: small, map_slots_per_vm: 4, reduce_slots_per_vm: 4, on_demand_hour_usd: 3}
"""


@pytest.fixture
def two(home, tmp_path):
    """Two jobs, ten nights each, in a file; and the words for a price list of two types."""
    jobs = nightly_jobs(0, jobs=2)
    stored(jobs)
    (tmp_path / "jobs.yaml").write_text(file_of(jobs))
    (tmp_path / "types.yaml").write_text(TYPES)
    return tmp_path / "jobs.yaml", "--deadline-s", "150", "--prices", tmp_path / "types.yaml"


def test_the_number_of_reserved_vms_can_be_given(two):
    words = (*two, "--vm-type", "big")
    some = document(*words, "--reserved-vms", "1", draws=3)
    held = document(*words, "--rent", "reserved", draws=3)
    spot = document(*words, "--rent", "spot", draws=3)

    assert (some["reserved_vms"], some["on_demand_vms"]) == (1, some["nodes"] - 1)
    assert some["cost_usd"] == pytest.approx(6 + 9 * (some["nodes"] - 1))
    assert (held["reserved_vms"], held["on_demand_vms"]) == (held["nodes"], 0)
    assert held["cost_usd"] == pytest.approx(6 * held["nodes"])
    assert (spot["reserved_vms"], spot["on_demand_vms"]) == (None, None)
    assert spot["cost_usd"] == pytest.approx(2 * spot["nodes"])


def test_the_cheapest_of_several_types_is_the_answer(two):
    found = document(*two, draws=3)
    alone = {name: document(*two, "--vm-type", name, draws=3) for name in ("big", "small")}
    cost_usd = {name: one["cost_usd"] for name, one in alone.items()}

    assert found["vm_type"] == min(cost_usd, key=cost_usd.get)
    assert found["cost_usd"] == min(cost_usd.values()) < max(cost_usd.values())
    assert found["curve"] == alone[found["vm_type"]]["curve"]
    for name, one in found["vm_types"].items():
        assert one == {field: alone[name][field] for field in one}
    shown = sluice("size", *two, "--vm-type", "any", "--draws", "3").out
    assert "big" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_no_reserved_price_in_the_list_is_refused(two):
    answer = sluice("size", *two, "--vm-type", "small", "--reserved-vms", "1")

    assert (answer.code, answer.out) == (2, "")
    assert "reserved_hour_usd" in answer.err


def test_the_search_begins_where_the_slots_have_time_for_the_work(few):
    """Sizes below it meet the deadline in no draw, so a longer search has the same answer."""
    found = document(few, "--deadline-s", "130")
    (few.parent / "set.yaml").write_text(few.read_text() + "settings: {heartbeat_s: 0}\n")
    longer = document(few.parent / "set.yaml", "--deadline-s", "130")

    assert found["nodes"] == longer["nodes"]
    assert longer["curve"][0]["nodes"] == 1 < found["curve"][0]["nodes"]
    assert longer["curve"][0]["probability"] == 0


LUCKY = """version: 1
settings: {jitter: 0.5}
cluster: {nodes: 2, node: {containers: 2}}
jobs:
  - {id: a, phases: [{name: s, tasks: 8, avg_s: 10}], deadline_s: 40}
"""


def test_the_luck_that_settings_ask_for_changes_from_night_to_night(tmp_path):
    """Eight tasks of 5 to 15 s take two slots around 40 s, so half of the nights are in time."""
    (tmp_path / "lucky.yaml").write_text(LUCKY)
    found = document(tmp_path / "lucky.yaml", draws=100)
    again = document(tmp_path / "lucky.yaml", "--seed", "1", draws=100)

    assert 1 == found["curve"][0]["nodes"]
    assert 0.1 < found["curve"][0]["probability"] < 0.9
    assert found["curve"] != again["curve"]


@pytest.mark.parametrize(("settings", "nights"), [("heartbeat_s: 0", 3), ("jitter: 0.1", 30)])
def test_nights_that_are_alike_are_simulated_once_for_each_size(
    tmp_path, monkeypatch, settings, nights
):
    simulated = []

    def counted(*given, **named):
        simulated.append(given)
        return simulated_night(*given, **named)

    monkeypatch.setattr("sluice.api.size.simulated_night", counted)
    lines = LUCKY.replace("jitter: 0.5", settings).replace("deadline_s: 40", "deadline_s: 25")
    (tmp_path / "fixed.yaml").write_text(lines)
    found = document(tmp_path / "fixed.yaml", draws=10)

    assert [1, 2, 3] == [point["nodes"] for point in found["curve"]]
    assert [0, 1, 1] == [point["probability"] for point in found["curve"]]
    assert nights == len(simulated)
    assert (nights == 3) == any("all nights are the same" in note for note in found["notes"])


def test_progress_has_lines_with_the_time_left_without_a_terminal(few, monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.05)

    answer = sluice("size", few, "--deadline-s", "150", "--draws", "60", "--json")

    lines = answer.err.splitlines()
    assert any("left" in line and "60 nights on " in line for line in lines), lines
    assert all(line.startswith("sizing: ") for line in lines)


def test_time_is_billed_in_units_also_with_prices_of_both_terms(few):
    """A night takes minutes: an hour is paid for, or the minutes."""
    prices = "prices: {on_demand_vm_usd: 1.0, reserved_vm_usd: 0.5, reserved_vms: 0%s}\n"
    text = few.read_text()
    few.write_text(text + prices % ", billing_s: 3600")
    by_hour = document(few, "--deadline-s", "150")
    few.write_text(text + prices % ", billing_s: 60")
    by_minute = document(few, "--deadline-s", "150")

    assert by_hour["cost_usd"] == by_hour["nodes"] == by_minute["nodes"]
    assert by_minute["cost_usd"] < by_hour["cost_usd"] / 10


class _AsTheyWere:
    """Gives the lengths of tasks as they were, in place of a new draw."""

    def choices(self, lengths_s, k):
        assert k == len(lengths_s)
        return lengths_s


def _is_enough(jobs, nodes, deadline_s, seed, nights=50):
    """Met in 95 % of nights of the model itself, which `size` never saw."""
    tasks = chosen_policy("tasks", "fifo")
    settings = resolved_settings({}, (), (tasks,))
    missed = 0
    for night in range(nights):
        runs = night_of(jobs, 1000 + night, seed)
        drawn = [NightJob(run.profile, 5.0 * number, run) for number, run in enumerate(runs)]
        found = simulated_night(
            DrawnJobs(1.0).of(drawn, _AsTheyWere()), SHAPE.cluster(nodes), tasks, settings
        )
        missed += found.span_s > deadline_s
        if missed > 0.05 * nights:
            return False
    return True


def test_no_night_is_searched_for_garbage_while_it_is_alive(monkeypatch):
    """Python's collector would go through all its jobs and tasks, and find nothing to free."""
    monkeypatch.setattr("sluice.core.garbage_collector._unsearched", 0)
    jobs = nightly_jobs(0)
    runs = night_of(jobs, 1000, 0)
    drawn = [NightJob(run.profile, 5.0 * number, run) for number, run in enumerate(runs)]
    drawn_jobs, cluster = DrawnJobs(1.0).of(drawn, _AsTheyWere()), SHAPE.cluster(40)
    tasks = chosen_policy("tasks", "fifo")
    settings = resolved_settings({}, (), (tasks,))
    simulated_night(drawn_jobs, cluster, tasks, settings)  # loads what a night needs
    inside, usual = [], gc.get_threshold()

    def look(_phase, _info):
        frames = (frame for frame, _ in traceback.walk_stack(None))
        inside.append(any(frame.f_code.co_name == "simulated_night" for frame in frames))

    gc.set_threshold(700, 10, 10)  # Python's own, which the tests have raised
    gc.collect()
    gc.callbacks.append(look)
    try:
        for _ in range(10):
            simulated_night(drawn_jobs, cluster, tasks, settings)
    finally:
        gc.callbacks.remove(look)
        gc.set_threshold(*usual)

    assert not any(inside)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("seed", "deadline_s"), first_of([(0, 500), (1, 400)], 1))
def test_the_answer_for_forty_jobs_is_within_one_node_of_the_truth(seed, deadline_s, home):
    """The truth by brute force: every size near the answer, on nights of the model itself."""
    jobs = nightly_jobs(seed)
    stored(jobs, seed)
    found = package.size(
        package.parse_workload(file_of(jobs)), deadline_s=deadline_s, draws=50
    ).answer.nodes
    near = range(found - 3, found + 3)
    truth = next(nodes for nodes in near if _is_enough(jobs, nodes, deadline_s, seed))

    assert truth > near[0], "the sizes bracket the truth"
    assert abs(found - truth) <= 1


def test_sizes_below_a_gang_are_not_tried(tmp_path):
    """A job of five tasks that start together needs five slots: the search begins there."""
    (tmp_path / "gang.yaml").write_text(
        "version: 1\ncluster: {nodes: 1, node: {containers: 1}}\njobs:\n"
        "  - {id: whole, gang: true, deadline_s: 25, phases: [{name: x, tasks: 5, avg_s: 6}]}\n"
    )
    found = document(tmp_path / "gang.yaml")

    assert (5, 1.0) == (found["nodes"], found["probability"])
    assert 5 == min(point["nodes"] for point in found["curve"])
    small = sluice("size", tmp_path / "gang.yaml", "--nodes-max", 4)
    assert 2 == small.code
    assert "5 tasks of x start together" in small.err
