"""Advice: features, drawn days, what is tried, and what is chosen."""

import json
from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluice
from sluice.api.advise import advise
from sluice.api.sources import parse_workload
from sluice.bootstrap.advising import choice as choice_of
from sluice.bootstrap.advising.candidates import Candidate, everyone, field_for, first_of
from sluice.bootstrap.advising.choice import Question
from sluice.bootstrap.advising.day_runs import DayRuns
from sluice.bootstrap.advising.days import Days, moved
from sluice.bootstrap.advising.history import features_of
from sluice.bootstrap.advising.measures import MEASURES, CellRun, over_common_jobs
from sluice.bootstrap.advising.race import DAYS_MAX, DAYS_MIN, TASKS_PER_S, Bound, Budget, raced
from sluice.bootstrap.presets import preset_of, read_preset
from sluice.bootstrap.scheduler_rows import row_of
from sluice.estimate.paired_difference import ExpectedDifference
from sluice.model.errors import InvalidInput
from sluice.reporting.advise.tables import advice_sentence
from sluice.reproductions.loop.day import Day


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))


def day(**changes):
    """A short made day."""
    made = Day(**({"hours": 0.25, "nodes": 2, "load": 0.9, "seed": 1} | changes))
    return parse_workload(json.dumps(made.document()))


DAY = day()


def test_features_of_a_made_day():
    found = features_of(DAY)
    assert found.load == pytest.approx(0.9, rel=0.35)  # the last job may be a large one
    assert found.peak_load >= found.load
    assert found.tenants == 4
    assert 0 < found.deadline_share < 1
    assert 2 <= (found.tightness or 0) <= 6
    assert found.cv == 0.5
    assert found.stragglers == 0.03
    assert found.known_share == 1
    assert found.dag_share == 0
    assert features_of(day(dags=0.5)).dag_share > 0


def test_lengths_of_logs_give_cv_and_stragglers():
    text = """{version: 1, cluster: {containers: 2}, jobs: [{id: a, phases: [
        {name: s, tasks: 4, durations_s: [1, 1, 1, 9]}]}]}"""
    found = features_of(parse_workload(text))
    assert found.stragglers == 0.25
    assert found.cv == pytest.approx(3.4641 / 3, rel=1e-3)


@given(number=st.integers(0, 1000))
@settings(max_examples=30)
def test_a_drawn_day_is_made_of_the_history(number):
    days = Days.of(DAY)
    made, again = days.day(number), days.day(number)
    assert made.jobs == again.jobs
    assert len({job.job_id for job in made.jobs}) == len(made.jobs)
    known = {str(job.job_id): job for job in DAY.jobs}
    last = max(job.submitted_at_s for job in DAY.jobs)
    for job in made.jobs:
        origin = known[str(job.job_id).partition(".")[2] or str(job.job_id)]
        assert job.phases == origin.phases
        assert 0 <= job.submitted_at_s <= last * 1.1 + 60
        if job.deadline_at_s is not None:
            assert job.deadline_at_s - job.submitted_at_s == pytest.approx(
                origin.deadline_at_s - origin.submitted_at_s
            )


def test_a_history_of_one_day_begins_with_itself():
    days = Days.of(DAY)
    assert days.day(0) is DAY
    assert days.known == 1
    assert days.day(1).jobs != DAY.jobs


def week(days=3, hours=6):
    """Days of as many hours, with a job in each hour that is named for its day and hour."""
    jobs = [
        f"{{id: d{day}h{hour}, maps: {{tasks: 1, avg_s: 5}},"
        f" submitted_at_s: {(day * hours + hour) * 3600 + 1800}}}"
        for day in range(days)
        for hour in range(hours)
    ]
    text = f"{{version: 1, cluster: {{containers: 2}}, jobs: [{', '.join(jobs)}]}}"
    return Days.of(parse_workload(text), day_s=hours * 3600.0)


