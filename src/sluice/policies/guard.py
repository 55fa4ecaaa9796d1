"""Checks the answers of policies from outside the package.

A guard wraps such a policy. An exception or a wrong answer of the policy becomes an InvalidInput
that names the policy, the base class and the method. Policies of the package need no
guard: a wrong answer of theirs is a bug and raises as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from sluice.core.entries import JobEntry
from sluice.core.protocols import (
    AdmissionPolicy,
    Admit,
    Defer,
    Policy,
    PoolPolicy,
    Refuse,
    ReleaseOrder,
    ReleasePolicy,
    TaskPolicy,
)
from sluice.core.state import ClusterState
from sluice.model.errors import SluiceError
from sluice.model.job import Job
from sluice.policies.guarded_tasks import Checker, GuardedTasks
from sluice.policies.memory import Memory


class _Guard:
    """The part that the guards of admission and of release have in common."""

    base: ClassVar[type[Policy]]
    inner: Policy

    def __init__(self, inner: Policy, label: str) -> None:
        super().__init__()
        self.inner = inner
        self._checker = Checker(label, self.base)

    def saved(self) -> Memory | None:
        return self._checker.call("saved", self.inner.saved)

    def restored(self, saved: Memory, state: ClusterState) -> None:
        self.inner.restored(saved, state)

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        self._checker.call("forget", lambda: self.inner.forget(jobs))

    def report(self) -> Mapping[str, object]:
        return self._checker.reported(self.inner)


class GuardedRelease(_Guard, ReleasePolicy):
    """A release policy whose answers are checked."""

    base = ReleasePolicy
    inner: ReleasePolicy

    def release(
        self, waiting: Sequence[JobEntry], state: ClusterState, now_s: float
    ) -> ReleaseOrder:
        checker = self._checker
        try:  # as `Checker.call`, for it is asked at each instant while a job waits
            answer = self.inner.release(waiting, state, now_s)
        except SluiceError:
            raise
        except Exception as error:
            raise checker.raised("release", error) from error
        checker.is_a("release", answer, ReleaseOrder)
        if answer.order == ():  # nothing, as at most instants
            return answer
        order = tuple(checker.listed("release", answer.order, JobEntry))
        twice = len(set(order)) < len(order)
        if twice or any(entry.job_id not in state.waiting for entry in order):
            raise checker.wrong("release", "released a job twice, or one that does not wait")
        return ReleaseOrder(order, answer.wake_at_s)


class GuardedAdmission(_Guard, AdmissionPolicy):
    """An admission policy whose answers are checked."""

    base = AdmissionPolicy
    inner: AdmissionPolicy

    def decide(self, job: Job, state: ClusterState) -> Admit | Defer | Refuse:
        answer = self._checker.call("decide", lambda: self.inner.decide(job, state))
        self._checker.is_a("decide", answer, Admit, Defer, Refuse)
        return answer

    @property
    def machines(self) -> PoolPolicy | None:
        return self.inner.machines

    def round_at_s(self, now_s: float) -> float | None:
        return self._checker.call("round_at_s", lambda: self.inner.round_at_s(now_s))


def guarded(policy: Policy, label: str) -> Policy:
    """The policy with a guard around it. label: what messages call it."""
    if isinstance(policy, TaskPolicy):
        return GuardedTasks(policy, label)
    if isinstance(policy, ReleasePolicy):
        return GuardedRelease(policy, label)
    if isinstance(policy, AdmissionPolicy):
        return GuardedAdmission(policy, label)
    return policy
