"""A service as a state machine: users submit, hold, move and kill jobs, nodes and drivers are lost.

The driver is the real one, over an engine and a disk in made-up time. What was acknowledged is in
a model of a few lines, and a follower that is made of the journal again must know the same.
"""

from dataclasses import replace

import pytest
from hypothesis import Phase as HypothesisPhase
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.engines.fakes import HEADER, Disk, FakeEngine, FakeSource, driver, job, scheduler
from tests.engines.test_intake import ScriptedIntake

from sluice.core.transitions import JobState
from sluice.engines.driver import LiveSettings
from sluice.engines.driver_state import DriverState
from sluice.engines.interruption import RunInterrupted
from sluice.engines.recovery import JournalReplay, replay
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, entries

ENDED = {JobState.DONE, JobState.FAILED, JobState.KILLED}
LONG_S = 150.0  # all that runs has ended by then


class Life(ScriptedIntake):
    """The requests of one life of the driver."""

    def __init__(self, source, script, folder, end_s, held):
        super().__init__(source, script, folder, end_s)
        self.held = held
        self.begun_s = None

    def pause(self, why):
        """Nothing new is asked for."""

    def resume(self):
        """The script goes on."""

    def take(self, now_s):
        if self.begun_s is None:  # the clock of a later life goes on where the last one ended
            self.begun_s = now_s
        return super().take(now_s - self.begun_s)


class Service(RuleBasedStateMachine):
    """accepted: each job that was acknowledged, and whether its user has killed it."""

    def __init__(self):
        super().__init__()
        self.folder = self.root / str(len(list(self.root.iterdir())))
        self.folder.mkdir()
        self.source, self.disk = FakeSource([]), Disk()
        self.settings = LiveSettings(forget_s=5.0)
        self.accepted, self.held, self.state = {}, set(), None
        self.script, self.at_s, self.lives = [], 0.0, 0

    # --- what users do ------------------------------------------------------------------------

    @rule(maps=st.integers(1, 6), reduces=st.integers(1, 3), after_s=st.floats(0.0, 3.0))
    def submit(self, maps, reduces, after_s):
        name = f"job-{len(self.accepted):06d}"
        self.accepted[name] = False
        self._ask(after_s, [job(name, maps, reduces)])

    @precondition(lambda self: self.accepted)
    @rule(data=st.data(), after_s=st.floats(0.0, 3.0))
    def kill(self, data, after_s):
        name = data.draw(st.sampled_from(sorted(self.accepted)))
        self.accepted[name] = True
        self._ask(after_s, name)

    @precondition(lambda self: self.script and isinstance(self.script[-1][1], list))
    @rule(is_held=st.booleans(), weight=st.floats(0.5, 4.0))
    def change(self, is_held, weight):
        """The job that was submitted last is moved at the same instant, before it starts."""
        at_s, (known,) = self.script[-1]
        if is_held:
            self.held.add(known.job_id)
        self.script.append((at_s, (replace(known, weight=weight), is_held)))

    def _ask(self, after_s, asked):
        self.at_s += after_s
        self.script.append((self.at_s, asked))

    # --- what happens to the service ----------------------------------------------------------

    @rule(more_s=st.floats(0.0, 8.0), lost=st.booleans())
    def live_a_while(self, more_s, lost):
        """The driver runs, answers all that was asked for, and is killed a while later."""
        self._live(self.at_s + more_s + 1.1, lost=lost)  # a turn takes at most a second

    def _live(self, end_s, *, lost=False):
        engine = FakeEngine()
        if lost:
            engine.lose("n1", self.at_s / 2, back_s=2.0)
        self.source = FakeSource(self.source.jobs.values(), self.disk)
        life = Life(self.source, self.script, self.folder, end_s, sorted(self.held))
        is_new = not (self.folder / "journal.db").exists()
        opening = Journal.create(self.folder, HEADER) if is_new else Journal.reopened(self.folder)
        with opening as journal:
            made = driver(
                journal, engine, self.source, list(self.source.jobs.values()), intake=life,
                settings=self.settings,
            )  # fmt: skip
            with pytest.raises(RunInterrupted):
                made.run()
        assert not life.script
        self.state = made._state
        self.script, self.at_s, self.lives = [], 0.0, self.lives + 1

    # --- what must hold -----------------------------------------------------------------------

    @invariant()
    def a_follower_knows_the_same(self):
        if self.state is None or self.script:
            return
        again = DriverState(scheduler())
        replay(entries(self.folder), again)  # raises where a decision is another one
        assert _facts(again.state) == _facts(self.state)
        known = _facts(self._all_of_it())
        assert known | _facts(self.state) == known
        assert not known.keys() - self.state.jobs.keys() - self.source.forgotten

    def _all_of_it(self):
        """The state with the jobs that the driver has forgotten, as a follower has it."""
        kept = DriverState(scheduler())
        replayed = JournalReplay(kept, forgets=False)
        for entry in entries(self.folder):
            replayed.take(entry)
        return kept.state

    @invariant()
    def what_was_acknowledged_is_there_once(self):
        if self.state is None or self.script:
            return
        rows = [each.payload for each in entries(self.folder) if each.kind is EntryKind.SUBMITTED]
        assert rows == [f'"{name}"' for name in self.accepted]
        assert self.state.jobs.keys() <= self.accepted.keys()

    def teardown(self):
        """Given time, all that was not held comes to its end."""
        if not self.accepted:
            return
        self._live(LONG_S)
        assert not self.state.jobs
        jobs = self._all_of_it().jobs
        for name, was_killed in self.accepted.items():
            entry = jobs.get(name)
            if entry is None:
                assert name in self.held
                continue
            assert entry.state in ENDED
            assert was_killed or entry.state is JobState.DONE
            commits = self.disk.commits[name]
            assert commits == 1 if entry.state is JobState.DONE else commits == 0


def _facts(state):
    return {
        name: (entry.state, entry.weight, [(one.running, one.done) for one in entry.phases])
        for name, entry in state.jobs.items()
    }


def test_a_service_loses_nothing_and_its_follower_agrees(tmp_path):
    class Here(Service):
        root = tmp_path

    Here.TestCase.settings = settings(
        max_examples=30, stateful_step_count=10, deadline=None, phases=[HypothesisPhase.generate]
    )
    case = Here.TestCase()
    case.runTest()