def test_whole_days_come_first_and_others_keep_the_hour_of_the_day():
    days = week()
    assert (days.known, days.per_day) == (3, 6)
    for number in range(3):
        names = [str(job.job_id).partition(".")[2] for job in days.day(number).jobs]
        assert names == [f"d{number}h{hour}" for hour in range(6)]
    seen = set()
    for number in range(3, 30):
        for job in days.day(number).jobs:
            _, _, name = str(job.job_id).partition(".")
            assert int(job.submitted_at_s // 3600) == int(name[3:])
            seen.add(name[:2])
    assert seen == {"d0", "d1", "d2"}


def test_days_without_a_job_do_not_count():
    """Logs that were kept now and then, years apart, are a few days and not thousands."""
    jobs = ", ".join(
        f"{{id: d{day}, maps: {{tasks: 1, avg_s: 5}}, submitted_at_s: {day * 86400 + 7 * 3600}}}"
        for day in (0, 400, 1100, 1101)
    )
    days = Days.of(parse_workload(f"{{version: 1, cluster: {{containers: 2}}, jobs: [{jobs}]}}"))
    assert (days.known, days.tasks) == (4, 1.0)
    names = []
    for number in range(4):
        (job,) = days.day(number).jobs
        assert job.submitted_at_s == pytest.approx(7 * 3600, abs=3600)
        names.append(str(job.job_id).partition(".")[2])
    assert names == ["d0", "d400", "d1100", "d1101"]
    for number in range(4, 40):
        assert len(days.day(number).jobs) == 1, "a drawn day is no longer than a day"


def test_shortened_days_are_stretches_of_the_history_and_cover_it():
    days = week(hours=6).shortened(2.5)
    assert (days.drawn, days.tasks) == (2, 2.0)
    seen = []
    for number in range(9):
        names = [str(job.job_id).partition(".")[2] for job in days.day(number).jobs]
        places = [6 * int(name[1]) + int(name[3]) for name in names]
        assert places[1] == places[0] + 1
        seen += places
    assert sorted(seen) == list(range(18))


def test_jobs_after_jobs_stay_together():
    text = """{version: 1, cluster: {containers: 2}, jobs: [
        {id: a, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 0},
        {id: b, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 500, after: [a]},
        {id: c, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 900}]}"""
    days = Days.of(parse_workload(text))
    for number in range(1, 30):
        made = days.day(number)
        names = {job.job_id for job in made.jobs}
        assert all(before in names for job in made.jobs for before in job.after)


def test_moved_jobs_keep_their_own_deadlines():
    text = """{version: 1, jobs: [
        {id: a, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 10, deadline_s: 30},
        {id: b, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 20, after: [a]}]}"""
    first, second = moved(parse_workload(text).jobs, 100.0, "x.")
    assert (first.job_id, first.submitted_at_s, first.deadline_at_s) == ("x.a", 110.0, 140.0)
    assert second.after == ("x.a",)


@pytest.mark.parametrize(
    ("change", "absent", "said"),
    [
        ({"deadline_share": 0.0, "tightness": None}, ("goals=", "admission=", "order=deadline"),
         "No job has a deadline"),
        ({"tenants": 1}, ("order=ltrf",), "one tenant"),
        ({"stragglers": 0.0}, ("copies=",), "stragglers"),
        ({"over_commitment": 1.5, "is_contended": True}, (), "slow each other down"),
        ({"known_share": 0.5}, ("admission=", "release="), "Not all lengths"),
    ],
)  # fmt: skip
def test_what_the_features_rule_out(change, absent, said):
    found = field_for(replace(features_of(DAY), **change), "bill_usd")
    parts = {part for one in found.candidates for part in one.parts}
    for name in absent:
        assert not any(part.startswith(name) for part in parts)
    assert any(said in line for line in found.left_out)


@pytest.mark.parametrize("objective", ["response_s", "slowdown_p95", "makespan_s"])
def test_refusing_jobs_is_no_way_to_answer_the_others_faster(objective):
    found = field_for(features_of(DAY), objective)
    assert not any("admission=capacity" in one.parts for one in found.candidates)
    assert any("Jobs that are refused" in line for line in found.left_out)
    for counted in ("bill_usd", "deadlines_met"):
        of_penalties = field_for(features_of(DAY), counted)
        assert any("admission=capacity" in one.parts for one in of_penalties.candidates)


def test_every_candidate_is_a_scheduler_and_fair_is_first():
    for is_contended in (False, True):
        features = replace(features_of(DAY), is_contended=is_contended)
        known = everyone(is_contended=is_contended)
        admitting = {one for one in known if "admission=capacity" not in one.parts}
        for objective, expected in (("bill_usd", set(known)), ("response_s", admitting)):
            found = field_for(features, objective).candidates
            assert found[0].parts == ()
            assert len(set(found)) == len(found)
            assert set(found) == expected
            for one in found:
                assert row_of(one.text)[0] == one.text


def test_what_is_tried_first_follows_the_objective_and_the_nodes():
    features = features_of(DAY)
    assert "order=deadline" in field_for(features, "bill_usd").candidates[1].parts
    of_response = field_for(features, "response_s").candidates[1].parts
    assert {"slots=lent", "copies=late"} <= set(of_response)
    assert not {"order=deadline", "goals=first"} & set(of_response)
    contended = replace(features, is_contended=True)
    assert "slots=resources" in field_for(contended, "response_s").candidates[1].parts
    few = first_of(field_for(features, "bill_usd").candidates, 2)
    assert len(few) == 6


def test_guards_differ_and_are_in_the_preset():
    of_guard = {one.guard for one in everyone(is_contended=False) if "goals=guarded" in one.parts}
    assert of_guard == {0.25, 0.4}
    one = Candidate(parts=("goals=guarded",), guard=0.25)
    assert one.text == "goals=guarded+order=fair[goals.guard=0.25]"
    assert one.document()["settings"] == {"goals.guard": 0.25}


def test_the_document_is_a_preset(tmp_path):
    one = Candidate(parts=("slots=lent", "goals=guarded", "order=ltrf"))
    path = tmp_path / "preset.json"
    path.write_text(json.dumps(one.document()))
    preset = read_preset(str(path))
    assert "slots=lent" in preset.tasks
    assert preset.settings == ("goals.guard=0.4",)


def run_of(responses, *, refused=(), met=()):
    """A cell's run."""
    return CellRun(
        measures={},
        responses={name: (value, value) for name, value in responses.items()},
        refused=frozenset(refused),
        met=frozenset(met),
    )


def test_a_cell_is_no_better_for_refusing():
    """The mean response is over the jobs that all completed."""
    takes = run_of({"a-1": 10.0, "b-1": 90.0}, met=("b-1",))
    refuses = run_of({"a-1": 12.0}, refused=("b-1",))
    first, second = over_common_jobs([takes, refuses])
    assert (first["response_s"], second["response_s"]) == (10.0, 12.0)
    assert (first["refused_feasible"], second["refused_feasible"]) == (0.0, 1.0)


def test_nodes_that_are_often_short_count_as_contended():
    """A mean demand just below what a node has leaves half of the full nodes with too little."""
    text = """{version: 1, settings: {contention: shared},
      cluster: {nodes: 2, node: {map_slots: 4, cpu: 100}}, jobs: [
      {id: a, maps: {tasks: 10, avg_s: 10}, demand: {map: {cpu: 10}}},
      {id: b, maps: {tasks: 10, avg_s: CPU_S}, demand: {map: {cpu: 38}}}]}"""
    alike = features_of(parse_workload(text.replace("CPU_S", "10")))
    assert alike.over_commitment == pytest.approx(0.96 + 2 * 0.14)  # sqrt(4) deviations of a task
    assert alike.is_contended
    rare = features_of(parse_workload(text.replace("CPU_S", "0.1")))
    assert not rare.is_contended


def test_the_race_finds_the_best_of_a_few():
    candidates = [
        Candidate(parts=()),
        Candidate(parts=("order=fifo",)),
        Candidate(parts=("slots=lent",)),
    ]
    race = raced(DayRuns(Days.of(DAY), 1), candidates, "bill_usd", days=4)
    assert race.fair.candidate.parts == ()
    means = {one.candidate.parts: one.mean("bill_usd") for one in race.finalists}
    best = min(means, key=means.get)
    chosen = () if race.chosen is None else race.chosen.candidate.parts
    assert chosen in {(), best}
    expected, high = race.regret(race.chosen or race.fair)
    assert 0 <= expected <= high


class MadeRuns:
    """Runs with made bills by combination and day, in place of simulations."""

    def __init__(self, bills):
        self.bills = bills

    def prepare(self, pairs, on_run):
        """Nothing is simulated."""

    def of(self, text, day):
        return replace(run_of({"a": 1.0}), measures=dict.fromkeys(MEASURES, self.bills[text][day]))


@pytest.mark.parametrize(
    ("mean", "bills", "is_chosen"),
    [
        (None, [2.0, 8.0, 2.5, 7.0], False),  # four days that vary so say nothing by themselves
        (-0.9, [2.0, 8.0, 2.5, 7.0], True),
        (0.6, [2.0, 8.0, 2.5, 7.0], False),
        (-0.9, [10.0, 10.0, 10.0, 10.0], False),
    ],
)
def test_what_training_let_expect_is_weighed_with_the_days(mean, bills, is_chosen):
    expected = None if mean is None else ExpectedDifference(mean=mean, between=0.5, within=0.4)
    other = Candidate(parts=("copies=late",), expected=expected)
    candidates = [Candidate(parts=()), other]
    runs = MadeRuns({candidates[0].text: [10.0] * 4, other.text: bills})
    race = raced(runs, candidates, "bill_usd", days=4)
    assert (race.chosen is not None) == is_chosen


def test_each_member_knows_what_was_expected_of_it():
    found = field_for(features_of(DAY), "bill_usd").candidates
    assert found[0].expected is None
    costs = [one.expected.mean for one in found[1:]]
    assert costs == sorted(costs)
    assert costs[0] < -0.5 < costs[-1]
    assert {one.expected for one in field_for(features_of(DAY), "fairness_worst").candidates} == {
        None
    }


def test_bounds_keep_a_choice_out():
    candidates = [Candidate(parts=()), Candidate(parts=("slots=lent",))]
    bound = Bound(measure="makespan_s", value=1.0, is_least=False)
    race = raced(DayRuns(Days.of(DAY), 1), candidates, "bill_usd", [bound], days=4)
    assert race.chosen is None


def test_advice_is_the_same_twice_and_is_kept():
    first = advise(DAY, seconds=1, stores=True)
    again = advise(DAY, seconds=1)
    assert json.dumps(first.document()) == json.dumps(again.document())
    document = json.loads(json.dumps(first.document()))
    assert set(document["preset"]) == {
        "admission", "release", "order", "goals", "slots", "copies", "data", "machines", "settings",
    }  # fmt: skip
    assert document["abstained"] == (document["difference"] == {})
    assert {one["days"] for one in document["tried"]} <= set(range(1, 13))
    preset = read_preset("auto")
    run = sluice.simulate(DAY, tasks=preset.tasks, release=preset.release)
    assert run.jobs


def test_a_gain_that_its_days_leave_open_is_recommended_with_that_said():
    found = advise(DAY, seconds=1)
    sentence = any("These days alone leave the gain open" in note for note in found.notes)
    gain = found.difference.get(found.objective)
    assert sentence == (not found.abstained and (gain is None or not gain.is_clear))


def test_it_abstains_where_nothing_can_be_gained():
    text = """{version: 1, cluster: {map_slots: 50, reduce_slots: 50}, jobs: [
        {id: a, maps: {tasks: 1, avg_s: 5}},
        {id: b, maps: {tasks: 1, avg_s: 5}, submitted_at_s: 600}]}"""
    found = advise(parse_workload(text), seconds=1)
    assert found.abstained
    assert found.scheduler == "order=fair"
    assert found.objective == "response_s"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": "beauty"}, "'beauty' is not known"),
        ({"keep": ["fairness > 1"]}, "no bound"),
        ({"keep": ["beauty>=1"]}, "no bound"),
        ({"seconds": 0.0}, "seconds is 0"),
        ({"seconds": float("inf")}, "seconds is inf"),
    ],
)
def test_what_it_refuses(given, message):
    with pytest.raises(InvalidInput, match=message):
        advise(DAY, **given)


