"""Jobs that are submitted to a driver while others run."""

from dataclasses import replace

import pytest
from tests.engines.fakes import HEADER, FakeEngine, FakeSource, driver, job

from sluice.core.transitions import JobState
from sluice.engines.intake import Change, Kill, Submission
from sluice.engines.interruption import RunInterrupted
from sluice.engines.live_settings import LiveSettings
from sluice.model.errors import InvalidInput
from sluice.store.head import heads
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, entries

END_S = 60.0


class ScriptedIntake:
    """Requests at instants; the run ends long after the last one."""

    def __init__(self, source, script, folder, end_s=END_S):
        self.end_s = end_s
        self.source, self.script, self.folder = source, list(script), folder
        self.answered = []
        self.rows_at_answer = []
        self.synced_at_answer = []
        self.woken = 0
        self.held = ()
        self.forgotten = set()

    def wake(self, engine):
        self.woken += 1

    def forget(self, job_ids):
        self.forgotten |= set(job_ids)

    def take(self, now_s):
        if now_s > self.end_s:
            raise KeyboardInterrupt
        found = []
        while self.script and self.script[0][0] <= now_s:
            _, asked = self.script.pop(0)
            found.append(self._request(asked))
        return found

    def _request(self, asked):
        if isinstance(asked, str):
            return Kill(job_id=asked, reason="enough", acknowledge=lambda: self._answer(asked))
        if isinstance(asked, tuple):
            changed, is_held = asked
            self.source.jobs[changed.job_id] = changed
            return Change(job=changed, is_held=is_held, record='"it"', acknowledge=lambda: None)
        self.source.jobs |= {each.job_id: each for each in asked}
        name = ",".join(each.job_id for each in asked)
        return Submission(jobs=asked, record=f'"{name}"', acknowledge=lambda: self._answer(name))

    def _answer(self, name):
        self.answered.append(name)
        rows = [one for one in entries(self.folder) if one.kind is EntryKind.SUBMITTED]
        self.rows_at_answer.append([one.payload for one in rows])
        # Without rows a segment began after it, once all before was on the disk.
        is_on_disk = not rows or heads(self.folder).synced.seq >= rows[-1].seq
        self.synced_at_answer.append(is_on_disk)


def served(folder, script, *, jobs=(), engine=None, source=None, end_s=END_S, held=(), **settings):
    """Drive until the end of the script; the driver's scheduler and the intake."""
    source = source or FakeSource(jobs)
    engine = engine or FakeEngine()
    intake = ScriptedIntake(source, script, folder, end_s)
    intake.held = held
    folder.mkdir(exist_ok=True)
    opening = (
        Journal.reopened(folder)
        if (folder / "journal.db").exists()
        else Journal.create(folder, HEADER)
    )
    with opening as journal:
        made = driver(
            journal, engine, source, list(jobs), intake=intake, settings=LiveSettings(**settings)
        )
        with pytest.raises(RunInterrupted):
            made.run()
    return made, intake


def states(made):
    """The state of each job, by its id."""
    return {name: entry.state for name, entry in made._state.jobs.items()}


def test_jobs_join_a_cluster_that_runs(tmp_path):
    made, intake = served(tmp_path, [(1.0, [job("a")]), (2.0, [job("b")]), (30.0, [job("c")])])
    assert states(made) == dict.fromkeys("abc", JobState.DONE)
    assert intake.answered == ["a", "b", "c"]
    assert made._source.disk.commits == {"a": 1, "b": 1, "c": 1}


def test_an_answer_comes_after_the_row(tmp_path):
    _, intake = served(tmp_path, [(1.0, [job("a")]), (1.0, [job("b")]), (3.0, [job("c")])])
    assert intake.rows_at_answer == [['"a"', '"b"'], ['"a"', '"b"'], ['"a"', '"b"', '"c"']]


def test_an_answer_comes_after_the_row_is_on_the_disk(tmp_path):
    """Of the second request, too: the first write of a life is synced in any case."""
    script = [(0.1, [job("a")]), (0.2, [job("b")]), (0.3, [job("c")])]
    _, intake = served(tmp_path, script)

    assert intake.synced_at_answer == [True, True, True]


