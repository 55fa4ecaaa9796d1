"""All that was learned comes back: as lengths of the same work, and as profiles by name."""

from dataclasses import replace

import pytest
from tests.store.histories import past_run, phase_of, tasks_of

import sluice
from sluice.bootstrap.history import profile_past
from sluice.bootstrap.history.profiles import learn, with_past_lengths, with_profiles
from sluice.core.events import (
    FailureKind,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
    Tick,
)
from sluice.core.scheduler import Scheduler
from sluice.estimate.demand_settings import demand_settings
from sluice.model.attempts import AttemptKey, Usage
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.job import Demand, Job, Phase, RunSpec
from sluice.model.lengths import ConstantLengths, TableLengths
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.store.profiles import Profiles
from sluice.store.rows import RunHeader

SPEC = RunSpec(folder="/f", input=("in",), output="out", mapper=("cat",), reducer=("cat",))
NODE = Node(node_id="n", map_slots=9, reduce_slots=9)
CLUSTER = Cluster(nodes=(NODE,))


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    monkeypatch.delenv("SLUICE_STORE", raising=False)
    return tmp_path


def job(job_id="j", *, lengths=None, profile=None, **spec):
    """A job that is to run; nobody knows how long its tasks take unless `lengths` says so."""
    phases = (
        Phase(name="map", kind=SlotKind.MAP, tasks=3, lengths=lengths),
        Phase(name="reduce", kind=SlotKind.REDUCE, tasks=1, lengths=lengths, after=(0,)),
    )
    return Job(job_id=job_id, pool="p", phases=phases, run=replace(SPEC, **spec), profile=profile)


def scheduler_of(*jobs):
    """A scheduler that has just launched what it can of these jobs."""
    from sluice.bootstrap.scheduler import scheduler_for
    from sluice.bootstrap.settings import resolved_settings

    scheduler = scheduler_for(settings=resolved_settings({}), is_live=True)
    for event in (NodeJoined(0.0, NODE), *(JobSubmitted(0.0, one) for one in jobs), Tick(0.0)):
        scheduler.handle(event)
    return scheduler


def end(scheduler: Scheduler, phase, length_s, **usage):
    """All running tasks of a phase end well at once, each so many seconds after its start."""
    running = [a for a in scheduler.state.running.values() if a.key.phase == phase]
    for attempt in running:
        at_s = attempt.started_at_s + length_s
        used = Usage(wall_s=length_s, **usage)
        scheduler.handle(TaskFinished(at_s, attempt.key, at_s, usage=used, shuffled_at_s=at_s / 2))
    scheduler.handle(Tick(running[0].started_at_s + length_s))


def learned(scheduler, run_id="run-1", on_message=pytest.fail, day=1):
    header = RunHeader(source="/w.yaml", sha256="1", started_at=f"2026-01-{day:02}T00:00:00+00:00")
    learn(scheduler.state, run_id=run_id, header=header, cluster=CLUSTER, on_message=on_message)


def ran(*jobs, maps_s=2.0, reduces_s=4.0, day=1):
    """A run of these jobs, whose tasks took so long; None for a phase that failed."""
    scheduler = scheduler_of(*jobs)
    for phase, length_s in enumerate((maps_s, reduces_s)):
        if length_s is None:
            fail_all(scheduler)
            break
        end(scheduler, phase, length_s)
    learned(scheduler, f"run-{day}", day=day)


def fail_all(scheduler):
    while scheduler.state.running:
        at_s = scheduler.state.now_s + 9.0
        for attempt in list(scheduler.state.running.values()):
            scheduler.handle(TaskFailed(at_s, attempt.key, at_s, FailureKind.EXIT))
        scheduler.handle(Tick(at_s))


def known(wanted=None, on_message=pytest.fail):
    """The lengths of each phase of a job, as (average, longest) or None."""
    (found,) = with_past_lengths([wanted or job()], on_message)
    return [
        None if p.lengths is None else (p.lengths.avg_s(p.tasks), p.lengths.max_s(p.tasks))
        for p in found.phases
    ]


NOTHING = [None, None]
MEASURED = [(2.0, 2.0), (4.0, 4.0)]


# --- what is learned ------------------------------------------------------------------------------


def runs_of(name="j"):
    with Profiles.open() as profiles:
        return profiles.runs(name)