def test_deadlines_without_any_are_no_objective():
    with pytest.raises(InvalidInput, match="no job has a deadline"):
        advise(
            parse_workload("{version: 1, cluster: {containers: 1}, jobs: [{id: a, maps: "
                           "{tasks: 1, avg_s: 1}}]}"),
            objective="deadlines",
        )  # fmt: skip


def test_auto_without_advice_says_how_to_get_it():
    with pytest.raises(InvalidInput, match="no advice is kept yet"):
        read_preset("auto")


@given(
    tasks=st.floats(1, 1e6), candidates=st.integers(1, 40), seconds=st.floats(0.1, 1e5),
    shortest=st.floats(0.01, 1), pace=st.floats(1, 10),
)  # fmt: skip
def test_a_budget_is_kept_as_far_as_it_can_be(tasks, candidates, seconds, shortest, pace):
    """More seconds never give less, and what is simulated fits them unless it is the least."""
    made = Budget.of(tasks, candidates, seconds, shortest=shortest, pace=pace)
    more = Budget.of(tasks, candidates, 2 * seconds, shortest=shortest, pace=pace)
    assert DAYS_MIN <= made.days <= DAYS_MAX
    assert 1 <= made.candidates <= candidates
    assert made.tasks_max <= tasks * (1 + 1e-9)
    assert (more.days, more.candidates) >= (made.days, made.candidates)
    assert more.tasks_max >= made.tasks_max * (1 - 1e-9)
    least = made.candidates == 1 and made.tasks_max <= shortest * tasks * (1 + 1e-9)
    cost = made.tasks_max * (2 * made.candidates + 7 * made.days) * pace / TASKS_PER_S
    assert least or cost <= seconds * (1 + 1e-9)


