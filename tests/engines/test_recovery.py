"""A run may be left at any point, and comes to the same end."""

import shutil
import sqlite3
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.effort import IS_THOROUGH
from tests.engines.fakes import (
    HEADER,
    NODES,
    Crash,
    Disk,
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
from tests.invariants import check

from sluice.core.events import NodeJoined, NodeLost, TaskFailed, TaskFinished
from sluice.core.transitions import AttemptState
from sluice.engines.base import Snapshot
from sluice.engines.driver_state import DriverState
from sluice.engines.recovery import facts_since, pause_s_of, replay
from sluice.model.errors import EngineUnavailable, InvalidInput, StoreCorrupt
from sluice.model.ids import NodeId
from sluice.store.journal import Journal, decision_digest
from sluice.store.rows import EntryKind, entries

JOBS = (job("a", 5, 2), job("b", 3, 1, submitted_at_s=1.5), job("doomed", 2, 1))
FAULTS = Faults(
    exits={"a/0/3/1", *(f"doomed/0/1/{attempt}" for attempt in range(1, 9))},
    twice={"a/0/0/1", "b/0/1/1"},
    losses={3.5: "n1"},
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a run that nobody left, and its outcome."""
    folder, source = tmp_path_factory.mktemp("undisturbed"), FakeSource(JOBS)
    state = drive(folder, JOBS, engine=FakeEngine(faults=FAULTS), source=source).result
    return folder, outcome(state, source.disk)


def cut(folder, copy, rows):
    """A copy of a journal as it was when it had so many rows."""
    copy.mkdir(exist_ok=True)
    shutil.copy(folder / "journal.db", copy)
    connection = sqlite3.connect(copy / "journal.db")
    with connection:
        connection.execute("DELETE FROM rows WHERE seq >= ?", (rows,))
        connection.execute(
            "UPDATE head SET seq = ?, checksum = (SELECT checksum FROM rows WHERE seq = ?)",
            (rows - 1, rows - 1),
        )
    connection.close()


def finished_tasks(folder):
    """Tasks whose success a journal shows of and that no later loss undoes."""
    found = set()
    for entry in entries(folder):
        if entry.kind is EntryKind.EVENT:
            heard = entry.event()
            if isinstance(heard, TaskFinished):
                found.add(heard.key[:3])
            if isinstance(heard, NodeLost):
                found.clear()
    return found


def disk_of(folder, wanted):
    """The disk with the results that the former life had committed for good."""
    noted = {e.payload for e in entries(folder) if e.kind is EntryKind.COMMITTED}
    return Disk(results={job_id: result for job_id, *_, result in wanted if job_id in noted})


def test_a_run_left_after_any_row_comes_to_the_same_end(undisturbed, tmp_path):
    """Stop at each journal boundary, recover, compare; also where no transaction ends.

    At every third in a run that is not thorough.
    """
    folder, wanted = undisturbed
    total = len(list(entries(folder)))
    assert total > 60
    for rows in range(total - 1, 0, -1 if IS_THOROUGH else -3):
        copy = tmp_path / str(rows)
        cut(folder, copy, rows)
        done, disk = finished_tasks(copy), disk_of(copy, wanted)
        committed = set(disk.results)
        engine, source = FakeEngine(faults=FAULTS), FakeSource(JOBS, disk)

        state = drive(copy, JOBS, engine=engine, source=source).result

        assert outcome(state, source.disk) == wanted, f"left after {rows} rows"
        assert done_once(state)
        check(state)
        # A fault at the same instant of the new life may undo work again, so only up to there.
        early = {attempt.key[:3] for attempt in engine.launched if attempt.key.attempt == 1}
        assert not early & done, f"left after {rows} rows: {early & done} ran again"
        assert set(disk.commits) == {"a", "b"} - committed
        assert list(entries(copy))[-1].kind is EntryKind.FINISHED


class Fragile:
    """Lets the process die at the n-th call of an object's methods: before it, or after it."""

    def __init__(self, held, calls, dies_at, *, after):
        self._held, self._calls, self._dies_at, self._after = held, calls, dies_at, after

    def __getattr__(self, name):
        value = getattr(self._held, name)
        return self._wrapped(value) if callable(value) and name != "read" else value

    def _wrapped(self, method):
        def call(*arguments, **named):
            self._calls[0] += 1
            is_last = self._calls[0] == self._dies_at
            if is_last and not self._after:
                raise Crash
            result = method(*arguments, **named)
            if is_last:
                raise Crash
            return result

        return call


def life(folder, disk, dies_at, *, after):
    """One life of a run that dies at a certain call to journal, source or engine; did it live?"""
    is_new = not (folder / "journal.db").exists()
    calls, source = [0], FakeSource(JOBS, disk)
    faults = Faults(exits=FAULTS.exits, twice=FAULTS.twice)
    with Journal.create(folder, HEADER) if is_new else Journal.reopened(folder) as journal:
        engine = FakeEngine(faults=faults)
        live = driver(
            Fragile(journal, calls, dies_at, after=after),
            engine,
            Fragile(source, calls, dies_at, after=after),
            JOBS,
        )
        vars(engine)["launch"] = Fragile(engine, calls, dies_at, after=after).launch
        try:
            return live.run().result
        except Crash:
            return None


@settings(max_examples=15, deadline=None)
@given(deaths=st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=4))
def test_a_run_that_dies_again_and_again_comes_to_the_same_end(
    deaths, undisturbed, tmp_path_factory
):
    """Before or after any call that reaches the world: journal, engine, commit."""
    folder, disk = tmp_path_factory.mktemp("lives"), Disk()
    state = None
    for dies_at, after in [*deaths, (10**9, False)]:
        state = life(folder, disk, dies_at, after=after)
        if state is not None:
            break
        event("died and was taken up again")

    assert state is not None
    assert outcome(state, disk) == undisturbed[1]
    assert done_once(state)
    check(state)
    # Twice only where a death fell between the commit and its note.
    assert all(1 <= number <= 1 + len(deaths) for number in disk.commits.values())
    assert set(disk.commits) == {"a", "b"}


@pytest.mark.parametrize("after", [False, True])
def test_a_job_done_but_not_committed_is_committed_when_resumed(tmp_path, monkeypatch, after):
    """Dying inside the commit: before it, and after it but before its note."""
    jobs = [job("a", 2, 1)]
    source = FakeSource(jobs)
    commit = source.commit

    def dying(job_id, outputs):
        if after:
            commit(job_id, outputs)
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(source, "commit", dying)
        with pytest.raises(Crash):
            drive(tmp_path, jobs, source=source)
    engine = FakeEngine()
    drive(tmp_path, jobs, engine=engine, source=source)

    assert source.disk.results == {"a": [0]}
    assert engine.launched == []
    notes = [entry for entry in entries(tmp_path) if entry.kind is EntryKind.COMMITTED]
    assert [note.payload for note in notes] == ["a"]


def test_attempts_of_the_former_life_are_closed_as_lost(undisturbed, tmp_path):
    """They ended with their engine; they do not count as failures of their tasks."""
    folder, _ = undisturbed
    cut(folder, tmp_path, 20)
    engine, source = FakeEngine(), FakeSource(JOBS)

    state = drive(tmp_path, JOBS, engine=engine, source=source).result

    lost = [a for a in state.closed if a.state is AttemptState.LOST]
    assert lost
    assert {a.detail for a in lost} == {"the engine ended"}
    assert source.swept == [2, "cleared"]
    assert {attempt.epoch for attempt in engine.launched} == {2}
    assert {a.key for a in lost}.isdisjoint(attempt.key for attempt in engine.launched)


def test_the_clock_goes_on_where_the_journal_ends(undisturbed, tmp_path):
    """A pause is no time of the run: deadlines and lengths do not count it."""
    folder, _ = undisturbed
    cut(folder, tmp_path, 30)
    last_at_s = max(e.event().at_s for e in entries(tmp_path) if e.kind is EntryKind.EVENT)
    drive(tmp_path, JOBS)

    at_s = [e.event().at_s for e in entries(tmp_path) if e.kind is EntryKind.EVENT and e.epoch == 2]
    assert at_s[0] == pytest.approx(last_at_s)
    assert at_s == sorted(at_s)


def test_a_finished_run_is_shown_and_nothing_changes(undisturbed):
    folder, _ = undisturbed
    before = (folder / "journal.db").read_bytes()
    engine, source = FakeEngine(), FakeSource(JOBS)

    live = drive(folder, JOBS, engine=engine, source=source)

    assert live.was_finished
    assert [entry.state.value for entry in live.result.jobs.values()] == ["done", "failed", "done"]
    assert (engine.calls, source.swept, source.disk) == ([], [], Disk())
    assert (folder / "journal.db").read_bytes() == before


def test_a_second_driver_is_turned_away(undisturbed, tmp_path):
    """While the first runs, nothing of the run is touched."""
    folder, _ = undisturbed
    cut(folder, tmp_path, 20)

    with Journal.reopened(tmp_path), pytest.raises(EngineUnavailable, match="is being driven"):
        drive(tmp_path, JOBS)


# --- what does not fit is not continued ---------------------------------------------------------


def test_the_same_events_give_the_same_decisions(undisturbed):
    """The rule that makes a journal of events a recovery log."""
    folder, _ = undisturbed
    events = [e.event() for e in entries(folder) if e.kind is EntryKind.EVENT]
    one, other = scheduler(), scheduler()

    assert [decision_digest(one.handle(each)) for each in events] == [
        decision_digest(other.handle(each)) for each in events
    ]


def test_a_scheduler_that_decides_otherwise_is_caught(undisturbed, tmp_path):
    """Other settings or another release: going on would mix two plans."""
    folder, _ = undisturbed
    cut(folder, tmp_path, 30)

    with pytest.raises(StoreCorrupt, match=r"row \d+ .* decided otherwise"):
        drive(tmp_path, JOBS, slowstart=0.0)


def test_a_damaged_journal_starts_nothing(undisturbed, tmp_path):
    """Neither engine nor sweep: the evidence stays as it is."""
    folder, _ = undisturbed
    cut(folder, tmp_path, 30)
    connection = sqlite3.connect(tmp_path / "journal.db")
    with connection:
        connection.execute("UPDATE rows SET payload = replace(payload, '1', '2') WHERE seq = 17")
    connection.close()
    engine, source = FakeEngine(), FakeSource(JOBS)

    with pytest.raises(StoreCorrupt, match="row 17"):
        drive(tmp_path, JOBS, engine=engine, source=source)
    assert (engine.calls, source.swept) == ([], [])


def test_a_job_that_changed_meanwhile_is_named(undisturbed, tmp_path):
    """Its input has other splits now, say."""
    folder, _ = undisturbed
    cut(folder, tmp_path, 30)

    with pytest.raises(InvalidInput, match="job 'a'"):
        drive(tmp_path, [job("a", 6, 2), *JOBS[1:]])


# --- what became of the world -------------------------------------------------------------------


def half_way(folder, copy):
    """The driver_state of a run that was left in its middle."""
    cut(folder, copy, 30)
    driver_state = DriverState(scheduler())
    assert not replay(entries(copy), driver_state)
    return driver_state


def test_nodes_that_went_or_came_are_shown(undisturbed, tmp_path):
    driver_state = half_way(undisturbed[0], tmp_path)
    grown = node("n1", map_slots=9)
    new = node("n9", map_slots=1)

    facts = facts_since(
        driver_state.state, Snapshot(nodes=(NODES[0], grown, new), attempts=()), 50.0
    )

    nodes = [fact for fact in facts if not isinstance(fact, TaskFailed)]
    assert nodes == [
        NodeLost(50.0, NodeId("n1"), "gone after the pause"),
        NodeLost(50.0, NodeId("n2"), "gone after the pause"),
        NodeJoined(50.0, grown),
        NodeJoined(50.0, new),
    ]


def test_the_faults_of_a_node_that_stayed_are_forgotten(undisturbed, tmp_path):
    """Who resumes a run has repaired the machine, or wants to try."""
    state = half_way(undisturbed[0], tmp_path).state
    state.nodes[NODES[1].node_id].faults = 1
    real = Snapshot(nodes=NODES, attempts=tuple(state.running))

    assert facts_since(state, real, 50.0) == [NodeJoined(50.0, NODES[1])]


def test_an_engine_that_lived_on_keeps_its_attempts(undisturbed, tmp_path):
    """A cluster outlives its driver; what still runs there is not started again."""
    driver_state = half_way(undisturbed[0], tmp_path)
    alive, *ended = driver_state.state.running

    facts = facts_since(driver_state.state, Snapshot(nodes=NODES, attempts=(alive,)), 50.0)

    lost = [fact for fact in facts if isinstance(fact, TaskFailed)]
    assert lost == facts
    assert [fact.key for fact in lost] == ended
    assert {fact.finished_at_s for fact in lost} == {driver_state.state.now_s}
    done = TaskFinished(49.0, ended[0], 48.0)  # its end was reported after the pause
    assert lost[1:] == facts_since(
        driver_state.state, Snapshot(nodes=NODES, attempts=(alive,)), 50.0, [done]
    )


@pytest.mark.parametrize(("ago_s", "goes_on"), [(30.0, True), (90.0, False), (-30.0, False)])
def test_attempts_go_on_for_a_minute_without_a_driver_and_no_longer(ago_s, goes_on):
    """A clock on the wall that was set back shows no pause."""
    journal: Any = SimpleNamespace(written_at_s=time.time() - ago_s)

    assert pause_s_of(journal, 60.0) == pytest.approx(ago_s if goes_on else 0.0, abs=10.0)
