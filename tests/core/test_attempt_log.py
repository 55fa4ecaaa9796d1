"""The record of attempts: what is read from the columns is what ended."""

import hashlib
import json
import struct
from array import array
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.policies.registered import task_policy
from tests.runs import map_reduce, simulate, totals
from tests.strategies import clusters, job_lists

from sluice.core.record.attempt_log import AttemptLog
from sluice.core.record.packed_rows import notes_within
from sluice.core.transitions import AttemptState
from sluice.model.attempts import Usage
from sluice.model.slot_kind import SlotKind

STORMS = st.sampled_from(
    [
        ("fifo", {}),
        ("fair", {"task_failure": 0.2, "p_slow": 0.2}),
        ("yarn-like", {"node_mtbf_s": 40.0, "node_repair_s": 5.0}),
        ("fair, copies", {"heartbeat_s": 3.0, "p_slow": 0.3}),
        ("dynamicmr, pi, all parts", {"heartbeat_s": 3.0, "node_mtbf_s": 60.0}),
    ]
)
NAMES = (
    "key", "tasks", "slot_kind", "slots", "phase", "node", "launch", "state", "started_at_s",
    "finished_at_s", "width", "usage", "outputs", "detail", "kill_reason", "is_moot", "reserved",
)  # fmt: skip


@pytest.mark.parametrize(
    ("spans", "kept"),
    [
        ([range(12)], [0, 5, 9]),
        ([range(5, 7), range(11, 12)], [5, 9]),
        ([range(3, 4), range(9, 12)], [0, 9]),
        ([range(2, 5), range(9, 12)], [0, 9]),
        ([range(4, 6), range(9, 12)], [0, 5, 9]),
        ([range(8, 12)], [5, 9]),
        ([range(11, 12)], [9]),
    ],
)
def test_a_note_is_kept_if_a_row_is_left_for_which_it_holds(spans, kept):
    """The note of row 0 holds up to row 4, that of row 5 up to row 8, and that of row 9 on."""
    rows, notes = array("I", [0, 5, 9]), array("I", [10, 15, 19])

    assert notes_within(spans, rows, notes) == (
        array("I", kept),
        array("I", [10 + n for n in kept]),
    )


def facts(attempt):
    """Everything about an ended attempt that a reader may ask; NaN as text, for comparing."""
    return [*(getattr(attempt, name) for name in NAMES), str(attempt.shuffled_at_s)]


def plain_digest(log, *, is_totals):
    """The digest, from one row for each task, with the names numbered as they come."""
    phases: dict[Any, int] = {}
    names: dict[Any, int] = {}
    endings: dict[Any, int] = {}
    sha256 = hashlib.sha256(b"columns 1")
    for one in log:
        reason, near = one.reason.code.name, one.locality
        ending = (
            one.state.value, one.slot_kind.value, near and near.name, one.is_copy, reason,
        )  # fmt: skip
        phase = phases.setdefault((one.phase.job_id, one.phase.name), len(phases))
        node = names.setdefault(None if is_totals else one.node.node_id, len(names))
        number = endings.setdefault(ending, len(endings))
        slots = [slot for first, count in one.launch_slots for slot in range(first, first + count)]
        for task, slot in enumerate(slots, one.task):
            instants = one.started_at_s, one.finished_at_s, one.shuffled_at_s
            sha256.update(
                struct.pack("<6I3d", phase, task, one.number, node, slot, number, *instants)
            )
    names_of_all = [len(log) > 0, list(phases), list(names), list(endings)]
    sha256.update(json.dumps(names_of_all).encode())
    return sha256.hexdigest()


@pytest.mark.interpreted
@settings(max_examples=40, deadline=None)
@given(clusters(nodes_max=4), job_lists(), STORMS, st.integers(0, 99))
def test_a_row_reads_as_the_attempt_that_ended(cluster, jobs, storm, seed):
    name, world = storm
    ended = []
    add = AttemptLog.add

    def adds(log, attempt):
        ended.append((attempt, facts(attempt)))
        return add(log, attempt)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AttemptLog, "add", adds)
        state = simulate(cluster, jobs, task_policy(name), seed=seed, **world)
    log = state.closed
    event(f"{name}: {'some' if log._kept else 'no'} attempts are kept as objects")

    assert [known for _, known in ended] == [facts(attempt) for attempt in log]
    assert len(ended) == len(log)
    for outcome, tasks in log.ended.items():
        assert tasks == sum(one.tasks for one, _ in ended if one.state is outcome)
    for kind, busy_s in log.busy_s.items():
        held = [one for one, _ in ended if one.slot_kind is kind]
        assert busy_s == sum(
            one.tasks * one.width * (one.finished_at_s - one.started_at_s) for one in held
        )
    for is_totals in (False, True):
        assert log.digest(is_totals=is_totals) == plain_digest(log, is_totals=is_totals)


