"""Checks the answers of task policies from outside the package: see `guard`.

A policy of a user answers by itself, so each answer is looked at: `GuardedTasks`. A scheduler of
ours with parts of a user answers with what is ours: there only what a part raises is caught, by
`GuardedParts`. Both name the policy, the method and the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from mypy_extensions import i64

from sluice.core.checks import WrongDecision
from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.indexes.by_kind import KINDS
from sluice.core.indexes.open_nodes import first_of
from sluice.core.offers import Offer
from sluice.core.protocols import Assignment, Policy, TaskPolicy
from sluice.core.reasons import Reason
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.slot_kind import SlotKind
from sluice.policies.decorator import Decorator
from sluice.policies.memory import Memory

T = TypeVar("T")


class Checker:
    """Calls methods of one policy. label: what messages call the policy."""

    def __init__(self, label: str, base: type[Policy]) -> None:
        self.label = label
        self.base = base.__name__

    def call(self, method: str, ask: Callable[[], T]) -> T:
        """The answer; what the policy raises becomes an InvalidInput."""
        try:
            return ask()
        except SluiceError:
            raise
        except Exception as error:
            raise self.raised(method, error) from error

    def raised(self, method: str, error: Exception) -> InvalidInput:
        """The error for an exception, with the line that it came from."""
        trace, last = error.__traceback__, None
        while trace is not None:
            last, trace = trace, trace.tb_next
        line = f" (line {last.tb_lineno} of {last.tb_frame.f_code.co_filename})" if last else ""
        return self.wrong(method, f"raised {type(error).__name__}: {error}{line}")

    def wrong(self, method: str, what: str, hint: str = "") -> InvalidInput:
        """The error for a wrong answer."""
        return InvalidInput(f"{self.base}.{method} {what}", where=f"policy {self.label}", hint=hint)

    def is_a(self, method: str, answer: object, *kinds: type[T]) -> T:
        """The answer. Raises unless it is of one of the kinds."""
        if not isinstance(answer, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise self.wrong(method, f"returned {answer!r:.80}", f"return a value of type {names}")
        return answer

    def listed(self, method: str, answer: Iterable[T], item: type[Any]) -> Iterator[T]:
        """The items of an answer, one at a time; each must be of the kind."""
        self.is_iterable(method, answer, item)
        walk = iter(answer)
        while True:
            try:
                one = next(walk)
            except StopIteration:
                return
            except SluiceError:
                raise
            except Exception as error:
                raise self.raised(method, error) from error
            self.is_item(method, one, item)
            yield one

    def is_iterable(self, method: str, answer: object, item: type[Any]) -> None:
        """Raise unless the answer can be walked through."""
        if not hasattr(answer, "__iter__"):  # a quarter of the time that isinstance() takes
            hint = f"return or yield values of type {item.__name__}; none is `()`"
            raise self.wrong(method, f"returned {answer!r:.80}", hint)

    def is_item(self, method: str, one: object, item: type[Any]) -> None:
        """Raise unless an item of an answer is of the kind."""
        if not isinstance(one, item):
            hint = f"yield values of type {item.__name__}"
            raise self.wrong(method, f"gave {one!r:.80}", hint)

    def reported(self, policy: Policy) -> Mapping[str, object]:
        """Return the part that the policy adds to the document of a run."""
        answer = self.call("report", policy.report)
        self.is_a("report", answer, Mapping)  # type: ignore[type-abstract]  # only looked at
        return answer


class GuardedTasks(Decorator):
    """A task policy whose answers are checked."""

    def __init__(self, inner: TaskPolicy, label: str) -> None:
        super().__init__(inner)
        # Compiled code would refuse an answer of a wrong type before it can be reported.
        self._asked: Any = inner
        self._checker = Checker(label, TaskPolicy)
        # `fill` of the base class asks `assign`, and its `next_node` asks `could_use`.
        own_fill = _nearest(type(inner), "assign", "fill")
        self._answers = own_fill is TaskPolicy or "fill" not in vars(own_fill)
        self._names_slots = "next_node" not in vars(_nearest(type(inner), "could_use", "next_node"))
        # What the base class answers by itself needs no check, and is not asked for.
        self._is_usual_node = _leaves_to_base(
            inner, "could_use", "next_node", "wants_offer", "has_any_slot"
        )
        self._never_wakes = _leaves_to_base(inner, "wake_at_s")

    def attach(self, state: ClusterState) -> None:
        self._checker.call("attach", lambda: self._asked.attach(state))

    def saved(self) -> Memory | None:
        saved: Memory | None = self._checker.call("saved", self._asked.saved)
        return saved

    def restored(self, saved: Memory, state: ClusterState) -> None:
        self._asked.restored(saved, state)

    def unfinished_jobs(self) -> Iterable[JobEntry]:
        found: Iterable[JobEntry] = self._checker.call(
            "unfinished_jobs", self._asked.unfinished_jobs
        )
        return found

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        self._checker.call("forget", lambda: self._asked.forget(jobs))

    def queues_changed(self, state: ClusterState) -> None:
        self._checker.call("queues_changed", lambda: self._asked.queues_changed(state))

    def fill(self, offer: Offer) -> None:
        method = "assign" if self._answers else "fill"
        try:
            if self._answers:
                self._start_answers(offer)
            else:
                self._asked.fill(offer)
        except WrongDecision as error:
            raise self._checker.wrong(method, f"asked for a wrong start: {error}") from error
        except SluiceError:
            raise
        except Exception as raised:
            raise self._checker.raised(method, raised) from raised

    def _start_answers(self, offer: Offer) -> None:
        """Start what `assign` answers, one after the other; each start checks itself."""
        answer: Any = self._asked.assign(offer.node, offer.state, offer.now_s)
        self._checker.is_iterable("assign", answer, Assignment)
        for one in answer:
            if not (isinstance(one, Assignment) and isinstance(one.phase, PhaseEntry)):
                self._checker.is_item("assign", one, Assignment)
                self._checker.is_a("assign", one.phase, PhaseEntry)
            phase, slot_kind, reason, tasks, copy_of, reserve = one
            offer.start(phase, slot_kind, reason, tasks, copy_of, reserve)

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        reason = self._checker.call("explain", lambda: self._asked.explain(phase, state, now_s))
        return self._checker.is_a("explain", reason, Reason)

    def explain_copy(self, attempt: Attempt, state: ClusterState, now_s: float) -> Reason:
        checker, inner = self._checker, self._asked
        reason = checker.call("explain_copy", lambda: inner.explain_copy(attempt, state, now_s))
        return checker.is_a("explain_copy", reason, Reason)

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        answer: Any = self._checker.call("kills", lambda: self._asked.kills(state, now_s))
        if answer == ():
            return
        one: Any
        for one in self._checker.listed("kills", answer, tuple):
            if len(one) != 2 or one[0] not in state.running or not isinstance(one[1], Reason):  # noqa: PLR2004  # a pair
                what = f"gave {one!r:.80}, which is not a running attempt's key and a Reason"
                raise self._checker.wrong("kills", what)
            yield one

    def wants_offer(self, state: ClusterState) -> bool:
        return bool(self._checker.call("wants_offer", lambda: self._asked.wants_offer(state)))

    def could_use(self, slot_kind: SlotKind, state: ClusterState) -> bool:
        ask = self._asked.could_use
        return bool(self._checker.call("could_use", lambda: ask(slot_kind, state)))

    def next_node(self, index: int, state: ClusterState) -> int:
        if self._is_usual_node:
            return _next_node(index, state)
        if self._names_slots:
            return TaskPolicy.next_node(self, index, state)  # by what `could_use` answers
        answer = self._checker.call("next_node", lambda: self._asked.next_node(index, state))
        found = self._checker.is_a("next_node", answer, int)
        if found != -1 and not index <= found < len(state.node_at):
            nodes = f"give -1 or a number from {index} to {len(state.node_at) - 1}"
            raise self._checker.wrong("next_node", f"returned {found}", nodes)
        return found

    def ever(self, method: str) -> bool:
        return self.inner.ever(method)

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        if self._never_wakes:
            return None
        at_s: Any = self._checker.call("wake_at_s", lambda: self._asked.wake_at_s(state, now_s))
        return self._instant(at_s)

    def _instant(self, at_s: Any) -> float | None:  # noqa: ANN401  # to be checked
        if at_s is None:
            return None
        if not isinstance(at_s, (int, float)):
            what = f"returned {at_s!r:.80}"
            raise self._checker.wrong("wake_at_s", what, "return seconds, or None")
        return float(at_s)

    def report(self) -> Mapping[str, object]:
        return self._checker.reported(self.inner)


class GuardedParts(GuardedTasks):
    """A scheduler of ours with parts from outside: what a part raises is reported.

    All that each start asks is a plain call: with an `Any` in between and a function around it, a
    start takes a tenth more.
    """

    def fill(self, offer: Offer) -> None:
        try:
            self.inner.fill(offer)
        except WrongDecision as error:
            raise self._checker.wrong("fill", f"asked for a wrong start: {error}") from error
        except SluiceError:
            raise
        except Exception as error:
            raise self._checker.raised("fill", error) from error

    def next_node(self, index: int, state: ClusterState) -> int:
        try:
            return self.inner.next_node(index, state)
        except SluiceError:
            raise
        except Exception as error:
            raise self._checker.raised("next_node", error) from error

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        try:
            return self._instant(self.inner.wake_at_s(state, now_s))
        except SluiceError:
            raise
        except Exception as error:
            raise self._checker.raised("wake_at_s", error) from error

    def wants_offer(self, state: ClusterState) -> bool:
        try:
            return self.inner.wants_offer(state)
        except SluiceError:
            raise
        except Exception as error:
            raise self._checker.raised("wants_offer", error) from error


def _nearest(policy: type[TaskPolicy], *methods: str) -> type[Any]:
    """The class of a policy that defines one of the methods: its own, or the nearest base."""
    return next(one for one in policy.__mro__ if not vars(one).keys().isdisjoint(methods))


def _leaves_to_base(policy: TaskPolicy, *methods: str) -> bool:
    """Whether a policy has each of the methods from the base class of all policies."""
    return all(getattr(type(policy), one) is getattr(TaskPolicy, one) for one in methods)


def _next_node(index: i64, state: ClusterState) -> i64:
    """The first node from an index on with a free slot of a kind of task that waits; or -1."""
    best: i64 = -1
    for kind in KINDS:
        if state.backlogs[kind].count:
            best = first_of(best, state.open_nodes.of(kind).first_from(index))
    return best
