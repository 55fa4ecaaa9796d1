"""The promises of every profile store, whichever database it is in."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event
from tests.store.histories import cut_short, past_run, past_runs, phase_of, tasks_of

from sluice.model.errors import InvalidInput
from sluice.store.profiles import Added, Profiles, reading, rows, timeline
from sluice.store.profiles.reading import matching_rows
from sluice.store.profiles.tables import RUNS

DAY_S = 86400.0
TEN = past_run("ten", phase_of(*range(1, 11)), submitted_at_s=5.0, elapsed_s=60.0)


@pytest.fixture
def profiles(url):
    with Profiles.open(url) as opened:
        yield opened


# --- what goes in comes out -----------------------------------------------------------------------


def test_a_new_store_knows_nothing(profiles):
    assert ([], {}, [], []) == (
        profiles.names(), profiles.run_counts(), profiles.runs("words"), profiles.stored(),
    )  # fmt: skip


def test_a_run_comes_back_as_it_was(profiles):
    run = past_run(
        "job_1", phase_of(1.5, 2.5, failed=1, cpu_s=3.25, rss_bytes_max=2**40),
        phase_of(9.0, name="reduce", kind="reduce", after=(0,), shuffle_read_bytes=2**62),
        submitted_at_s=1.7e9 + 0.125, elapsed_s=12.5, queue="etl", machine_type="m5.large",
        slots={"map": 4, "reduce": 2}, configuration={"b": "2", "a": "ü\n"}, notes=("one", "two"),
    )  # fmt: skip

    assert Added(new=1) == profiles.add([run])
    assert [run] == profiles.runs("words")
    assert ["words"] == profiles.names()


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(past_runs(), max_size=4))
def test_any_run_comes_back_as_it_was(profiles, runs):
    """Numbers to the last bit, text to the last character."""
    profiles.add(runs)
    found = {(run.source, run.run_id): run for run in (each.run for each in profiles.stored())}
    last_shown = {(run.source, run.run_id): run for run in runs}
    once = [key for key, said in itertools.groupby(sorted((r.source, r.run_id) for r in runs))
            if len(list(said)) == 1]  # fmt: skip

    assert {key: last_shown[key] for key in once} == {key: found[key] for key in once}
    for name in profiles.names():
        profiles.forget(name)


def test_what_the_store_adds_is_shown_beside_the_run(url):
    with Profiles.open(url, clock=lambda: 1234.5) as profiles:
        profiles.add([TEN], digest="abc")
        (stored,) = profiles.stored("words")

    assert (TEN, "abc", 1234.5) == (stored.run, stored.log_digest, stored.learned_at_s)
    (lengths,) = stored.lengths
    assert (10, 1.0, 5.5) == (lengths.tasks, lengths.min_s, lengths.quantiles_s[50])


def test_too_many_tasks_are_shown_by_their_statistics_alone(profiles, monkeypatch):
    """Two phases of three and two tasks, with room for four: the second still fits no more."""
    monkeypatch.setattr("sluice.store.profiles.rows.TASKS_KEPT_MAX", 4)
    profiles.add([past_run("r", phase_of(1.0, 2.0, 3.0), phase_of(5.0, 6.0), phase_of(7.0))])
    (stored,) = profiles.stored("words")

    assert [3, 0, 1] == [len(phase.timeline) for phase in stored.run.phases]
    assert [3, 2, 1] == [lengths.tasks for lengths in stored.lengths]
    assert 5.5 == stored.run.phases[1].avg_s


def test_a_phase_whose_tasks_nobody_shown_one_by_one_has_no_statistics(profiles):
    profiles.add([past_run("r", replace(phase_of(1.0, 2.0), timeline=()))])

    assert (None,) == profiles.stored("words")[0].lengths


def test_a_run_in_which_nothing_ended_well_is_kept_too(profiles):
    run = replace(past_run("r"), phases=(), succeeded=False)
    profiles.add([run])

    assert [run] == profiles.runs("words")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (past_run("x", phase_of(1.0, input_bytes=2**63)), "input_bytes is 9223372036854775808"),
        (past_run("x", phase_of(1.0, cpu_s=math.nan)), "cpu_s is nan"),
        (past_run("x", elapsed_s=math.inf), "elapsed_s is inf"),
        (past_run("x", replace(phase_of(1.0), timeline=tasks_of(math.inf))), "instant of a task"),
        (past_run("x", profile=""), "profile has 0 characters"),
        (past_run("x" * 501), "run_id has 501 characters"),
    ],
)
def test_what_no_database_could_hold_is_refused(profiles, broken, said):
    with pytest.raises(InvalidInput) as caught:
        profiles.add([broken])

    assert said in str(caught.value)
    assert "run 'x" in str(caught.value)
    assert [] == profiles.names()


def test_characters_that_no_database_takes_are_replaced(profiles):
    """NUL is none of PostgreSQL's, and half a surrogate pair is none of UTF-8's."""
    odd = "a\0b\ud800"
    written = past_run(odd, profile=odd, queue=odd, configuration={odd: odd}, notes=(odd,))
    profiles.add([written])
    (run,) = profiles.runs("a\ufffdb?")

    plain = "a\ufffdb?"
    assert (plain, plain, {plain: plain}, (plain,)) == (
        run.run_id, run.queue, run.configuration, run.notes,
    )  # fmt: skip
    assert Added(known=1) == profiles.add([written])


# --- the same twice is once -----------------------------------------------------------------------


def test_the_same_runs_again_are_known(profiles):
    runs = [past_run(f"r{number}") for number in range(5)]

    assert Added(new=5) == profiles.add(runs)
    assert Added(known=5) == profiles.add(reversed(runs))
    assert runs == profiles.runs("words")


def test_one_id_in_two_sources_is_two_runs(profiles):
    profiles.add([past_run("1", source="swf"), past_run("1", source="batsim")])

    assert ["batsim", "swf"] == [run.source for run in profiles.runs("words")]


def test_a_longer_log_of_a_run_takes_the_place_of_a_shorter_one(profiles):
    assert Added(new=1) == profiles.add([cut_short(TEN, 4)])
    assert Added(replaced=1) == profiles.add([TEN])
    assert [TEN] == profiles.runs("words")


def test_a_shorter_log_of_a_run_changes_nothing(profiles):
    profiles.add([TEN])

    assert Added(known=1) == profiles.add([cut_short(TEN, 9)])
    assert [TEN] == profiles.runs("words")


def test_a_log_cut_just_before_the_end_is_the_shorter_one(profiles):
    """It shows as many tasks, but not that the run was over, nor how long it took."""
    almost = replace(TEN, elapsed_s=None, succeeded=False)
    profiles.add([TEN])

    assert Added(known=1) == profiles.add([almost])
    assert [TEN] == profiles.runs("words")


def test_of_two_that_show_as_much_the_later_stays(profiles):
    """A newer release may read the same log better."""
    profiles.add([TEN])
    other = replace(TEN, elapsed_s=61.0)

    assert Added(replaced=1) == profiles.add([other])
    assert [other] == profiles.runs("words")


def test_a_run_may_move_to_another_profile(profiles):
    profiles.add([TEN])
    profiles.add([replace(TEN, profile="lines")])

    assert ["lines"] == profiles.names()


def test_a_run_shown_twice_in_one_go_is_added_once(profiles):
    accounts = [cut_short(TEN, 3), TEN, cut_short(TEN, 7)]

    assert Added(new=1, known=2) == profiles.add(accounts)
    assert [TEN] == profiles.runs("words")


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.permutations(range(1, 11)), st.lists(st.integers(1, 10), max_size=4))
def test_the_fullest_account_stays_whatever_the_order(profiles, order, cuts):
    accounts = [TEN if tasks == 10 else cut_short(TEN, tasks) for tasks in order]
    for start, end in itertools.pairwise([0, *sorted(cuts), 10]):
        profiles.add(accounts[start:end])

    assert [TEN] == profiles.runs("words")
    profiles.forget("words")


def test_more_runs_than_fit_one_transaction(profiles):
    runs = [past_run(f"r{number:04}") for number in range(450)]

    assert Added(new=450) == profiles.add(runs)
    assert Added(known=450) == profiles.add(runs)
    assert runs == profiles.runs("words")
    assert {"words": 450} == profiles.run_counts()


def test_a_reader_sees_one_instant(url):
    """Its runs and their phases are two questions; what is replaced in between must not tear."""
    short = cut_short(TEN, 4)
    with Profiles.open(url) as profiles, Profiles.open(url) as writer:
        profiles.add([short])
        written: list[Added] = []

        def write_in_between(_connection, _cursor, statement, *_more):
            if "FROM sluice_phases" in statement and not written:
                written.append(writer.add([TEN]))

        event.listen(profiles._engine, "before_cursor_execute", write_in_between)
        assert [short] == profiles.runs("words")
        assert [Added(replaced=1)] == written
        assert [TEN] == profiles.runs("words")


# --- order ----------------------------------------------------------------------------------------


def test_runs_come_oldest_first_however_they_were_added(profiles):
    said = [
        past_run("a"), past_run("z"), past_run("b", submitted_at_s=-1.0),
        past_run("d", submitted_at_s=3.0, source="jhist"), past_run("c", submitted_at_s=3.0),
        past_run("a2", submitted_at_s=1e9),
    ]  # fmt: skip
    for run in (said[3], said[0], said[5], said[1], said[4], said[2]):
        profiles.add([run])

    assert said == profiles.runs("words")


def test_names_are_sorted_as_python_sorts_them(profiles):
    """A database would sort them by the rules of its language."""
    names = ["B", "a", "a b", "a-b", "Ä", "ab"]
    profiles.add([past_run(name, profile=name) for name in names])

    assert sorted(names) == profiles.names()
    assert sorted(names) == list(profiles.run_counts())


def test_the_newest_that_ended_well(profiles):
    runs = [past_run(f"r{n}", submitted_at_s=float(n), succeeded=n != 3) for n in range(5)]
    profiles.add([*runs, past_run("undated"), past_run("other", profile="lines")])

    assert [runs[4], runs[2], runs[1]] == profiles.newest("words", 3)
    assert [] == profiles.newest("none", 3)


# --- retention ------------------------------------------------------------------------------------


@pytest.fixture
def filled(profiles):
    """Three runs of `lines`, two of `words`, learned on days 0 to 4."""
    days = itertools.count()
    profiles._clock = lambda: next(days) * DAY_S
    for name, number in (("lines", 1), ("words", 1), ("lines", 2), ("words", 2), ("lines", 3)):
        run_id = f"{name}-{number}"
        profiles.add([past_run(run_id, profile=name, submitted_at_s=float(number))])
    return profiles


def left(profiles):
    return [stored.run.run_id for stored in profiles.stored()]


def test_nothing_is_dropped_that_nobody_asks_to_drop(filled):
    assert ["lines-1", "words-1", "lines-2", "words-2", "lines-3"] == left(filled)


def test_only_the_newest_of_each_profile_may_be_kept(filled):
    gone = filled.keep_runs(1)

    assert ["lines-1", "lines-2", "words-1"] == [each.run_id for each in gone]
    assert ["words-2", "lines-3"] == left(filled)
    assert [] == filled.keep_runs(1)


def test_or_of_one_profile(filled):
    filled.keep_runs(1, "lines")
    assert ["words-1", "words-2", "lines-3"] == left(filled)
    filled.keep_runs(0, "words")
    assert ["lines-3"] == left(filled)


def test_what_was_learned_long_ago_may_be_dropped(filled):
    """It is day 5; runs of days 0 and 1 are more than 3.5 days old."""
    gone = filled.forget_older(3.5)

    assert [("lines", "lines-1"), ("words", "words-1")] == [(g.profile, g.run_id) for g in gone]
    assert ["lines-2", "words-2", "lines-3"] == left(filled)
    assert ["lines-2"] == [each.run_id for each in filled.forget_older(3.5, "lines")]


def test_a_profile_or_runs_of_it_may_be_forgotten(filled):
    assert ["words-2"] == [g.run_id for g in filled.forget("words", ["words-2", "lines-1", "no"])]
    assert ["lines-1", "lines-2", "lines-3"] == [g.run_id for g in filled.forget("lines")]
    assert ["words-1"] == left(filled)
    assert [] == filled.forget("lines")


def test_what_was_forgotten_may_be_learned_again(filled):
    filled.forget("lines")

    assert Added(new=1) == filled.add([past_run("lines-2", profile="lines")])


# --- the tasks of a phase -------------------------------------------------------------------------


def test_a_timeline_of_another_format_is_said_to_be_one():
    """A newer release packs tasks otherwise; what it packed must not be misread."""
    import zlib

    with pytest.raises(ValueError, match="format 2"):
        timeline.unpacked(zlib.compress(b'{"format": 2}'))
    with pytest.raises(ValueError, match="header"):
        timeline.unpacked(b"no zlib")


# --- names ----------------------------------------------------------------------------------------


def test_a_moved_profile_is_known_by_its_old_name(profiles):
    """A later run under the old name joins it, and a log that is read again changes nothing."""
    first, second = past_run("1", profile="a"), past_run("2", profile="a")
    profiles.add([first, past_run("3", profile="b")])

    assert 1 == profiles.move(["a"], "b")
    assert Added(known=1, new=1) == profiles.add([first, second])
    assert ["1", "2", "3"] == sorted(run.run_id for run in profiles.runs("b"))
    assert "b" == profiles.profile_named("a")
    assert 3 == len(profiles.newest("a", 10))
    assert ["b"] == profiles.names()


def test_names_follow_when_a_profile_is_moved_twice(profiles):
    profiles.add([past_run("1", profile="a")])
    profiles.move(["a"], "b")
    profiles.move(["b"], "c")
    profiles.move(["c"], "a")
    profiles.add([past_run("2", profile="b"), past_run("3", profile="a")])

    assert ["a"] == profiles.names()
    assert ["a", "a", "a"] == [profiles.profile_named(name) for name in "abc"]


def test_a_forgotten_profile_has_no_old_names(profiles):
    profiles.add([past_run("1", profile="a")])
    profiles.move(["a"], "b")
    profiles.forget("b")
    profiles.add([past_run("1", profile="a")])

    assert ["a"] == profiles.names()


def test_a_profile_is_found_by_the_name_or_id_of_a_run(profiles):
    profiles.add([past_run("app_1", profile="nightly", name="nightly-2026-10-01")])
    profiles.add([past_run("same", profile="x"), past_run("same", profile="y", source="spark")])

    assert "nightly" == profiles.profile_named("nightly-2026-10-01")
    assert "nightly" == profiles.profile_named("app_1")
    assert profiles.profile_named("same") is None
    assert profiles.profile_named("other") is None


def test_a_moved_run_with_too_many_tasks_keeps_its_statistics(profiles, monkeypatch):
    """They cannot be computed again from the run that is read."""
    monkeypatch.setattr("sluice.store.profiles.rows.TASKS_KEPT_MAX", 2)
    profiles.add([past_run("r", phase_of(1.0, 2.0, 3.0))])
    (before,) = profiles.stored("words")
    profiles.move(["words"], "lines")
    (after,) = profiles.stored("lines")

    assert before.lengths == after.lengths != (None,)


# --- one job in two formats -----------------------------------------------------------------------


@pytest.mark.parametrize("sources", [("jhist", "rumen"), ("rumen", "jhist")])
def test_a_job_in_two_formats_is_one_run(profiles, sources):
    """The more complete record stays; of equal ones the first, however often they are added."""
    first, second = (past_run("job_1_0001", source=source) for source in sources)
    fuller = replace(second, elapsed_s=9.0)

    assert Added(new=1) == profiles.add([first])
    assert Added(known=1) == profiles.add([second])
    assert [first] == profiles.runs("words")
    assert Added(replaced=1) == profiles.add([fuller])
    assert Added(known=1) == profiles.add([first])
    assert [fuller] == profiles.runs("words")


def test_the_same_id_in_formats_of_different_jobs_is_two_runs(profiles):
    assert Added(new=2) == profiles.add([past_run("1", source="swf"), past_run("1", source="sls")])


def test_the_newest_of_each_are_read_and_all_are_counted(profiles):
    profiles.add(
        replace(past_run(f"{name}{day}", phase_of(1.0)), profile=name, submitted_at_s=float(day))
        for day in (3, 1, 2)
        for name in ("a", "b")
    )
    assert ["a2", "b2", "a3", "b3"] == [one.run.run_id for one in profiles.newest_of_each(2)]
    assert ["b3"] == [one.run.run_id for one in profiles.newest_of_each(1, ["b"])]
    assert {"a": 3, "b": 3} == profiles.run_counts()


def test_a_summary_is_the_run_without_its_single_tasks(profiles, monkeypatch):
    """A run may have 100,000 of them, which no table and no document shows."""
    profiles.add([TEN, past_run("one")])
    whole = profiles.newest_of_each(2)
    monkeypatch.setattr(rows, "unpacked", None)

    found = profiles.newest_summaries(2)

    assert [one.lengths for one in whole] == [one.lengths for one in found]
    assert [_without_tasks(one.run) for one in whole] == [one.run for one in found]


def _without_tasks(run):
    return replace(run, phases=tuple(replace(phase, timeline=()) for phase in run.phases))


def test_the_slots_of_runs_that_differ_in_nothing_else_are_found(profiles):
    same = {"slots": {"map": 2}, "profile": "same"}
    profiles.add(past_run(f"s{n}", phase_of(1.0 + n, 2.0), **same) for n in range(3))
    profiles.add(past_run(f"b{n}", phase_of(1.0, input_bytes=n), profile="bytes") for n in range(2))
    profiles.add(past_run(f"t{n}", phase_of(*[1.0] * n), profile="tasks") for n in (1, 2))
    profiles.add(past_run(f"l{n}", slots={"map": n}, profile="slots") for n in (1, 2))
    profiles.add([past_run("p1", profile="phases"),
                  past_run("p2", phase_of(2.0, 4.0), phase_of(1.0), profile="phases")])  # fmt: skip

    assert {"same": {"map": 2}} == profiles.steady_slots(profiles.names(), 50)
    assert {"map": 2} == profiles.steady_slots(["slots"], 1)["slots"]


def test_the_newest_runs_and_names_are_found_by_an_index_and_not_by_a_full_read(tmp_path):
    """A store of 100,000 runs is read on each call; a scan of it took 0.6 s."""
    plans: list[str] = []
    with Profiles.open(str(tmp_path / "runs.db")) as profiles:

        def explained(connection, _cursor, statement, values, *_):
            if statement.startswith("SELECT") and RUNS.name in statement:
                cursor = connection.connection.cursor()
                cursor.execute(f"EXPLAIN QUERY PLAN {statement}", values)
                plans.extend(row[3] for row in cursor.fetchall())

        event.listen(profiles._engine, "before_cursor_execute", explained)
        profiles.newest_of_each(1)
        profiles.newest_of_each(5, ["a"])
        profiles.steady_slots(["a"], 5)
        profiles.newest("a", 5)
        profiles.profile_named("a")
        profiles.run_counts()
        profiles.names()

    scans = [plan for plan in plans if plan.startswith(f"SCAN {RUNS.name}")]
    assert scans
    assert set(scans) == {f"SCAN {RUNS.name} USING COVERING INDEX sluice_runs_by_age"}


def test_the_newest_run_is_one_with_an_instant_if_any_has_one(profiles):
    profiles.add(
        replace(past_run(name, phase_of(1.0)), profile="a", submitted_at_s=at_s)
        for name, at_s in (("early", 1.0), ("late", 2.0), ("unknown", None))
    )
    assert ["late"] == [one.run.run_id for one in profiles.newest_of_each(1)]
    assert ["late"] == [run.run_id for run in profiles.newest("a", 1)]


def test_runs_are_found_by_id_by_application_and_by_name(profiles):
    names = ("app/1", "app/2", "apple", "APP/3")
    profiles.add(replace(past_run(name, phase_of(1.0)), name=f"of {name}") for name in names)
    assert ["app/1", "app/2"] == [run.run_id for run in profiles.called("app")]
    assert ["apple"] == [run.run_id for run in profiles.called("of apple")]
    assert [] == profiles.called("app/")


def test_a_large_store_is_read_a_few_runs_at_a_time(profiles, monkeypatch):
    monkeypatch.setattr(reading, "RUNS_AT_ONCE", 2)
    runs = [
        past_run(f"r{number}", profile=name, submitted_at_s=at_s)
        for number, (name, at_s) in enumerate(itertools.product("ba", [3.0, None, 1.0, 1.0, 2.0]))
    ]
    profiles.add(runs)
    profiles.add(past_run(f"s{name}", profile=name) for name in ("small", "smaller", "smallest"))
    whole = [run for name in profiles.names() for run in profiles.stored(name)]
    read = []

    def noted(*given):
        read.append(some := matching_rows(*given))
        return some

    monkeypatch.setattr(reading, "matching_rows", noted)
    monkeypatch.setattr(rows, "unpacked", None)  # a run may have 100,000 tasks
    each = profiles.each_summary()
    first = next(each)

    assert [2] == [len(some) for some in read]
    found = [first, *each]
    assert [one.run.run_id for one in whole] == [one.run.run_id for one in found]
    assert [_without_tasks(one.run) for one in whole] == [one.run for one in found]
    # Five of a, five of b; then small profiles together.
    assert [2, 2, 1, 2, 2, 1, 2, 1] == [len(some) for some in read]
    assert [one.run.run_id for one in whole if one.run.profile == "b"] == [
        one.run.run_id for one in profiles.each_summary("b")
    ]
    assert [] == list(profiles.each_summary("c"))


def test_the_profiles_with_most_runs_are_found_by_the_database(profiles):
    runs = {"a": 2, "Zoo": 1, "é": 1, "b": 3, "c": 1}
    profiles.add(past_run(f"{name}{n}", profile=name) for name in runs for n in range(runs[name]))
    assert ["b", "a", "Zoo", "c"] == profiles.fullest(4)
    assert ["b", "a", "Zoo", "c", "é"] == profiles.fullest(9)


def test_more_profiles_are_named_than_fit_one_statement(profiles, monkeypatch):
    monkeypatch.setattr(reading, "_NAMES_AT_ONCE", 2)
    profiles.add(past_run(f"r{name}", profile=name) for name in "edcba")
    assert {"a": 1, "c": 1, "e": 1} == profiles.run_counts(["e", "no", "c", "a"])
    assert ["ra", "rc", "re"] == sorted(
        one.run.run_id for one in profiles.newest_of_each(1, ["e", "no", "c", "a"])
    )


@pytest.mark.parametrize(("tasks", "kept"), [(100_000, 100_000), (100_001, 0)])
def test_the_tasks_of_a_run_are_stored_up_to_the_number_in_the_documentation(tmp_path, tasks, kept):
    phase = phase_of(1.0)
    many = replace(phase, tasks=tasks, timeline=phase.timeline * tasks)
    with Profiles.open(f"sqlite:///{tmp_path}/profiles.db") as profiles:
        profiles.add([past_run("r", many)])
        (stored,) = profiles.stored("words")

    assert kept == len(stored.run.phases[0].timeline)
    assert [tasks] == [lengths.tasks for lengths in stored.lengths]
