"""Traces: the fast formatting equals JSON, digests identify runs, and files have all lines."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reporting.run.run_results import paper_result, stormy_result
from tests.runs import map_reduce

from sluice.core.commands import Launch
from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry, PoolEntry
from sluice.core.indexes.free_slots import SlotSpan
from sluice.core.indexes.pending import PendingTasks
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record.attempt_log import AttemptLog
from sluice.core.transitions import ATTEMPT_ENDS
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Locality, Node
from sluice.model.errors import InvalidInput
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind
from sluice.reporting.run.trace import FIELDS, digest, lines, records, write_trace

ids = st.text(min_size=1, max_size=12)
instants_s = st.one_of(
    st.floats(0, 1e18, allow_nan=False), st.integers(0, 10**6), st.just(5e-324), st.just(0.1 + 0.2)
)


def span_of(intervals):
    """Return the span that an attempt with these slots holds."""
    span = None
    for first, count in reversed(intervals):
        before = SlotSpan(first, count)
        before.more, span = span, before
    return span


@st.composite
def attempts(draw):
    """An ended attempt of one or several tasks, with random values of all fields."""
    job = map_reduce("j", 9, 1.0, 9, 1.0)
    entry = JobEntry(job, 0, PoolEntry(Pool(pool_id="p"), 0), alike=True)
    entry.job_id = draw(ids)
    index = draw(st.integers(0, 1))
    phase = PhaseEntry(entry, job.phases[index], index, PendingTasks(9), 1.0, 0)
    node = NodeEntry(Node(node_id="n", map_slots=9, reduce_slots=9), 0)
    node.node_id = draw(ids)
    slots = tuple(draw(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 3)), min_size=1)))
    launch = Launch(
        AttemptKey(entry.job_id, phase.index, draw(st.integers(0, 9)), draw(st.integers(1, 4))),
        sum(length for _, length in slots),
        node.node_id,
        draw(st.sampled_from(SlotKind)),
        slots,
        draw(st.sampled_from([None, *Locality])),
        draw(st.booleans()),
        Reason(draw(st.sampled_from(ReasonCode))),
    )
    attempt = Attempt(
        phase, node, draw(instants_s), launch.key.task, launch.key.attempt, launch.tasks,
        launch.slot_kind, span_of(slots), launch.locality, launch.is_copy, launch.reason,
    )  # fmt: skip
    attempt.finished_at_s = draw(instants_s)
    attempt.shuffled_at_s = draw(st.one_of(st.just(float("nan")), instants_s))
    attempt.state = draw(st.sampled_from(sorted(ATTEMPT_ENDS, key=lambda state: state.value)))
    return attempt


@given(st.lists(attempts(), max_size=5), st.booleans())
def test_lines_are_what_json_would_write(some, is_totals):
    """Formatting by hand is for speed only; the text does not differ."""
    plain = [
        json.dumps(record, separators=(",", ":")) for record in records(some, is_totals=is_totals)
    ]

    assert plain == list(lines(some, is_totals=is_totals))
    assert all(tuple(json.loads(line)) == FIELDS for line in plain)


def test_a_group_of_alike_tasks_becomes_one_line_each():
    """Tasks are numbered on, and take the slots of the intervals in their order."""
    found = [json.loads(line) for line in paper_result().trace()]
    maps = [(line["task"], line["slot_index"]) for line in found if line["job"] == "J1"][:8]

    assert [(slot, slot) for slot in range(8)] == maps
    assert 40 + 16 == len(found)


def test_totals_have_no_node():
    assert {None} == {json.loads(line)["node"] for line in paper_result().trace()}
    assert None not in {json.loads(line)["node"] for line in stormy_result().trace()}


def test_a_stormy_run_has_every_outcome():
    """Failed and lost attempts are in the trace too."""
    outcomes = {json.loads(line)["outcome"] for line in stormy_result().trace()}

    assert {"done", "failed", "lost"} <= outcomes


def recorded(some):
    """A record of its own of these attempts, in which nothing is numbered yet."""
    log = AttemptLog()
    for attempt in some:
        attempt.phase.log_number = attempt.node.log_number = -1
    for attempt in some:
        log.add(attempt)
    return log


@given(st.lists(attempts(), max_size=5, unique_by=id), st.booleans())
def test_a_digest_changes_with_each_field_of_a_line(some, is_totals):
    """Records with equal lines have equal digests, and records with other lines have others."""
    log, again, other = (recorded(some) for some in (some, some, some[:-1]))

    same, one = list(lines(log, is_totals=is_totals)), digest(log, is_totals=is_totals)
    assert same == list(lines(again, is_totals=is_totals))
    assert one == digest(again, is_totals=is_totals)
    assert re.fullmatch("sha256:[0-9a-f]{64}", one)
    assert (one == digest(other, is_totals=is_totals)) == (not some)


def test_the_same_seed_gives_the_same_digest_and_another_does_not():
    assert stormy_result(1).digest == stormy_result(1).digest
    assert stormy_result(1).digest != stormy_result(2).digest


def test_a_file_holds_the_lines_each_with_its_end(tmp_path):
    path = tmp_path / "run.jsonl"
    write_trace(path, paper_result().trace())

    assert list(paper_result().trace()) == path.read_text("ascii").splitlines()
    assert path.read_bytes().endswith(b"}\n")


def test_an_empty_trace_is_an_empty_file(tmp_path):
    write_trace(tmp_path / "run.jsonl", [])

    assert b"" == (tmp_path / "run.jsonl").read_bytes()


def test_a_path_that_cannot_be_used_is_named(tmp_path):
    for path in (tmp_path / "none" / "run.jsonl", tmp_path, "a\0b"):
        with pytest.raises(InvalidInput, match="cannot be written"):
            write_trace(path, [])
