"""The journal's language: whatever the scheduler may be shown comes back as it was."""

import json
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core.commands import Kill, Launch, Wake
from sluice.core.events import Event, FailureKind, JobSubmitted, NodeJoined, TaskFailed, Tick
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record.codec import decision_line, decode, encode
from sluice.model.attempts import AttemptKey, Usage
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Demand, Job, MapOutput, Phase, RunSpec
from sluice.model.lengths import ConstantLengths, ListedLengths, TableLengths, WorkLengths
from sluice.model.queues import Pool, PoolOrder, Queue, QueueOrder
from sluice.model.resources import Resources
from sluice.model.slot_kind import SlotKind

seconds = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
lengths_s = st.floats(min_value=1e-6, max_value=1e6)
texts = st.text(max_size=20)  # lone surrogates too: what a task printed need not be Unicode
names = st.text("abcäö-/. '", min_size=1, max_size=8)
amounts = st.builds(Resources, cpu=seconds, io=seconds, memory=seconds, network=seconds)
lengths = st.one_of(
    lengths_s.map(lambda s: ConstantLengths(s, 2 * s)),
    st.lists(lengths_s, min_size=1).map(lambda each: ListedLengths(tuple(each))),
    st.builds(WorkLengths, fixed_s=lengths_s, work_s=lengths_s, max_factor=st.just(1.5)),
    lengths_s.map(lambda s: TableLengths(((1, s, s), (9, s, 3 * s)))),
)
phases = st.builds(
    Phase,
    name=names,
    kind=st.sampled_from(SlotKind),
    tasks=st.integers(1, 10**8),
    lengths=st.none() | lengths,
    fetch=st.none() | lengths,
    demand=st.builds(Demand, work=amounts, fetch=amounts, fetch_per_map=amounts),
    tasks_max=st.none() | st.integers(1, 9),
    units=lengths_s,
    unit_weight=lengths_s,
)
commands = st.none() | st.lists(texts).map(tuple)
run_specs = st.builds(
    RunSpec,
    folder=names,
    input=st.lists(names).map(tuple),
    output=names,
    mapper=commands,
    combiner=commands,
    reducer=commands,
    python=st.none() | names,
    env=st.lists(st.tuples(names, texts)).map(tuple),
)
jobs = st.builds(
    Job,
    job_id=names,
    pool=names,
    phases=st.tuples(phases)
    | st.tuples(
        phases,
        st.builds(
            Phase,
            name=names,
            kind=st.sampled_from(SlotKind),
            tasks=st.integers(1, 9),
            after=st.just((0,)),
        ),
    ),
    submitted_at_s=st.floats(0, 1e6),
    deadline_at_s=st.none() | st.floats(1e7, 1e8),
    weight=lengths_s,
    map_output=st.none() | st.builds(MapOutput, bytes=seconds, records=seconds),
    profile=st.none() | names,
    run=st.none() | run_specs,
)
weights = st.floats(0.001, 1e6)
queues = st.builds(
    Queue,
    queue_id=names,
    parent=st.none() | names,
    weight=weights,
    order=st.sampled_from(QueueOrder),
    share_max=st.none() | st.floats(1, 1e6),
    quantum_s=st.none() | weights,
    round_s=st.none() | st.just(0.0) | weights,
)
pools = st.builds(
    Pool,
    pool_id=names,
    weight=weights,
    containers_max=st.none() | st.integers(1, 99),
    order=st.sampled_from(PoolOrder),
    queue=st.none() | queues,
)
nodes = st.builds(Node, node_id=names, rack=names, map_slots=st.integers(0, 9), capacity=amounts)
counts = st.integers(0, 2**62)
keys = st.builds(AttemptKey, names, counts, counts, counts)
usages = st.builds(
    Usage,
    *(seconds, seconds, counts, counts, counts, counts, counts, counts),
    fetched=st.lists(st.tuples(names, counts)).map(tuple),
    spills=counts,
    spilled_bytes=counts,
    merge_passes=counts,
)
places = st.lists(st.lists(names).map(tuple)).map(tuple)
by_field = {
    "at_s": seconds,
    "job": jobs,
    "locations": st.dictionaries(st.integers(0, 5), places, max_size=2),
    "alike": st.booleans(),
    "is_last": st.booleans(),
    "is_cordoned": st.booleans(),
    "phase": st.integers(0, 9),
    "task": st.integers(0, 10**6),
    "pools": st.lists(pools, max_size=3).map(tuple),
    "job_id": names,
    "job_ids": st.lists(names, max_size=3).map(tuple),
    "key": keys,
    "fraction": st.floats(0, 1),
    "shuffled_at_s": st.none() | seconds,
    "started_at_s": st.none() | seconds,
    "finished_at_s": seconds,
    "tasks": st.integers(1, 10**8),
    "usage": st.none() | usages,
    "outputs": st.lists(texts).map(tuple),
    "kind": st.sampled_from(FailureKind),
    "detail": texts,
    "cause": texts,
    "blames": st.lists(st.tuples(counts, counts)).map(tuple),
    "node": nodes,
    "node_id": names,
    "reason": texts,
}
# By name, so that an event or a field added to the core fails here until it is drawn as well.
events = st.one_of(
    *(
        st.builds(kind, **{name: by_field[name] for name in kind._fields})
        for kind in get_args(Event)
    )
)


def types_of(value):
    """The classes of a value and of all it holds: equality alone would let 0 pass for False."""
    if isinstance(value, dict):
        return [types_of(list(pair)) for pair in value.items()]
    if isinstance(value, tuple | list):
        return type(value), [types_of(part) for part in value]
    return type(value)