def test_a_job_that_ran_becomes_a_past_run():
    scheduler = scheduler_of(job())
    end(scheduler, 0, 2.0, cpu_s=1.5, rss_bytes_max=100, input_bytes=50, output_bytes=30)
    end(scheduler, 1, 4.0, cpu_s=1.0, input_bytes=90, shuffle_bytes=90, output_bytes=7)
    learned(scheduler)
    (run,) = runs_of()
    maps, reduces = run.phases

    assert ("run-1/j", "sluice", True, 6.0) == (
        run.run_id, run.source, run.succeeded, run.elapsed_s,
    )  # fmt: skip
    assert {"map": 9, "reduce": 9} == run.slots
    assert (3, 2.0, 2.0, 4.5, 100) == (
        maps.tasks, maps.avg_s, maps.max_s, maps.cpu_s, maps.rss_bytes_max,
    )  # fmt: skip
    assert (150, 0, 90, 0) == (
        maps.input_bytes, maps.output_bytes, maps.shuffle_write_bytes, maps.shuffle_read_bytes,
    )  # fmt: skip
    assert (0, 7, 0, 90) == (
        reduces.input_bytes, reduces.output_bytes, reduces.shuffle_write_bytes,
        reduces.shuffle_read_bytes,
    )  # fmt: skip
    assert [(2.0, 6.0, "n")] == [
        (t.started_at_s, t.finished_at_s, t.node) for t in reduces.timeline
    ]
    assert ((0,), 150) == (reduces.after, run.input_bytes)


def test_learning_twice_is_learning_once():
    scheduler = scheduler_of(job())
    end(scheduler, 0, 2.0)
    end(scheduler, 1, 4.0)
    learned(scheduler)
    (once,) = runs_of()
    learned(scheduler)

    assert [once] == runs_of()


def test_a_job_that_failed_shows_what_of_it_ended_well():
    ran(job(), reduces_s=None)
    (run,) = runs_of()

    assert (False, ["map"]) == (run.succeeded, [phase.name for phase in run.phases])


def test_a_job_that_has_not_ended_or_never_ran_shows_nothing():
    scheduler = scheduler_of(job("a"), replace(job("b"), submitted_at_s=9.0))
    end(scheduler, 0, 2.0)
    learned(scheduler)

    assert [] == runs_of("a") + runs_of("b")


def test_a_run_whose_node_was_lost_counts_what_ended_well():
    scheduler = scheduler_of(job())
    scheduler.handle(NodeLost(1.0, "n"))
    scheduler.handle(NodeJoined(2.0, NODE))
    scheduler.handle(Tick(2.0))
    end(scheduler, 0, 2.0)
    end(scheduler, 1, 4.0)
    learned(scheduler)

    assert [(3, 0), (1, 0)] == [(phase.tasks, phase.failed) for phase in runs_of()[0].phases]


def test_a_job_is_learned_under_the_profile_that_it_names():
    ran(job(profile="words"))

    assert (1, 0) == (len(runs_of("words")), len(runs_of("j")))


def test_secrets_of_the_environment_are_not_shown():
    ran(job(env=(("TOKEN", "s3cret"),)))

    assert "s3cret" not in str(runs_of())


def test_a_store_that_cannot_be_written_does_not_fail_the_run(home):
    (home / "profiles.db").mkdir()
    said: list[str] = []
    scheduler = scheduler_of(job())
    end(scheduler, 0, 2.0)
    end(scheduler, 1, 4.0)
    learned(scheduler, on_message=said.append)

    assert 1 == len(said)
    assert "was not kept" in said[0]
    assert "profiles.db" in said[0]


# --- the same work again --------------------------------------------------------------------------


def test_average_and_longest_of_what_was_measured():
    ran(job())

    assert MEASURED == known()


def test_where_nothing_ever_ran_nothing_is_shown():
    assert NOTHING == known()


def test_the_newest_run_shows():
    ran(job(), maps_s=50.0, day=1)
    ran(job(), day=2)

    assert MEASURED == known()


@pytest.mark.parametrize(("maps_s", "reduces_s"), [(None, None), (9.0, None)])
def test_a_run_in_which_the_job_got_nowhere_hides_no_older_one(maps_s, reduces_s):
    """It failed at once, or its reduces never ran: the run before it knows the whole job."""
    ran(job(), day=1)
    ran(job(), maps_s=maps_s, reduces_s=reduces_s, day=2)

    assert MEASURED == known()


