"""The guards of release and admission: right answers are passed on, wrong ones are refused."""

from typing import Any

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core.events import JobSubmitted
from sluice.core.protocols import AdmissionPolicy, Admit, Defer, Refuse, ReleaseOrder, ReleasePolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.errors import InvalidInput
from sluice.policies.guard import guarded

WHY = Reason(ReasonCode.GAVE_WAY)
NAMES: Any = ["a"]  # of jobs, where a policy has to give jobs


class Releases(ReleasePolicy):
    """Answers what `answer` gives for the jobs."""

    name = "releases"

    def __init__(self, answer):
        super().__init__()
        self._answer = answer

    def release(self, waiting, state, now_s):
        return self._answer(state.jobs)


class Decides(AdmissionPolicy):
    """Answers what it is given."""

    name = "decides"

    def __init__(self, answer):
        super().__init__()
        self._answer = answer

    def decide(self, job, state):
        return self._answer


def released(answer):
    """The release behind a guard where jobs a and b wait, and c is released."""
    scheduler = scheduler_of()
    for name in "abc":
        scheduler.handle(JobSubmitted(0.0, map_reduce(name, 1)))
    state = scheduler.state
    for name in "ab":
        state.waiting[name] = state.jobs[name]
    waiting = [state.jobs[name] for name in "ab"]
    return guarded(Releases(answer), "p").release(waiting, state, 0.0)


@pytest.mark.parametrize("names", ["", "a", "b", "ab", "ba"])
@pytest.mark.parametrize("wake_at_s", [None, 5.0])
def test_jobs_that_wait_are_released_in_the_order_of_the_policy(names, wake_at_s):
    found = released(lambda jobs: ReleaseOrder([jobs[name] for name in names], wake_at_s))

    assert list(names) == [entry.job_id for entry in found.order]
    assert found.wake_at_s == wake_at_s


@pytest.mark.parametrize("names", ["aa", "aba", "c", "ac"])
def test_a_job_is_not_released_twice_nor_if_it_does_not_wait(names):
    with pytest.raises(InvalidInput, match="released a job twice, or one that does not wait"):
        released(lambda jobs: ReleaseOrder([jobs[name] for name in names], None))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: None, "returned None"),
        (lambda _: ("a",), "returned"),
        (lambda _: ReleaseOrder(NAMES, None), "gave 'a'"),
        (lambda _: ReleaseOrder(7, None), "returned 7"),
        (lambda jobs: jobs["none"], "raised KeyError"),
    ],
)
def test_a_wrong_release_is_refused_with_its_policy(answer, said):
    with pytest.raises(InvalidInput, match=rf"policy p: ReleasePolicy\.release {said}"):
        released(answer)


@pytest.mark.parametrize("answer", [Admit(containers=2), Defer(WHY), Refuse(WHY)])
def test_a_decision_is_passed_on(answer):
    state = scheduler_of().state
    assert answer is guarded(Decides(answer), "p").decide(map_reduce("a", 1), state)


@pytest.mark.parametrize("answer", [None, True, Admit])
def test_what_is_no_decision_is_refused(answer):
    state = scheduler_of().state
    with pytest.raises(InvalidInput, match=r"policy p: AdmissionPolicy\.decide returned"):
        guarded(Decides(answer), "p").decide(map_reduce("a", 1), state)