@given(events)
def test_every_event_comes_back_as_it_was(event):
    """The journal is the recovery log: what it changes, a crash changes."""
    again = decode(encode(event))

    assert again == event
    assert types_of(again) == types_of(event)
    assert encode(again) == encode(event)


@given(events)
def test_an_event_is_one_line_of_plain_json(event):
    """So that any tool reads a journal, and that no text of a task can break a row."""
    line = encode(event)

    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line, parse_constant=pytest.fail)["is"] == type(event).__name__


def test_a_line_written_before_a_field_was_added_is_read_with_its_default():
    """A newer release resumes an older one's run."""
    line = '{"is":"TaskFailed","at_s":2.0,"key":{"job_id":"a","phase":0,"task":1,"attempt":1},'

    event = decode(line + '"finished_at_s":1.5,"kind":"exit"}')

    assert event == TaskFailed(2.0, AttemptKey(JobId("a"), 0, 1, 1), 1.5, FailureKind.EXIT)


KEY_IN_FILE = '{"job_id":"a","phase":0,"task":1,"attempt":1}'
ENDED = {"tasks": 1, "usage": None}


@pytest.mark.parametrize(
    ("line", "usual"),
    [
        (f'"TaskStarted","key":{KEY_IN_FILE}', {"started_at_s": None}),
        (f'"TaskProgress","key":{KEY_IN_FILE},"fraction":0.5', {"shuffled_at_s": None}),
        (f'"TaskFinished","key":{KEY_IN_FILE},"finished_at_s":1.5',
         {**ENDED, "shuffled_at_s": None, "outputs": ()}),
        (f'"TaskFailed","key":{KEY_IN_FILE},"finished_at_s":1.5,"kind":"exit"',
         {**ENDED, "detail": "", "blames": (), "cause": ""}),
        ('"JobSubmitted","job":{"job_id":"a","pool":"p","phases":[]}',
         {"locations": {}, "alike": False, "is_last": False}),
        ('"JobKilled","job_id":"a"', {"reason": ""}),
        ('"NodeLost","node_id":"n"', {"reason": ""}),
        ('"NodeCordoned","node_id":"n","is_cordoned":false', {"reason": ""}),
    ],
)  # fmt: skip
def test_what_a_line_leaves_out_has_the_usual_value(line, usual):
    """Journals leave it out, so another default would change the sense of those there are."""
    event = decode(f'{{"is":{line},"at_s":2.0}}')
    given = {"at_s", *re.findall(r'"(\w+)":', re.sub(r"{.*}", "", line))}

    assert usual == {name: value for name, value in event._asdict().items() if name not in given}
    assert types_of(usual) == types_of({name: getattr(event, name) for name in usual})


@pytest.mark.parametrize(
    "line",
    [
        "", "7", "[]", "{}", "null", "{", '{"is":"Job"}', '{"is":"Tick"}',
        '{"is":"Tick","at_s":[]}', '{"is":"Tick","at_s":1,"more":2}',
        '{"is":"NodeJoined","at_s":1,"node":{"node_id":""}}',
        '{"is":"TaskStarted","at_s":1,"key":["a",0,1,1]}', '{"is":"JobSubmitted","at_s":1,"job":3}',
    ],
)  # fmt: skip
def test_what_is_no_event_is_refused_in_the_house_s_own_words(line):
    """A foreign line is bad input, not a traceback."""
    with pytest.raises(InvalidInput):
        decode(line)


def test_nan_is_refused_when_written():
    """JSON has no such number, and an instant that is none would order nothing."""
    with pytest.raises(ValueError, match="JSON"):
        encode(Tick(float("nan")))


def test_a_job_with_defaults_only_is_short():
    """A journal holds one of these per job, and a key per task."""
    phase = Phase(name="map", kind=SlotKind.MAP, tasks=3)

    line = encode(JobSubmitted(0.0, Job(job_id=JobId("a"), pool=PoolId("a"), phases=(phase,))))

    assert line == (
        '{"is":"JobSubmitted","at_s":0.0,"job":{"job_id":"a","pool":"a",'
        '"phases":[{"name":"map","kind":"map","tasks":3}]}}'
    )


def test_a_zero_that_stands_for_a_default_of_another_type_is_shown():
    """`0 == 0.0`, but a replay that computes with the other one may print another digest."""
    node = Node(node_id=NodeId("n"), capacity=Resources(cpu=0))

    again = decode(encode(NodeJoined(1.0, node)))

    assert isinstance(again, NodeJoined)
    assert type(again.node.capacity.cpu) is int


def test_decisions_are_compared_by_what_they_do_and_not_by_why():
    """A reworded reason contradicts no older journal; another slot does."""
    key, first = AttemptKey(JobId("a"), 0, 1, 1), Reason(ReasonCode.FIRST_IN_LINE)
    launch = Launch(key, 1, NodeId("n"), SlotKind.MAP, ((0, 1),), None, is_copy=False, reason=first)
    other = launch._replace(reason=Reason(ReasonCode.BELOW_MIN_SHARE))

    assert decision_line([launch, Wake(1.5)]) == decision_line([other, Wake(1.5)])
    assert decision_line([launch]) != decision_line([launch._replace(slots=((1, 1),))])
    assert decision_line([launch]) != decision_line([])
    assert decision_line([Kill(key, first)]) != decision_line([launch])


def test_what_an_attempt_did_not_measure_is_zero():
    assert not any(Usage())
