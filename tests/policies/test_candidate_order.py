"""The reason that an order of candidates gives for a phase that waits for its turn."""

from types import SimpleNamespace

import pytest

from sluice.core.reasons import ReasonCode
from sluice.model.slot_kind import SlotKind
from sluice.policies.job_order import JobOrder

pytestmark = pytest.mark.interpreted  # the phases are not those of the core

JOBS = {name: object() for name in "abjz"}


def phase(job, pending):
    waiting = SimpleNamespace(count=pending)
    return SimpleNamespace(job=JOBS[job], kind=SlotKind.MAP, pending=waiting)


class Listed(JobOrder):
    """Candidates in a given order."""

    name = "listed"

    def __init__(self, *phases):
        self.phases = phases

    def candidates(self, kind):
        return iter(self.phases)

    def job_place(self, job, kind):
        return ()

    def start_reason(self, phase):
        raise AssertionError("nothing starts")


@pytest.mark.parametrize(
    ("ahead", "code", "numbers"),
    [
        ("", ReasonCode.SLOTS_BUSY, {"slots": 3, "kind": "map"}),
        ("a4", ReasonCode.BEHIND_IN_LINE, {"ahead": 1, "tasks": 4}),
        ("a4 a5", ReasonCode.BEHIND_IN_LINE, {"ahead": 1, "tasks": 9}),
        ("a4 a5 b2", ReasonCode.BEHIND_IN_LINE, {"ahead": 2, "tasks": 11}),
        ("a4 j7 b2", ReasonCode.BEHIND_IN_LINE, {"ahead": 2, "tasks": 6}),
        ("j7", ReasonCode.SLOTS_BUSY, {"slots": 3, "kind": "map"}),
    ],
)
def test_it_counts_the_jobs_ahead_and_all_their_tasks(ahead, code, numbers):
    """The job j asks: its own phases are not ahead of it, and what is behind does not count."""
    asked = phase("j", 1)
    before = [phase(name, int(tasks)) for name, tasks in ahead.split()]
    state = SimpleNamespace(slots={SlotKind.MAP: 3})
    found = Listed(*before, asked, phase("z", 99)).explain(asked, state, 0.0)

    assert (found.code, dict(found.numbers)) == (code, numbers)