def test_it_reads_like_a_sequence():
    log = simulate(totals(2, 1), [map_reduce("j", 3, (1.0, 2.0, 3.0))]).closed
    ends_s = [attempt.finished_at_s for attempt in log]

    assert [1.0, 2.0, 4.0] == ends_s
    assert ends_s[-1] == log[-1].finished_at_s
    assert ends_s[1:] == [attempt.finished_at_s for attempt in log[1:]]
    with pytest.raises(IndexError, match="there are 3 ended attempts"):
        log[3]


def test_an_undone_attempt_stays_done_and_is_marked():
    log = simulate(totals(2, 1), [map_reduce("j", 2, (1.0, 2.0))]).closed
    log.undo(1, "with node n1")

    assert [False, True] == [attempt.is_undone for attempt in log]
    assert ["", "with node n1"] == [attempt.undone_why for attempt in log]
    assert {AttemptState.DONE} == {attempt.state for attempt in log}


@pytest.mark.no_invariants
def test_a_row_is_small():
    """A task distinguished takes 48 bytes, whatever it was as an object."""
    lengths_s = tuple(1.0 + task / 7 for task in range(9000))
    log = simulate(totals(50, 0), [map_reduce("j", 9000, lengths_s)]).closed

    assert {} == log._kept
    assert 9000 // 512 == len(log._chunks)
    assert {512 * 48} == set(map(len, log._chunks))
    assert 9000 == len(log) == log.ended[AttemptState.DONE]
    assert log.busy_s[SlotKind.MAP] == sum(a.finished_at_s - a.started_at_s for a in log)


def test_tasks_started_together_are_no_object():
    log = simulate(totals(12, 0), [map_reduce("j", 30, 3.0)]).closed

    assert {} == log._kept
    assert [12, 12, 6] == [attempt.tasks for attempt in log]
    assert ((0, 12),) == log[1].launch_slots == log[1].slots
    assert 30 == log.ended[AttemptState.DONE]


def test_counted_tasks_have_the_digest_of_tasks_distinguished():
    """A row that stands for several tasks is hashed as a row for each task."""
    alike = simulate(totals(4, 0), [map_reduce("j", 8, 3.0)]).closed
    apart = simulate(totals(4, 0), [map_reduce("j", 8, (3.0,) * 8)]).closed

    assert (2, 8) == (len(alike), len(apart))
    assert alike.digest(is_totals=True) == apart.digest(is_totals=True)
    assert alike.digest(is_totals=True) != alike.digest(is_totals=False)


@pytest.mark.no_invariants
def test_rows_for_several_tasks_may_be_anywhere_among_many():
    """More than fit one chunk; those of `a` are distinguished."""
    jobs = [map_reduce("a", 400, (2.0,) * 400), map_reduce("b", 2400, 3.0, at_s=50.0)]
    log = simulate(totals(3, 0), jobs).closed

    assert {1, 2} == {one.tasks for one in log}
    assert 512 < len(log)
    assert log.digest(is_totals=True) == plain_digest(log, is_totals=True)


def measured(attempts, **more):
    """A record of these attempts with what a node measures of each, and some with more."""
    log = AttemptLog()
    for row, one in enumerate(attempts):
        one.usage, one.outputs = Usage(wall_s=2.0, cpu_s=1.5), (f"map-{row}.tmp",)
        log.add(one)
        for name, value in more.get(f"row_{row}", {}).items():
            setattr(one, name, value)
    return log


@pytest.mark.no_invariants
def test_measures_that_were_read_take_no_room():
    """All else that is known of the attempts stays, such as why one failed."""
    done = list(simulate(totals(2, 0), [map_reduce("j", 6, (1.0, 2.0) * 3)]).closed)
    for one in done:
        one.phase.log_number = one.node.log_number = -1
    log = measured(done, row_1={"detail": "exit code 3"})
    before = [facts(one) for one in log]
    assert set(range(6)) == set(log._kept)

    log.lighten(range(5))
    assert {1, 5} == set(log._kept)
    gone = {NAMES.index("usage"): None, NAMES.index("outputs"): ()}
    for row, (was, one) in enumerate(zip(before, log, strict=True)):
        lighter = [gone.get(at, value) for at, value in enumerate(was)] if row < 5 else was
        assert lighter == facts(one)
    log.undo(0, "with node n1")
    assert log[0].is_undone