@pytest.mark.parametrize(
    "changed",
    [{"mapper": ("sort",)}, {"reducer": ("wc",)}, {"combiner": ("wc",)}, {"split_bytes": 1024},
     {"folder": "/g"}, {"env": (("LANG", "C"),)}],
)  # fmt: skip
def test_other_commands_are_other_work(changed):
    ran(job())

    assert NOTHING == known(job(**changed))


def test_other_data_are_the_same_work():
    """Tasks are cut to the same size, whatever they read and wherever they write."""
    ran(job())

    assert MEASURED == known(job(input=("today/*",), output="out-2"))


def test_a_job_is_known_by_its_id():
    ran(job("other"))

    assert NOTHING == known()


def test_each_job_has_its_own():
    ran(job("a"), maps_s=8.0, day=1)
    ran(job("b"), maps_s=5.0, day=2)
    found = with_past_lengths([job("b"), job("a"), job("c")], pytest.fail)

    assert ["b", "a", "c"] == [each.job_id for each in found]
    assert [ConstantLengths(5.0, 5.0), ConstantLengths(8.0, 8.0), None] == [
        each.phases[0].lengths for each in found
    ]


def test_what_the_file_says_wins():
    ran(job())
    given = job(lengths=ConstantLengths(70.0, 80.0))

    assert [(70.0, 80.0)] * 2 == known(given)
    half = replace(given, phases=(given.phases[0], job().phases[1]))
    assert [(70.0, 80.0), (4.0, 4.0)] == known(half)


def test_an_empty_task_may_take_no_time_that_a_clock_shows():
    ran(job(), maps_s=0.0, reduces_s=0.0)

    assert [(1e-6, 1e-6)] * 2 == known()


def test_a_job_that_does_not_run_commands_has_no_past():
    ran(job())

    assert NOTHING == known(replace(job(), run=None))


def test_imported_runs_of_a_job_of_that_name_are_not_its_past():
    """Another system's job may be called the same; only a profile by name asks for it."""
    with Profiles.open() as profiles:
        profiles.add([past_run("1", phase_of(1.0), phase_of(2.0, name="reduce", kind="reduce"),
                               profile="j", source="jhist")])  # fmt: skip

    assert NOTHING == known()
    assert [(1.0, 1.0), (2.0, 2.0)] == known(job("k", profile="j"))


def test_only_so_many_runs_are_read(monkeypatch):
    """A job that ran a thousand times is not read a thousand times."""
    monkeypatch.setattr(profile_past, "RUNS_RECALLED", 2)
    ran(job(), day=1)
    ran(job(mapper=("sort",)), day=2)
    assert MEASURED == known()
    ran(job(mapper=("sort",)), day=3)
    assert NOTHING == known()


def test_the_store_is_not_opened_for_what_is_known(monkeypatch):
    monkeypatch.setattr(Profiles, "open", pytest.fail)

    assert [(7.0, 8.0)] * 2 == known(job(lengths=ConstantLengths(7.0, 8.0)))


def test_a_store_that_cannot_be_read_is_shown_and_runs_go_on(home):
    (home / "profiles.db").write_text("no database" * 99)
    said: list[str] = []

    assert NOTHING == known(on_message=said.append)
    assert 1 == len(said)
    assert "past runs are not used" in said[0]


# --- profiles by name -----------------------------------------------------------------------------


def words(number, *, maps=(2.0, 4.0), reduces=(6.0,), **more):
    """The run of that number of the profile `words`."""
    phases = (
        phase_of(*maps),
        replace(
            phase_of(*reduces, name="reduce", kind="reduce", after=(0,)),
            timeline=tuple(
                replace(task, started_at_s=100.0 + task.started_at_s,
                        finished_at_s=100.0 + task.finished_at_s)
                for task in tasks_of(*reduces)
            ),
        ),
    )  # fmt: skip
    return past_run(f"r{number}", *phases, source="jhist", submitted_at_s=float(number), **more)


def stored(*runs):
    with Profiles.open() as profiles:
        profiles.add(runs)


def resolved(*jobs):
    return with_profiles(Workload(cluster=None, jobs=jobs, source="w.yaml")).jobs


def bare(*phases, profile="words"):
    """A job as a file has it, with a profile by name."""
    return Job(job_id="j", pool="j", phases=phases, profile=profile)