def test_six_seconds_are_enough_for_all_combinations_on_a_day_of_a_thousand_tasks():
    """The simulator starts and ends 12,000 to 19,000 tasks a second on nodes with room."""
    made = Budget.of(tasks=1000, candidates=17, seconds=6)
    assert (made.candidates, made.tasks_max) == (17, 1000)
    assert made.days > DAYS_MIN


def test_several_processes_find_the_same():
    """The runs of other processes are those of this one."""
    days = Days.of(DAY)
    one, two = DayRuns(days, 1), DayRuns(days, 2)
    pairs = [(text, day) for text in ("order=fair", "order=fifo") for day in (0, 1)]
    seen: list[int] = []
    try:
        two._share(deque(pairs), lambda: seen.append(1))
        assert len(seen) == len(pairs)
        for pair in pairs:
            assert one.of(*pair) == two.of(*pair)
    finally:
        two.end()


def test_a_combination_that_cannot_run_drops_out_with_its_reason():
    runs = DayRuns(Days.of(DAY), 1)
    with pytest.raises(InvalidInput, match="would not keep free"):
        runs.of("admission=capacity+order=fair", 0)
    candidates = [Candidate(parts=()), Candidate(parts=("admission=capacity",))]
    race = raced(runs, candidates, "bill_usd", days=4)
    assert [one.candidate.parts for one in race.finalists] == [()]


