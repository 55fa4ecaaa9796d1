"""The live driver over a cluster that is not there: everything but real processes."""

import gc
import signal
import threading
from typing import Any

import pytest
from tests.engines.fakes import (
    HEADER,
    FakeEngine,
    FakeSource,
    Faults,
    done_once,
    drive,
    driver,
    job,
    node,
    outcome,
    scheduler,
)

from sluice.core.commands import Launch, Wake
from sluice.core.events import FailureKind, JobSubmitted, NodeJoined, TaskFailed, TaskFinished, Tick
from sluice.core.protocols import AdmissionPolicy, Refuse, ReleaseOrder, ReleasePolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.transitions import AttemptState, JobState
from sluice.engines.driver import Driver
from sluice.engines.driver_state import DriverState
from sluice.engines.interruption import RunInterrupted, terminable
from sluice.engines.live_settings import LiveSettings
from sluice.engines.mapreduce.layout import job_name
from sluice.model.errors import EngineUnavailable, Infeasible, SluiceError
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.orders.fifo import Fifo
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, entries


class Watch:
    """Writes down what watchers are shown."""

    def __init__(self):
        self.seen, self.messages = [], []

    def on_progress(self, progress):
        self.seen.append(progress)

    def on_message(self, message):
        self.messages.append(message)


def driven(folder, jobs, faults=None, changed=frozenset(), **more):
    """Run to the end with faults; engine, source and result."""
    engine = FakeEngine(faults=faults)
    source = FakeSource(jobs)
    source.changed = changed
    return engine, source, drive(folder, jobs, engine=engine, source=source, **more).result


def drive_with(folder, jobs, **parts):
    """Run with some policies exchanged."""
    standing: dict[str, Any] = {
        "admission": AdmitAll(),
        "release": ReleaseOnArrival(),
        "tasks": Fifo(),
        "pools": KeepPools(),
    }
    engine, watch = FakeEngine(), Watch()
    with Journal.create(folder, HEADER) as journal:
        live = Driver(
            engine=engine,
            scheduler=Scheduler(Policies(**(standing | parts))),
            journal=journal,
            source=FakeSource(jobs),
            jobs=jobs,
            clock=engine.clock,
            watcher=watch,
        )
        return live.run(), watch


# --- the plain way ----------------------------------------------------------------------------


def test_every_job_runs_and_is_committed_once(tmp_path):
    jobs = [job("a"), job("b", 7, 3), job("c", 1, 1)]

    engine, source, state = driven(tmp_path, jobs)

    assert [entry.state for entry in state.jobs.values()] == [JobState.DONE] * 3
    assert source.disk.commits == {"a": 1, "b": 1, "c": 1}
    assert source.disk.results["b"] == [0, 1, 2]
    assert source.swept == [1, "cleared"]
    assert len(engine.launched) == sum(each.tasks for each in jobs)
    assert engine.calls == ["start", "stop kill_running=True"]


def test_a_search_for_garbage_is_short_while_a_run_is_live(tmp_path, monkeypatch):
    before, during = gc.get_threshold(), []
    monkeypatch.setattr(Watch, "on_progress", lambda *_: during.append(gc.get_threshold()))
    drive_with(tmp_path, [job("a")])

    assert before[0] > 700  # what the caller has raised
    assert {(700, before[1], 1)} == set(during)
    assert before == gc.get_threshold()


def test_a_job_goes_in_when_it_is_submitted(tmp_path):
    """Live, too, a workload has a course of time."""
    jobs = [job("late", submitted_at_s=20.0), job("early"), job("soon", submitted_at_s=5.5)]

    _, _, state = driven(tmp_path, jobs)

    heard = [entry.event() for entry in entries(tmp_path) if entry.kind is EntryKind.EVENT]
    assert [
        (event.job.job_id, event.at_s) for event in heard if isinstance(event, JobSubmitted)
    ] == [("early", 0.0), ("soon", 5.5), ("late", 20.0)]
    assert state.jobs["late"].started_at_s >= 20.0


