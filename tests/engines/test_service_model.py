"""A service as a state machine: users submit, hold, move and kill jobs, nodes and drivers are lost.

The driver is the real one, over an engine and a disk in made-up time. What was acknowledged is in
a model of a few lines, and a follower that is made of the journal again must know the same.
"""

import json
from dataclasses import replace

import pytest
from hypothesis import Phase as HypothesisPhase
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.effort import first_of, share_of
from tests.engines.fakes import HEADER, Disk, FakeEngine, FakeSource, driver, job, scheduler
from tests.engines.test_intake import ScriptedIntake

from sluice.core.record.restoring import restore
from sluice.core.transitions import JobState
from sluice.engines.driver_state import DriverState
from sluice.engines.interruption import RunInterrupted
from sluice.engines.live_settings import LiveSettings
from sluice.engines.recovery import JournalReplay, replay
from sluice.engines.segments import SegmentLimits, SegmentOpening
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, entries, opening_row
from sluice.store.service.segments import PREFIX, chain_of, segments_in

ENDED = {JobState.DONE, JobState.FAILED, JobState.KILLED}
LONG_S = 150.0  # all that runs has ended by then


class Life(ScriptedIntake):
    """The requests of one life of the driver."""

    def __init__(self, source, script, folder, end_s, held, engine):
        super().__init__(source, script, folder, end_s)
        self.held = held
        self.begun_s = None
        self.engine = engine

    def pause(self, why):
        """Nothing new is asked for."""

    def resume(self):
        """The script goes on."""

    def take(self, now_s):
        if self.begun_s is None:  # the clock of a later life goes on where the last one ended
            self.begun_s = now_s
        if self.engine.stops_in_order and now_s - self.begun_s > self.end_s:
            self.engine.is_stopped = True
            return []
        return super().take(now_s - self.begun_s)


class StoppedEngine(FakeEngine):
    """An engine at which a driver waits that is stopped in order, or killed amid a turn."""

    stops_in_order = is_stopped = False

    def events(self, wait_s):
        if self.is_stopped:
            raise KeyboardInterrupt
        return super().events(wait_s)


class Service(RuleBasedStateMachine):
    """accepted: each job that was acknowledged, and whether its user has killed it.

    rows_max: of a segment of the journal; None for a journal that is never cut.
    """

    rows_max: int | None = None

    def __init__(self):
        super().__init__()
        self.journal = self.root / str(len(list(self.root.iterdir())))
        Journal.create(_made(self.journal / f"{PREFIX}000001"), HEADER).close()
        self.source, self.disk = FakeSource([]), Disk()
        self.settings = LiveSettings(
            forget_s=5.0, segments=SegmentLimits(rows=self.rows_max or 10**6)
        )
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

    @rule(more_s=st.floats(0.0, 8.0), lost=st.booleans(), in_order=st.booleans())
    def live_a_while(self, more_s, lost, in_order):
        """The driver runs, answers all that was asked for, and ends a while later."""
        end_s = self.at_s + more_s + 1.1  # a turn takes at most a second
        self._live(end_s, lost=lost, in_order=in_order)

    def _live(self, end_s, *, lost=False, in_order=True):
        engine = StoppedEngine()
        engine.stops_in_order = in_order
        if lost:
            engine.lose("n1", self.at_s / 2, back_s=2.0)
        segment, (opened, jobs) = self._newest(), self._known()
        self.source = FakeSource(jobs, self.disk)
        held = sorted(self.held & self.source.jobs.keys())
        life = Life(self.source, self.script, segment, end_s, held, engine)
        with Journal.reopened(segment) as journal:
            made = driver(
                journal, engine, self.source, jobs, intake=life, settings=self.settings,
                opened=opened, segments=None if self.rows_max is None else self,
            )  # fmt: skip
            self.state, self.writer = made._state, journal
            with pytest.raises(RunInterrupted):
                made.run()
        assert not life.script
        self.script, self.at_s, self.lives = [], 0.0, self.lives + 1

    # --- the segments of the journal ----------------------------------------------------------

    def _newest(self):
        return segments_in(self.journal)[-1]

    def _known(self):
        """The scheduler and the jobs that a driver starts with, as the newest segment has it."""
        line = opening_row(self._newest())
        jobs = self.source.jobs
        if line is None:
            return scheduler(), list(jobs.values())
        opening = SegmentOpening.of(line)
        fresh = scheduler()
        rows = entries(self._newest())
        new = [json.loads(one.payload) for one in rows if one.kind is EntryKind.SUBMITTED]
        known = [jobs[name] for name in (*opening.users["jobs"], *new)]
        return restore(opening.scheduler, fresh.policies, fresh.rules), known

    def saved(self, unsettled):
        known = self.state.jobs
        return {
            "jobs": [
                name
                for name in self.source.jobs
                if name in unsettled or name not in known or not known[name].has_ended
                if name not in self.source.forgotten
            ]
        }

    def next(self):
        number = len(segments_in(self.journal)) + 1
        folder = _made(self.journal / f"{PREFIX}{number:06d}")
        return folder, replace(HEADER, after=self.writer.folder.name)

    def _rows(self):
        chain = chain_of(self._newest())
        assert chain == segments_in(self.journal)
        for segment in chain:
            yield from (one for one in entries(segment) if one.kind is not EntryKind.OPENING)

    # --- what must hold -----------------------------------------------------------------------

    @invariant()
    def a_follower_knows_the_same(self):
        if self.state is None or self.script:
            return
        again = DriverState(self._known()[0])
        replay(entries(self._newest()), again)  # raises where a decision is another one
        if self.rows_max is None:
            assert _facts(again.state) == _facts(self.state)
        else:  # jobs that were over when a segment began are not in it
            assert _facts(again.state).items() <= _facts(self.state).items()
            assert _open(self.state) == _open(again.state)
        known = _facts(self._all_of_it())
        assert known | _facts(self.state) == known
        left_out = known.keys() - self.state.jobs.keys() - self.source.forgotten
        assert (
            not left_out
            if self.rows_max is None
            else all(known[one][0] in ENDED for one in left_out)
        )

    def _all_of_it(self):
        """The state with the jobs that the driver has forgotten, as a follower has it."""
        kept = DriverState(scheduler())
        replayed = JournalReplay(kept, forgets=False)
        for entry in self._rows():
            replayed.take(entry)
        return kept.state

    @invariant()
    def what_was_acknowledged_is_there_once(self):
        if self.state is None or self.script:
            return
        rows = [each.payload for each in self._rows() if each.kind is EntryKind.SUBMITTED]
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


def _made(folder):
    folder.mkdir(parents=True)
    return folder


def _open(state):
    return [name for name, entry in state.jobs.items() if not entry.has_ended]


def _facts(state):
    return {
        name: (entry.state, entry.weight, [(one.running, one.done) for one in entry.phases])
        for name, entry in state.jobs.items()
    }


@pytest.mark.parametrize("rows", first_of([None, 12, 60], 2))
def test_a_service_loses_nothing_and_its_follower_agrees(tmp_path, rows):
    class Here(Service):
        root, rows_max = tmp_path, rows

    Here.TestCase.settings = settings(
        max_examples=share_of(30),
        stateful_step_count=10,
        deadline=None,
        phases=[HypothesisPhase.generate],
    )
    case = Here.TestCase()
    case.runTest()