def test_tenants_are_those_of_the_jobs_whatever_their_names():
    first = CellRun(
        measures={}, responses={"1.x": (10.0, 2.0), "2.x": (10.0, 2.0)}, refused=frozenset(),
        met=frozenset(), tenants={"1.x": "a", "2.x": "a"},
    )  # fmt: skip
    second = replace(first, tenants={"1.x": "a", "2.x": "b"}, responses={
        "1.x": (10.0, 1.0), "2.x": (10.0, 3.0)})  # fmt: skip
    one, other = (over_common_jobs([each])[0]["jain"] for each in (first, second))
    assert one == 1.0
    assert other == pytest.approx(0.8)


def test_the_scheduler_of_the_file_is_compared_with():
    document = Day(hours=0.25, nodes=2, load=0.9, seed=1).document()
    document["scheduler"] = {"order": "fifo"}
    found = advise(parse_workload(json.dumps(document)), seconds=1)
    assert found.running is not None
    assert "order=fifo" in found.running.scheduler
    assert found.document()["running"]["difference"]["bill_usd"]["mean"] < 0


def test_a_history_is_needed_and_only_one():
    with pytest.raises(InvalidInput, match="there is no history"):
        advise()
    with pytest.raises(InvalidInput, match="together with a file"):
        advise(DAY, all_runs=True)
    with pytest.raises(InvalidInput, match="no run is recorded yet"):
        advise(all_runs=True)


