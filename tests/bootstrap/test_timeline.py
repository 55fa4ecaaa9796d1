"""A tile of what ran where, against a sum over each attempt and cell."""

import base64
import random
from types import SimpleNamespace

import pytest

from sluice.bootstrap.service.timeline import FAILED, FULL, Timeline
from sluice.bootstrap.service.views import OTHER_TENANT
from sluice.core.transitions import AttemptState
from sluice.model.errors import InvalidInput

START_S = 1_800_000_000.0
SLOTS = {"a": 2, "b": 4, "c": 1}


def instant(after_s):
    from sluice.bootstrap.service.futures import instant as rfc3339

    return rfc3339(START_S + after_s)


def attempt(draw, number, *, ends=True):
    started_s = draw.choice([draw.uniform(-20, 100), float(draw.randint(0, 90))])
    return SimpleNamespace(
        key=number,
        started_at_s=started_s,
        finished_at_s=started_s + draw.choice([0.01, 5.0, draw.uniform(0, 60)]) if ends else None,
        tasks=draw.randint(1, 2),
        state=draw.choice([AttemptState.DONE, AttemptState.FAILED, AttemptState.LOST]),
        phase=SimpleNamespace(job_id=draw.choice(["j1", "j2", "j3"])),
        node=SimpleNamespace(node_id=draw.choice(list(SLOTS))),
    )


def job(name):
    tenant = "red" if name != "j3" else "blue"
    submitted = SimpleNamespace(job=SimpleNamespace(pool=f"q-{name}"))
    return SimpleNamespace(workload=SimpleNamespace(tenant=tenant), submitted=submitted)


def replica(closed, running, now_s):
    nodes = {
        name: SimpleNamespace(node=SimpleNamespace(map_slots=slots, reduce_slots=0, containers=0))
        for name, slots in SLOTS.items()
    }
    running = {each.key: each for each in running}
    return SimpleNamespace(
        state=SimpleNamespace(closed=closed, running=running, nodes=nodes),
        jobs={name: job(name) for name in ("j1", "j2", "j3")},
        now_s=now_s,
        wall_s=lambda at_s: START_S + at_s,
    )


def expected(each_of, names, slots, span, columns):
    """The cells by definition: each attempt's overlap with each cell."""
    (from_s, to_s), cells = span, {}
    width = (to_s - from_s) / columns
    for row, name in enumerate(names):
        for column in range(columns):
            low, high = from_s + column * width, from_s + (column + 1) * width
            busy, is_bad = 0.0, False
            for owner, start_s, end_s, tasks, bad in each_of:
                if owner != name:
                    continue
                busy += tasks * max(0.0, min(high, end_s) - max(low, start_s))
                is_last = column == columns - 1 and end_s == to_s
                inside = start_s < to_s and end_s > from_s
                is_bad |= bad and inside and (low <= end_s < high or is_last)
            cells[row, column] = (busy / width / slots[row], is_bad)
    return cells


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("by", ["node", "queue", "job"])
def test_a_tile_is_the_sum_over_its_attempts(seed, by):
    draw = random.Random(seed)
    closed = [attempt(draw, number) for number in range(draw.randint(0, 40))]
    running = [attempt(draw, 100 + number, ends=False) for number in range(draw.randint(0, 5))]
    now_s = 101.0
    timeline = Timeline(replica(closed, running, now_s), None, None)
    span, columns = (10.0, draw.choice([50.0, 110.0])), draw.choice([1, 7, 40])
    tenant = draw.choice([None, "red"])
    found = timeline.tile(instant(span[0]), instant(span[1]), tenant, by=by, columns=columns)

    def owner(each):
        name = each.phase.job_id
        if by == "node":
            return each.node.node_id
        if tenant == "red" and name == "j3":
            return OTHER_TENANT
        return name if by == "job" else f"q-{name}"

    each_of = [
        (owner(one), one.started_at_s, one.finished_at_s, one.tasks,
         one.state is not AttemptState.DONE)
        for one in closed
    ] + [(owner(one), one.started_at_s, now_s, one.tasks, False) for one in running]  # fmt: skip
    slots = [SLOTS[n] if by == "node" else sum(SLOTS.values()) for n in found["rows"]]
    cells = base64.b64decode(found["cells"])
    assert len(cells) == len(found["rows"]) * columns
    assert by != "node" or found["rows"] == sorted(SLOTS)
    for (row, column), (share, is_bad) in expected(
        each_of, found["rows"], slots, span, columns
    ).items():
        cell = cells[row * columns + column]
        assert bool(cell & FAILED) == is_bad
        assert abs((cell & FULL) - min(1.0, share) * FULL) <= 1.001
        assert ((cell & FULL) > 0) == (share > 1e-9)


def test_rows_are_a_part_of_all():
    draw = random.Random(1)
    timeline = Timeline(replica([attempt(draw, n) for n in range(9)], [], 101.0), None, None)
    whole = timeline.tile(instant(0), instant(100), None, columns=5)
    part = timeline.tile(instant(0), instant(100), None, first=1, rows=1, columns=5)
    assert part["rows"] == whole["rows"][1:2] == ["b"]
    assert part["total"] == 3
    cells = base64.b64decode(whole["cells"])
    assert base64.b64decode(part["cells"]) == cells[5:10]


def test_a_span_that_ends_before_it_begins_is_refused():
    timeline = Timeline(replica([], [], 1.0), None, None)
    with pytest.raises(InvalidInput, match="ends before it begins"):
        timeline.tile(instant(10), instant(10), None)


def test_too_many_attempts_are_not_listed():
    draw = random.Random(3)
    many = [attempt(draw, number) for number in range(5001)]
    for each in many:
        each.started_at_s, each.finished_at_s = 1.0, 2.0
    timeline = Timeline(replica(many, [], 101.0), None, None)
    with pytest.raises(InvalidInput, match="5001 attempts"):
        timeline.attempts(instant(0), instant(10), None)