def wanted(kind, tasks):
    return Phase(name=kind.value, kind=kind, tasks=tasks)


def test_a_profile_by_name_gives_tasks_and_lengths():
    stored(words(1))
    (job_,) = resolved(bare())

    assert [("map", 2, 3.0, 4.0, ()), ("reduce", 1, 6.0, 6.0, (0,))] == [
        (p.name, p.tasks, p.lengths.avg_s(p.tasks), p.lengths.max_s(p.tasks), p.after)
        for p in job_.phases
    ]


def test_an_outlier_does_not_enter_the_lengths():
    """The stuck run is the one that `calibrate` lists."""
    nights = [words(day, maps=(4.0 + day / 100,) * 2, elapsed_s=120.0) for day in range(1, 8)]
    stored(*nights, words(8, maps=(40.0, 40.0), elapsed_s=900.0))
    (map_, _) = resolved(bare())[0].phases
    (calibrated,) = sluice.calibrate("words").calibration.profiles

    assert ["r8"] == [found.run_id for found in calibrated.outliers]
    assert 4.0 < map_.lengths.avg_s(2) <= map_.lengths.max_s(2) < 5.0


def test_only_runs_at_the_present_level_enter_the_lengths():
    """Since the seventh night its tasks take twice as long."""
    before = [words(day, maps=(4.0 + day / 100,) * 2, elapsed_s=120.0) for day in range(1, 7)]
    since = [words(day, maps=(8.0 + day / 100,) * 2, elapsed_s=240.0) for day in range(7, 12)]
    stored(*before, *since)
    (map_, _) = resolved(bare())[0].phases

    assert 8.0 < map_.lengths.avg_s(2) <= map_.lengths.max_s(2) < 9.0


def test_tasks_that_the_file_asks_for_stay():
    stored(words(1))
    (job_,) = resolved(bare(wanted(SlotKind.MAP, 50)))

    assert [(50, ConstantLengths(3.0, 4.0))] == [(p.tasks, p.lengths) for p in job_.phases]


def test_runs_of_several_sizes_make_a_table():
    """Averages of averages, longest of longest, by the number of tasks."""
    stored(words(1, maps=(9.0,)), words(2), words(3, maps=(6.0, 8.0)))
    (maps, _reduces) = resolved(bare())[0].phases

    assert TableLengths(((1, 9.0, 9.0), (2, 5.0, 8.0))) == maps.lengths
    assert 2 == maps.tasks, "as many as the newest run had"


def test_runs_that_failed_show_nothing():
    stored(words(1), words(2, maps=(99.0,), succeeded=False))

    assert 3.0 == resolved(bare())[0].phases[0].lengths.avg_s(2)
    stored(words(5, profile="bad", succeeded=False))
    with pytest.raises(InvalidInput, match="no run of profile 'bad' has ended well"):
        resolved(bare(profile="bad"))


def test_a_reduce_that_waited_for_maps_is_as_long_as_its_work():
    """It started at 1 s, the last map ended at 6 s, and it was done at 8 s."""
    early = phase_of(7.0, name="reduce", kind="reduce", after=(0,))
    moved = replace(early.timeline[0], started_at_s=1.0, finished_at_s=8.0)
    stored(past_run("r", phase_of(2.0, 4.0), replace(early, timeline=(moved,))))
    (_, reduces) = resolved(bare())[0].phases

    assert ConstantLengths(2.0, 2.0) == reduces.lengths


def test_stages_follow_each_other_as_they_did():
    """A driver asks for a second scan only when the first is done, though it reads none of it."""
    scan, join = phase_of(3.0, name="scan"), phase_of(2.0, name="join", kind="reduce", after=(0,))
    late = replace(join, timeline=(replace(join.timeline[0], started_at_s=5.0, finished_at_s=7.0),))
    second = phase_of(1.0, name="second")
    third = replace(
        second, timeline=(replace(second.timeline[0], started_at_s=3.5, finished_at_s=4.5),)
    )
    stored(past_run("app", scan, late, third, source="spark"))
    phases = resolved(bare())[0].phases

    assert [("scan", ()), ("second", (0,)), ("join", (0, 1))] == [(p.name, p.after) for p in phases]