def test_the_first_jobs_wait_for_the_nodes_that_are_known(tmp_path):
    """Who orders jobs, or admits them, is to see the whole cluster, as in a simulation."""

    class Slow(FakeEngine):
        def start(self):
            for seconds, known in enumerate(self._nodes.values(), start=1):
                self._later(float(seconds), NodeJoined, known)

    jobs = [job("a"), job("b", 7, 3)]
    engine = Slow(nodes=[node(name, map_slots=2, reduce_slots=1) for name in ("n-1", "n-2")])
    settings = LiveSettings(nodes=(NodeId("n-1"), NodeId("n-2"), NodeId("never")), nodes_s=4.0)
    drive(tmp_path, jobs, engine=engine, settings=settings)

    heard = [entry.event() for entry in entries(tmp_path) if entry.kind is EntryKind.EVENT]
    coming = [event for event in heard if isinstance(event, NodeJoined | JobSubmitted)]
    assert [NodeJoined, NodeJoined, JobSubmitted, JobSubmitted] == [type(each) for each in coming]
    assert coming[-1].at_s == pytest.approx(4.0)  # one that does not come is not waited for longer


def test_a_job_without_tasks_is_done_at_once(tmp_path):
    """An input without a single split is no error."""
    jobs = [Job(job_id=JobId("empty"), pool=PoolId("p"), phases=())]

    _, source, state = driven(tmp_path, jobs)

    assert state.jobs["empty"].state is JobState.DONE
    assert source.disk.commits == {"empty": 1}


def test_a_workload_without_jobs_is_over_at_once(tmp_path):
    _, _, state = driven(tmp_path, [])

    assert state.jobs == {}
    assert list(entries(tmp_path))[-1].kind is EntryKind.FINISHED


def test_an_event_is_durable_before_anything_is_done_about_it(tmp_path, monkeypatch):
    """The rule that recovery stands on: at each launch, its cause is in the journal."""
    jobs = [job("a")]
    engine = FakeEngine()
    launch, durable = engine.launch, []

    def looking_first(attempt):
        durable.append([entry for entry in entries(tmp_path) if entry.kind is EntryKind.EVENT][-1])
        launch(attempt)

    monkeypatch.setattr(engine, "launch", looking_first)
    drive(tmp_path, jobs, engine=engine)

    assert len(durable) == 6
    assert all(isinstance(entry.event(), Tick) for entry in durable)


def test_attempts_carry_their_job_s_name_their_epoch_and_their_slot(tmp_path):
    engine, _, _ = driven(tmp_path, [job("a/b")])

    assert {attempt.work["job_name"] for attempt in engine.launched} == {job_name("a/b")}
    assert {attempt.epoch for attempt in engine.launched} == {1}
    assert {attempt.slot for attempt in engine.launched} == {0, 1}


# --- faults -----------------------------------------------------------------------------------


def test_a_failed_task_runs_again(tmp_path):
    engine, source, state = driven(tmp_path, [job("a")], Faults(exits={"a/0/1/1", "a/1/0/1"}))

    assert source.disk.commits == {"a": 1}
    assert {"a/0/1/2", "a/1/0/2"} <= {str(attempt.key) for attempt in engine.launched}
    assert done_once(state)


def test_a_job_whose_task_gives_up_fails_and_the_others_finish(tmp_path, monkeypatch):
    """Files that the job left are removed only when none of its tasks runs and could leave more."""
    exits = {f"bad/0/1/{attempt}" for attempt in range(1, 5)}
    jobs = [job("bad", 6), job("good")]
    engine = FakeEngine(faults=Faults(exits=exits, hangs={"bad/0/5/1"}))
    source, running_at_abort = FakeSource(jobs), []

    def looking(job_id):
        running_at_abort.append([key for key in live._state.running if key.job_id == job_id])

    monkeypatch.setattr(source, "abort", looking)
    with Journal.create(tmp_path, HEADER) as journal:
        live = Driver(
            engine=engine, scheduler=scheduler(), journal=journal, source=source, jobs=jobs,
            clock=engine.clock,
        )  # fmt: skip
        state = live.run().result

    bad = state.jobs[JobId("bad")]
    assert bad.state is JobState.FAILED
    assert "failed 4 times, last: exit status 1" in bad.reason
    assert source.disk.commits == {"good": 1}
    assert running_at_abort == [[]]
    assert ("bad/0/5/1", "its job had ended") in engine.killed


def test_an_event_that_comes_twice_counts_once(tmp_path):
    _, source, state = driven(tmp_path, [job("a"), job("b")], Faults(twice={"a/0/0/1", "a/1/1/1"}))

    assert source.disk.commits == {"a": 1, "b": 1}
    assert sum(state.ignored.values()) == 2
    assert done_once(state)