def test_requests_of_one_instant_share_one_wait_for_the_disk(tmp_path, monkeypatch):
    synced = []
    sync = Journal.sync

    def noted(self):
        synced.append(self._seq)
        sync(self)

    monkeypatch.setattr(Journal, "sync", noted)
    script = [(1.0, [job(f"j{number}", maps=1, reduces=1)]) for number in range(20)]
    _, intake = served(tmp_path, script)
    assert len(intake.answered) == 20
    rows = [one.seq for one in entries(tmp_path) if one.kind is EntryKind.SUBMITTED]
    assert rows == list(range(rows[0], rows[0] + 20))
    assert next(seq for seq in synced if seq >= rows[-1]) <= rows[-1] + 21


def test_the_row_and_the_event_are_in_one_transaction(tmp_path):
    served(tmp_path, [(1.0, [job("a")])])
    kinds = [one.kind for one in entries(tmp_path)]
    at = kinds.index(EntryKind.SUBMITTED)
    assert kinds[at + 1] is EntryKind.EVENT


def test_a_running_job_is_killed(tmp_path):
    made, intake = served(tmp_path, [(1.0, [job("a", maps=30)]), (3.0, "a"), (4.0, [job("b")])])
    assert states(made) == {"a": JobState.KILLED, "b": JobState.DONE}
    assert made._state.jobs["a"].reason == "enough"
    assert made._source.disk.aborts["a"] == 1
    assert intake.answered == ["a", "a", "b"]


def test_a_job_that_waits_for_another_is_killed_before_it_comes(tmp_path):
    later = replace(job("b"), after=("a",))
    made, _ = served(tmp_path, [(1.0, [job("a"), later]), (2.0, "b")])
    assert states(made) == {"a": JobState.DONE, "b": JobState.KILLED}


def test_a_job_that_comes_later_is_killed_before(tmp_path):
    made, _ = served(tmp_path, [(1.0, [job("a", submitted_at_s=20.0)]), (2.0, "a")])
    assert states(made) == {"a": JobState.KILLED}


def test_a_held_job_comes_when_its_user_lets_it(tmp_path):
    script = [(1.0, [job("a", maps=40), job("b")]), (1.0, (job("b"), True)), (30.0, [job("c")])]
    held, _ = served(tmp_path / "1", script)
    assert "b" not in states(held)
    free, _ = served(tmp_path / "2", [*script, (40.0, (job("b"), False))])
    assert states(free)["b"] is JobState.DONE
    assert free._state.jobs["b"].started_at_s >= 40.0


def test_a_job_that_has_come_leaves_and_comes_again_as_it_was_changed(tmp_path):
    busy = job("a", maps=40)
    heavy = replace(job("b"), weight=3.0)
    made, _ = served(tmp_path, [(1.0, [busy, job("b")]), (2.0, (heavy, False))])
    assert states(made) == {"a": JobState.DONE, "b": JobState.DONE}
    assert made._state.jobs["b"].weight == 3.0
    kinds = [one.kind for one in entries(tmp_path)]
    assert kinds.count(EntryKind.CHANGED) == 1
    replayed, _ = served(tmp_path, [], jobs=[busy, heavy], source=made._source, end_s=END_S)
    assert replayed._state.jobs["b"].weight == 3.0


def test_a_job_is_held_while_it_waits_for_another(tmp_path):
    later = replace(job("b"), after=("a",))
    script = [(1.0, [job("a"), later]), (1.5, (later, True)), (30.0, (later, False))]
    made, _ = served(tmp_path, script)
    assert made._state.jobs["b"].started_at_s >= 30.0


def test_a_held_job_is_killed(tmp_path):
    script = [(1.0, [job("a", maps=40), job("b")]), (2.0, (job("b"), True)), (3.0, "b")]
    made, _ = served(tmp_path, script)
    assert states(made)["b"] is JobState.KILLED


def test_a_job_is_changed_and_killed_at_one_instant(tmp_path):
    heavy = replace(job("b"), weight=3.0)
    script = [(1.0, [job("a", maps=40), job("b")]), (2.0, (heavy, False)), (2.0, "b")]
    made, _ = served(tmp_path, script)
    assert states(made)["b"] is JobState.KILLED


def test_jobs_after_jobs_of_one_submission(tmp_path):
    later = replace(job("b"), after=("a",))
    made, _ = served(tmp_path, [(1.0, [later, job("a")])])
    assert states(made) == {"a": JobState.DONE, "b": JobState.DONE}
    jobs = made._state.jobs
    assert jobs["b"].submitted_at_s >= jobs["a"].finished_at_s