def test_a_kind_of_task_that_the_profile_lacks_is_shown():
    stored(past_run("r", phase_of(1.0), phase_of(2.0, name="map 2")))
    with pytest.raises(InvalidInput, match=r"w\.yaml, job 'j', profile 'words': it has 2 map"):
        resolved(bare(wanted(SlotKind.MAP, 3)))
    with pytest.raises(InvalidInput, match="it has no reduce phases"):
        resolved(bare(wanted(SlotKind.REDUCE, 3)))


def test_an_unknown_profile_is_shown_with_the_nearest():
    stored(words(1))
    with pytest.raises(InvalidInput) as caught:
        resolved(bare(profile="wrods"))

    assert "w.yaml, job 'j'" == caught.value.where
    assert "no profile 'wrods' is stored in" in caught.value.what
    assert "did you mean words?" == caught.value.hint


def test_a_workload_without_profiles_never_opens_the_store(monkeypatch):
    monkeypatch.setattr(Profiles, "open", pytest.fail)
    workload = Workload(cluster=None, jobs=(job(lengths=ConstantLengths(1.0, 1.0)),))

    assert workload is with_profiles(workload)


def test_another_store_may_be_named_in_the_environment(home, monkeypatch):
    monkeypatch.setenv("SLUICE_STORE", str(home / "team.db"))
    stored(words(1))

    assert 3.0 == resolved(bare())[0].phases[0].lengths.avg_s(2)
    assert (home / "team.db").exists()
    assert not (home / "profiles.db").exists()


def test_keys_of_attempts_are_distinguished():
    """The timeline stands in the order of tasks, whichever ended first."""
    scheduler = scheduler_of(job())
    for task, at_s in ((2, 1.0), (0, 2.0), (1, 3.0)):
        scheduler.handle(TaskFinished(at_s, AttemptKey("j", 0, task, 1), at_s))
    scheduler.handle(Tick(3.0))
    end(scheduler, 1, 4.0)
    learned(scheduler)

    assert [2.0, 3.0, 1.0] == [task.finished_at_s for task in runs_of()[0].phases[0].timeline]


# --- demands that `profile-run` measured ----------------------------------------------------------


def measured(number, cpu, **more):
    """A run that `profile-run` kept, with the demand of a task of each phase."""
    demand = {"map": Resources(cpu=cpu), "reduce": Resources(cpu=1.0)}
    return replace(words(number, **more), source="sluice", configuration=demand_settings(demand))


def cpu_of(job_):
    return [phase.demand.work.cpu for phase in job_.phases]


def test_a_profile_by_name_gives_the_demand_that_was_measured_last():
    stored(measured(1, 25.0), measured(2, 40.0), words(3))
    (job_,) = resolved(bare())

    assert [40.0, 1.0] == cpu_of(job_)


def test_a_measured_rate_is_at_most_what_the_largest_node_has():
    """A task of milliseconds may be measured at all of a machine; it fits a part of it, too."""
    stored(measured(1, 95.0))
    nodes = tuple(
        Node(node_id=name, capacity=Resources(cpu=cpu))
        for name, cpu in (("small", 20.0), ("large", 50.0))
    )
    workload = Workload(cluster=Cluster(nodes=nodes), jobs=(bare(),), source="w.yaml")

    assert [50.0, 1.0] == cpu_of(with_profiles(workload).jobs[0])


def test_a_demand_that_the_file_gives_stays():
    stored(measured(1, 25.0))
    own = Demand(work=Resources(io=3.0))
    (job_,) = resolved(bare(replace(wanted(SlotKind.MAP, 2), demand=own)))

    assert own == job_.phases[0].demand


def test_a_real_job_that_gives_its_reduces_alone_has_the_maps_of_its_profile():
    stored(measured(1, 25.0))
    (job_,) = resolved(replace(bare(wanted(SlotKind.REDUCE, 3)), run=SPEC))

    assert [("map", 2, ()), ("reduce", 3, (0,))] == [
        (p.name, p.tasks, p.after) for p in job_.phases
    ]
    assert [25.0, 1.0] == cpu_of(job_)


def test_the_same_work_gives_its_demand_though_newer_runs_have_none():
    ran(job(), day=1)
    with Profiles.open() as store:
        (run,) = store.runs("j")
        demand = demand_settings({"map": Resources(cpu=30.0)})
        store.add([replace(run, configuration={**run.configuration, **demand})])
    ran(job(), day=2)
    (found,) = with_past_lengths([job()], pytest.fail)

    assert [30.0, 0.0] == cpu_of(found)
