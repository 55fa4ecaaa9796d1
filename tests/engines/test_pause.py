"""A service without room on its disk, or without nodes, waits and goes on."""

import itertools

import pytest
from tests.engines.fakes import HEADER, FakeEngine, FakeSource, driver, job, outcome, scheduler
from tests.engines.test_intake import ScriptedIntake, states

from sluice.core.events import FailureKind, TaskFailed
from sluice.core.transitions import JobState
from sluice.engines.driver import Driver
from sluice.engines.driver_state import DriverState
from sluice.engines.interruption import RunInterrupted
from sluice.engines.pause import RETRY_S
from sluice.engines.recovery import replay_journal
from sluice.model.errors import SluiceError
from sluice.store.database import StoreFull
from sluice.store.journal import Journal

FULL_AT_S, ROOM_AT_S, END_S = 4.0, 31.0, 120.0


class Watched(ScriptedIntake):
    """Notes when the driver paused, and when it went on."""

    def __init__(self, source, script, folder, clock):
        super().__init__(source, script, folder, END_S)
        self.clock, self.pauses = clock, []

    def pause(self, why):
        self.pauses.append((why, self.clock.now_s()))

    def resume(self):
        self.pauses.append(("room", self.clock.now_s()))


class OnSmallDisk(FakeEngine):
    """The disk of the journal is full from one instant to another."""

    journal: Journal | None = None

    def events(self, timeout_s):
        heard = super().events(timeout_s)
        connection = self.journal._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        is_full = FULL_AT_S <= self.clock.now_s() < ROOM_AT_S
        connection.execute(f"PRAGMA max_page_count = {pages if is_full else 1_000_000}")
        return heard


def on_small_disk(folder):
    """Drive jobs of long names, which soon need another page."""
    names = [f"{number}-{'x' * 190}" for number in range(12)]
    script = [(float(number), [job(name)]) for number, name in enumerate(names)]
    engine, source = OnSmallDisk(), FakeSource([])
    intake = Watched(source, script, folder, engine.clock)
    with Journal.create(folder, HEADER) as journal:
        engine.journal = journal
        made = driver(journal, engine, source, [], intake=intake)
        with pytest.raises(RunInterrupted):
            made.run()
    return made, intake, engine


def test_a_full_disk_is_waited_for_and_nothing_is_lost(tmp_path):
    made, intake, _ = on_small_disk(tmp_path)
    (why, paused_at_s), (what, resumed_at_s) = intake.pauses
    assert "Make room" in why
    assert what == "room"
    assert FULL_AT_S <= paused_at_s < ROOM_AT_S <= resumed_at_s <= ROOM_AT_S + RETRY_S + 2
    assert set(states(made).values()) == {JobState.DONE}
    assert len(intake.answered) == len(states(made)) == 12
    assert set(made._source.disk.commits.values()) == {1}


def test_nothing_starts_while_the_disk_is_full(tmp_path):
    made, intake, engine = on_small_disk(tmp_path)
    paused_at_s, resumed_at_s = (at_s for _, at_s in intake.pauses)
    begun = [one.started_at_s for one in made._state.closed]
    assert begun
    assert not [at_s for at_s in begun if paused_at_s < at_s < resumed_at_s]
    assert engine.launched


def test_a_pause_leaves_a_journal_that_replays(tmp_path):
    made, _, _ = on_small_disk(tmp_path)
    again = DriverState(scheduler())
    with Journal.reopened(tmp_path) as journal:
        replay_journal(journal, again)  # raises where a decision is another one
    disk = made._source.disk
    assert outcome(again.state, disk) == outcome(made._state, disk)


def test_a_run_of_one_file_still_ends_at_a_full_disk(tmp_path):
    jobs = [job(f"{number}-{'x' * 190}") for number in range(12)]
    engine = OnSmallDisk()
    with Journal.create(tmp_path, HEADER) as journal:
        engine.journal = journal
        live = Driver(
            engine=engine, scheduler=scheduler(), journal=journal, source=FakeSource(jobs),
            jobs=jobs, clock=engine.clock,
        )  # fmt: skip
        with pytest.raises(StoreFull):
            live.run()


class Faulty(FakeEngine):
    """Each node fails to run anything until the machines are fixed."""

    fixed_at_s = 50.0

    def _script(self, attempt):
        def fails(at_s, one):
            return TaskFailed(at_s, one.key, at_s, FailureKind.NODE_FAULT, "no room")

        if self.clock.now_s() < self.fixed_at_s:
            return 0.01, fails
        return super()._script(attempt)


def test_nodes_that_were_all_set_aside_get_another_chance(tmp_path):
    engine, source = Faulty(), FakeSource([])
    intake = Watched(source, [(1.0, [job("a")])], tmp_path, engine.clock)
    intake.end_s = 600.0
    with Journal.create(tmp_path, HEADER) as journal:
        made = driver(journal, engine, source, [], intake=intake)
        with pytest.raises(RunInterrupted):
            made.run()
    assert states(made) == {"a": JobState.DONE}
    ends = [one.finished_at_s for one in made._state.closed]
    assert max(after - before for before, after in itertools.pairwise(sorted(ends))) > 30.0


def test_a_lost_cluster_is_waited_for(tmp_path):
    engine, source = FakeEngine(), FakeSource([])
    for node_id in ("n0", "n1", "n2"):
        engine.lose(node_id, 3.0, back_s=200.0)
    intake = Watched(source, [(1.0, [job("a", maps=30)])], tmp_path, engine.clock)
    intake.end_s = 400.0
    with Journal.create(tmp_path, HEADER) as journal:
        made = driver(journal, engine, source, [], intake=intake)
        with pytest.raises(RunInterrupted):
            made.run()
    assert states(made) == {"a": JobState.DONE}
    assert made._state.jobs["a"].finished_at_s > 200.0


def test_an_output_without_room_is_committed_later(tmp_path):
    engine, source = FakeEngine(), FakeSource([])
    source.full = SluiceError("no space left")
    intake = Watched(source, [(1.0, [job("a")]), (40.0, [job("b")])], tmp_path, engine.clock)
    intake.end_s = 300.0
    take = intake.take

    def make_room(now_s):
        if now_s > 30.0:
            source.full = None
        return take(now_s)

    intake.take = make_room  # type: ignore[method-assign]
    with Journal.create(tmp_path, HEADER) as journal:
        made = driver(journal, engine, source, [], intake=intake)
        with pytest.raises(RunInterrupted):
            made.run()
    assert source.disk.commits == {"a": 1, "b": 1}