def test_a_lost_node_s_work_is_done_elsewhere_and_its_zombies_are_not_believed(tmp_path):
    """Its map output is gone as well; what reports late from there is dropped."""
    jobs = [job("a", 18, 2)]

    engine, source, state = driven(tmp_path, jobs, Faults(losses={2.5: "n1"}))

    assert source.disk.commits == {"a": 1}
    assert state.ignored["attempt stale"] + state.ignored["attempt late or unknown"] > 0
    again = [attempt for attempt in engine.launched if attempt.key.attempt > 1]
    assert {str(attempt.key) for attempt in again} >= {"a/0/1/2"}  # done on n1 before it was lost
    assert all(attempt.node_id != "n1" for attempt in again)


def test_an_unreadable_map_output_is_made_again(tmp_path):
    """A fetch that fails blames the map, not the reduce."""
    faults = Faults(blames={"a/1/0/1": ((0, 2),)})

    engine, source, state = driven(tmp_path, [job("a")], faults)

    assert "a/0/2/2" in {str(attempt.key) for attempt in engine.launched}
    assert source.disk.commits == {"a": 1}
    assert [phase.done for phase in state.jobs["a"].phases] == [4, 2]


@pytest.mark.parametrize("place", [(1, 0), (1, 1)])
def test_an_output_that_was_changed_before_its_job_ends_is_made_again(tmp_path, place):
    """Of two reduces, that which ends last as well as that which ended before."""
    engine, source, state = driven(tmp_path, [job("a")], changed={place[1]})

    assert f"a/1/{place[1]}/2" in {str(attempt.key) for attempt in engine.launched}
    assert source.disk.commits == {"a": 1}
    assert [phase.done for phase in state.jobs["a"].phases] == [4, 2]


def test_a_reduce_placed_early_starts_when_its_input_is_complete(tmp_path):
    """With slow-start it holds its slot; `FakeSource` checks that no input is missing."""
    engine, source, state = driven(tmp_path, [job("a", 9, 3)], slowstart=0.1)

    placed = [attempt for attempt in state.closed if attempt.key.phase == 1]
    maps_over_at_s = max(a.finished_at_s for a in state.closed if a.key.phase == 0)
    assert source.disk.commits == {"a": 1}
    assert all(attempt.started_at_s > maps_over_at_s for attempt in placed)
    order = [attempt.key.phase for attempt in engine.launched]
    assert order == sorted(order)


def test_a_reduce_that_waits_for_input_is_ended_without_the_engine(tmp_path):
    """The engine never heard of it, so it could not report its end."""
    exits = {f"a/0/0/{attempt}" for attempt in range(1, 5)}

    engine, source, state = driven(tmp_path, [job("a", 9, 3)], Faults(exits=exits), slowstart=0.1)

    assert state.jobs["a"].state is JobState.FAILED
    ended = [a for a in state.closed if a.key.phase == 1]
    assert ended
    assert {a.state for a in ended} == {AttemptState.KILLED}
    assert all(attempt.key.phase == 0 for attempt in engine.launched)
    assert source.disk.aborts == {"a": 1}


def test_work_that_cannot_be_made_up_fails_its_attempt(tmp_path):
    """Input that vanished is the task's bad luck, not the run's end."""
    jobs = [job("a")]
    source = FakeSource(jobs)
    source.broken = SluiceError("the split is gone")

    state = drive(tmp_path, jobs, source=source).result

    assert state.jobs["a"].state is JobState.FAILED
    assert "the split is gone" in state.jobs["a"].reason
    heard = [entry.event() for entry in entries(tmp_path) if entry.kind is EntryKind.EVENT]
    failures = [event for event in heard if isinstance(event, TaskFailed)]
    assert {failure.kind for failure in failures} <= {FailureKind.REJECTED, FailureKind.KILLED}


def test_output_that_cannot_be_committed_leaves_the_run_open(tmp_path):
    """All else is done; with room again, resuming does just the commit."""
    jobs = [job("a"), job("b")]
    source = FakeSource(jobs)
    source.full = SluiceError("no space left")
    first = drive(tmp_path, jobs, source=source)
    source.full = None
    engine = FakeEngine()
    second = drive(tmp_path, jobs, engine=engine, source=source)

    assert dict(first.uncommitted) == {"a": "no space left", "b": "no space left"}
    assert dict(second.uncommitted) == {}
    assert source.disk.commits == {"a": 1, "b": 1}
    assert engine.launched == []


# --- being stopped, being stuck -----------------------------------------------------------------