def test_no_job_is_the_last_one(tmp_path):
    made, _ = served(tmp_path, [(1.0, [job("a")])])
    assert not made._state.is_closed


def test_it_waits_without_nodes_and_without_end(tmp_path):
    made, intake = served(tmp_path, [(1.0, [job("a")])], engine=FakeEngine(nodes=()))
    assert states(made) == {"a": JobState.QUEUED}
    assert intake.answered == ["a"]


def test_a_restart_goes_on_with_what_was_submitted(tmp_path):
    source = FakeSource(())
    first, _ = served(tmp_path, [(END_S - 1, [job("a", maps=90)])], source=source)
    assert states(first) == {"a": JobState.RUNNING}
    again, intake = served(tmp_path, [(END_S + 1, [])], jobs=[source.jobs["a"]], source=source)
    assert intake.woken == 1
    assert "a" in again._state.jobs


class Changed(FakeSource):
    """Work whose input was changed during the pause."""

    def check_unchanged(self, job_id):
        raise InvalidInput("in.txt has changed", where=f"job {job_id!r}", hint="restore it")


def test_a_job_whose_input_changed_does_not_stop_the_others(tmp_path):
    source = FakeSource(())
    served(tmp_path, [(END_S - 1, [job("a", maps=90)])], source=source)
    changed = Changed(source.jobs.values(), source.disk)
    script = [(END_S + 5, [job("b")])]
    jobs = [source.jobs["a"]]
    made, _ = served(tmp_path, script, jobs=jobs, source=changed, end_s=2 * END_S)
    assert states(made) == {"a": JobState.KILLED, "b": JobState.DONE}
    assert "in.txt has changed" in made._state.jobs["a"].reason


def test_jobs_that_are_over_are_forgotten_and_do_not_come_again(tmp_path):
    script = [(1.0, [job("a")]), (2.0, [job("b", maps=90)]), (3.0, "b"), (50.0, [job("c")])]
    first, intake = served(tmp_path, script, forget_s=20.0)
    assert states(first) == {"c": JobState.DONE}
    assert first._source.forgotten == intake.forgotten == {"a", "b"}

    source = FakeSource(first._source.jobs.values(), first._source.disk)
    again, intake = served(
        tmp_path, [(END_S + 5, [job("d")])], jobs=list(source.jobs.values()), source=source,
        end_s=END_S + 10, forget_s=20.0,
    )  # fmt: skip
    assert states(again) == {"c": JobState.DONE, "d": JobState.DONE}
    assert source.forgotten == intake.forgotten == {"a", "b"}
    assert source.disk.commits == {"a": 1, "c": 1, "d": 1}
    assert source.disk.aborts == {"b": 1}


def test_a_held_job_comes_after_one_that_is_forgotten(tmp_path):
    later = replace(job("b"), after=("a",))
    script = [(1.0, [job("a"), later]), (1.5, (later, True))]
    first, intake = served(tmp_path, script, forget_s=20.0)
    assert states(first) == {}
    assert intake.forgotten == {"a"}
    again, _ = served(
        tmp_path, [(END_S + 5, (later, False))], jobs=[job("a"), later], source=first._source,
        end_s=END_S + 15, held=["b"], forget_s=20.0,
    )  # fmt: skip
    assert states(again) == {"b": JobState.DONE}


def test_a_job_is_kept_as_long_as_its_output_is_not_in_its_place(tmp_path):
    source = FakeSource(())
    source.full = InvalidInput("it may not be written", where="out", hint="grant permission")
    made, intake = served(tmp_path, [(1.0, [job("a")])], source=source, forget_s=5.0)
    assert states(made) == {"a": JobState.DONE}
    assert not intake.forgotten


def test_a_job_is_forgotten_a_while_after_its_end_whatever_the_restarts(tmp_path):
    source, job_a = FakeSource(()), job("a")
    served(tmp_path, [(1.0, [job_a])], source=source, forget_s=80.0)
    for end_s in (70.0, 80.0):
        made, _ = served(tmp_path, [], jobs=[job_a], source=source, end_s=end_s, forget_s=80.0)
        assert states(made) == {"a": JobState.DONE}
    made, _ = served(tmp_path, [], jobs=[job_a], source=source, end_s=95.0, forget_s=80.0)
    assert states(made) == {}