@pytest.mark.parametrize(
    ("chosen", "today", "is_kept"),
    [
        ([2.0] * 4, [1.0] * 4, True),
        ([2.0] * 4, [3.0] * 4, False),
        ([2.0] * 4, [2.0] * 4, False),
        ([9.9] * 4, [9.0, 11.0, 9.0, 11.0], True),  # fair is not clearly better
        ([9.9] * 4, [40.0, 42.0, 40.0, 41.0], False),
        ([9.9] * 4, [10.0] * 4, False),  # the same as fair
    ],
)
def test_today_s_scheduler_is_kept_unless_another_is_better(chosen, today, is_kept):
    expected = ExpectedDifference(mean=-0.4 if chosen[0] < 5 else 0.0, between=0.5, within=0.4)
    other = Candidate(parts=("copies=late",), expected=expected)
    candidates = [Candidate(parts=()), other]
    made = {candidates[0].text: [10.0] * 4, other.text: chosen, "tasks=mine": today}
    runs = MadeRuns(made)
    race = raced(runs, candidates, "bill_usd", days=4)
    assert (race.chosen is not None) == (chosen[0] < 5)
    question = Question(objective="bill_usd", running="tasks=mine")
    pair = choice_of._today(runs, race.chosen or race.fair, question)
    assert pair is not None
    found = choice_of._kept(race, question, *pair)
    assert (found is not None) == is_kept
    strict = replace(question, bounds=[Bound(measure="makespan_s", value=0.5, is_least=False)])
    assert choice_of._kept(race, strict, *pair) is None, "it breaks a bound"


def test_a_scheduler_that_is_kept_is_the_preset(monkeypatch):
    document = Day(hours=0.25, nodes=2, load=0.9, seed=1).document()
    mine = {"tasks": "ras", "release": "on-demand", "settings": {"ras.aim": "goals"}}
    document["scheduler"] = mine
    row = "release=on-demand+tasks=ras[ras.aim=goals]"

    class Bills(DayRuns):
        """Runs in which all costs are alike but those of today's scheduler."""

        def prepare(self, pairs, on_run):
            """Nothing is simulated."""

        def of(self, text, day):
            bill = 1.0 if text == row else 9.0 + day
            return replace(run_of({"a": 1.0}), measures=dict.fromkeys(MEASURES, bill))

    monkeypatch.setattr(choice_of, "DayRuns", Bills)
    found = advise(parse_workload(json.dumps(document)), objective="bill", seconds=1, stores=True)
    assert found.keeps_running
    assert found.abstained
    assert found.document()["keeps_running"]
    assert dict(found.preset) == mine
    assert advice_sentence(found).startswith(f"Keep {row}: of ")
    assert read_preset("auto") == preset_of(mine, "mine")
    assert found.difference["bill_usd"].mean < 0


def test_a_part_that_changes_no_day_is_left_out():
    """Training expects a little of it; this history shows that it does nothing here."""
    simple, further = (
        Candidate(parts=parts, expected=ExpectedDifference(mean=mean, between=0.15, within=0.12))
        for parts, mean in ((("slots=lent",), -0.17), (("release=on-demand", "slots=lent"), -0.18))
    )
    bills = {"order=fair": [10.0] * 4, simple.text: [5.0] * 4, further.text: [5.0] * 4}
    race = raced(MadeRuns(bills), [Candidate(parts=()), simple, further], "bill_usd", days=4)
    assert race.chosen.candidate == simple


@pytest.mark.parametrize(
    ("costs", "is_simple"),
    [
        ([5.2, 5.2, 5.2, 5.2], True),  # 4 % more on all days
        ([5.6, 5.6, 5.6, 5.6], False),
        ([4.0, 6.6, 4.2, 6.2], False),  # 2 % more, and as likely a fifth more as no more
        ([4.8, 5.2, 5.1, 5.0], True),
    ],
)
def test_fewer_parts_are_taken_only_where_days_show_that_they_cost_little(costs, is_simple):
    """Days that vary say less about a difference, and so speak for neither of the two."""
    simple, further = (
        Candidate(parts=parts, expected=ExpectedDifference(mean=-0.7, between=0.5, within=0.4))
        for parts in (("slots=lent",), ("slots=lent", "copies=late"))
    )
    bills = {"order=fair": [10.0] * 4, simple.text: costs, further.text: [5.0] * 4}
    race = raced(MadeRuns(bills), [Candidate(parts=()), simple, further], "bill_usd", days=4)
    assert race.chosen.candidate == (simple if is_simple else further)