def test_ctrl_c_ends_everything_and_the_run_goes_on_later(tmp_path):
    jobs = [job("a"), job("b")]
    engine, source = FakeEngine(faults=Faults(interrupt_at_s=2.0)), FakeSource(jobs)

    with pytest.raises(RunInterrupted, match="--resume"):
        drive(tmp_path, jobs, engine=engine, source=source)
    state = drive(tmp_path, jobs, source=source).result

    assert engine.calls[-1] == "stop kill_running=True"
    assert source.disk.commits == {"a": 1, "b": 1}
    assert done_once(state)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_ctrl_c_does_not_leave_the_engine_half_stopped(tmp_path, number):
    class Slow(FakeEngine):
        def stop(self, *, kill_running):
            signal.raise_signal(number)
            super().stop(kill_running=kill_running)

    engine = Slow(faults=Faults(interrupt_at_s=2.0))
    with pytest.raises(RunInterrupted, match="nothing of it runs any more"):
        drive(tmp_path, [job("a")], engine=engine)

    assert engine.calls[-1] == "stop kill_running=True"
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_sigterm_is_answered_like_ctrl_c():
    """The signal of a service manager is a request as well."""
    before = signal.getsignal(signal.SIGTERM)

    with terminable(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)

    assert signal.getsignal(signal.SIGTERM) is before


def test_outside_the_main_thread_signals_are_left_alone():
    """Only the main thread may set handlers; a run in another one works without."""
    ran = []

    def body():
        with terminable():
            ran.append(True)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert ran == [True]


def test_a_cluster_without_nodes_is_given_up_after_a_while(tmp_path):
    engine = FakeEngine(nodes=())

    with pytest.raises(EngineUnavailable, match="no node"):
        drive(tmp_path, [job("a")], engine=engine, settings=LiveSettings(patience_s=7.0))

    assert 7.0 <= engine.clock.now_s() < 9.0
    assert engine.calls[-1] == "stop kill_running=True"


def test_why_the_nodes_went_is_said_even_if_none_came_before_the_first_job(tmp_path):
    engine = FakeEngine(nodes=(node("n0", map_slots=1),), faults=Faults(losses={0.5: "n0"}))
    settings = LiveSettings(patience_s=7.0, nodes=("n0", "n1"))

    with pytest.raises(EngineUnavailable, match=r"no node is up \('n0': pulled the plug\)"):
        drive(tmp_path, [job("a")], engine=engine, settings=settings)


def test_a_job_that_can_never_start_is_named(tmp_path):
    """Better than to wait for ever for a reduce slot that no node has."""
    nodes = (node("n0", map_slots=2), node("n1"), node("n2"))

    with pytest.raises(Infeasible, match=r"'a' can never go on: all 0 reduce slots"):
        drive(tmp_path, [job("a")], engine=FakeEngine(nodes=nodes))


def test_a_full_disk_stops_the_run_and_its_tasks(tmp_path):
    jobs = [job(f"{number}-{'x' * 180}") for number in range(99)]
    engine = FakeEngine()
    with Journal.create(tmp_path, HEADER) as journal:
        journal._connection.execute("PRAGMA max_page_count = 4")
        live = Driver(
            engine=engine, scheduler=scheduler(), journal=journal, source=FakeSource(jobs),
            jobs=jobs, clock=engine.clock,
        )  # fmt: skip
        with pytest.raises(SluiceError, match="Make room"):
            live.run()

    assert engine.calls[-1] == "stop kill_running=True"
    assert engine.launched == []


# --- policies and watchers ------------------------------------------------------------------------


class ReleaseLater(ReleasePolicy):
    """Lets nothing go before an instant, and asks to be woken then."""

    def __init__(self, at_s):
        self.at_s = at_s

    def release(self, waiting, state, now_s):
        if now_s < self.at_s:
            return ReleaseOrder(wake_at_s=self.at_s)
        return ReleaseOrder(order=waiting, wake_at_s=now_s)  # "now" again: must not spin


class RefuseB(AdmissionPolicy):
    """Takes all but one."""

    def decide(self, job, state):
        if job.job_id == "b":
            return Refuse(Reason(ReasonCode.REFUSED))
        return AdmitAll().decide(job, state)


def test_a_policy_is_woken_when_it_asked_to_be(tmp_path):
    """Nothing else happens at that instant."""
    live, _ = drive_with(tmp_path, [job("a")], release=ReleaseLater(12.25))

    assert live.result.jobs["a"].released_at_s == pytest.approx(12.25, abs=1e-6)


def test_a_refused_job_is_shown_and_removed(tmp_path):
    live, watch = drive_with(tmp_path, [job("a"), job("b")], admission=RefuseB())

    assert live.result.jobs["b"].state is JobState.REFUSED
    assert watch.messages == ["job 'b' was not taken: admission refused it"]


def test_watchers_see_the_run_come_to_its_end(tmp_path):
    """For progress bars: never backwards, at the end complete."""
    _, watch = drive_with(tmp_path, [job("a"), job("b", submitted_at_s=8.0)])

    done = [each.tasks_done for heard in watch.seen for each in heard.jobs if each.job_id == "a"]
    assert done == sorted(done)
    assert max(each.tasks_running for heard in watch.seen for each in heard.jobs) > 1
    assert {heard.jobs_total for heard in watch.seen} == {2}
    assert watch.seen[-1].jobs_ended == 2


def test_an_alarm_is_kept_once_and_ends_with_its_tick():
    """Each tick may ask again for the same instant."""

    class Asking(Scheduler):
        def handle(self, event):
            super().handle(event)
            return [Wake(5.0), Wake(event.at_s)]

    driver_state = DriverState(Asking(scheduler().policies))
    for at_s in (1.0, 2.0, 3.0):
        driver_state.handle(Tick(at_s))

    assert driver_state.wake_at_s() == 5.0
    assert (driver_state.is_woken(4.9), driver_state.is_woken(5.0)) == (False, True)
    driver_state.handle(Tick(5.0))
    assert driver_state.wake_at_s() is None


class Twins(Fifo):
    """Starts a second attempt of whatever runs alone, wherever a slot is free."""

    def fill(self, offer):
        super().fill(offer)
        for attempt in list(offer.state.running.values()):
            phase = attempt.phase
            if offer.free(phase.kind) and attempt.key.task not in phase.copies:
                offer.start(phase, phase.kind, Reason(ReasonCode.FIRST_IN_LINE), 1, attempt)


def test_the_first_of_two_attempts_is_the_one_whose_files_count():
    """The other may finish before its kill reaches it; its files must not take their place."""
    policies = Policies(
        admission=AdmitAll(), release=ReleaseOnArrival(), tasks=Twins(), pools=KeepPools()
    )
    driver_state = DriverState(Scheduler(policies))
    for heard in (NodeJoined(0.0, node("n", map_slots=2)), JobSubmitted(0.0, job("a", 1, 1))):
        driver_state.handle(heard)
    launches = [
        command.key for command in driver_state.handle(Tick(0.0)) if isinstance(command, Launch)
    ]
    for number, key in enumerate(launches):
        driver_state.handle(
            TaskFinished(1.0 + number, key, 1.0 + number, outputs=(f"file {number}",))
        )

    assert [key.attempt for key in launches] == [1, 2]
    assert driver_state.outputs(JobId("a"))[0][0].files == ("file 0",)


def test_outcomes_do_not_depend_on_who_ran_where(tmp_path):
    """The yardstick of the crash tests must itself hold under faults."""
    jobs = [job("a", 9, 2), job("b")]
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    _, calm, calm_state = driven(tmp_path / "1", jobs)
    _, rough, rough_state = driven(
        tmp_path / "2", jobs, Faults(losses={1.5: "n2"}, exits={"a/0/0/1", "b/1/1/1"})
    )

    assert outcome(calm_state, calm.disk) == outcome(rough_state, rough.disk)


@pytest.mark.parametrize("verb", ["commit", "abort"])
def test_all_is_synced_before_an_output_is_put_in_its_place_or_removed(tmp_path, verb, monkeypatch):
    """After a power cut no output may be there, or gone, whose last task the journal has lost."""
    unsynced = []
    with Journal.create(tmp_path, HEADER) as journal:
        source = FakeSource([job("a"), job("b")])
        settle = getattr(source, verb)

        def settled(*about):
            unsynced.append(journal.has_unsynced)
            settle(*about)

        monkeypatch.setattr(source, verb, settled)
        failing = {f"a/0/0/{attempt}" for attempt in range(1, 9)} if verb == "abort" else set()
        # So short that no second has passed since the last sync, which would do by itself.
        engine = FakeEngine(faults=Faults(exits=failing), length_s=lambda _: 0.1)
        driver(journal, engine, source, [job("a"), job("b")]).run()

    assert unsynced
    assert not any(unsynced)
