"""Karma's credits in continuous time, among the children of one queue.

In each second a child receives alpha * share credits, pays 1 for each unit that it runs above its
guaranteed part (1 - alpha) * share, and earns 1 for each unit of that part that others use. While
all that is donated is used, this adds up to share minus running units for borrowers and for donors
alike: the credit of a child is its part of what was supplied minus what it has used. Nothing has
to be booked for that, so that a choice costs the same however many children there are.

Only where less is borrowed than donated, which leaves containers idle, do donors earn less than
they donate. That is booked once in a quantum, as in the published algorithm: what was borrowed in
it goes to the poorest donors first.
Source: ltyarn spec, section 8.4; Vuppalapati et al., "Karma", OSDI 2023.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from sluice.policies.ltyarn.usage import Usage

QUANTUM_S: Final = 1.0
_TINY: Final = 1e-9  # sums of units are rounded
_LATER_S: Final = 1e-6  # the next look at a child whose credit is 0 but for rounding

# What a book remembers of all children together; the rest is what `saved` returns.
SUMS: Final = (
    "_at_s", "_borrowed", "_borrowing", "_donated", "_donating", "_first_at_s", "_is_measured",
    "_is_new", "_quantum_at_s", "_supplied", "_supply", "_weights",
)  # fmt: skip


class CreditHolder(Protocol):
    """The facts about a child that a book needs."""

    weight: float
    index: int
    registered_at_s: float
    usage: Usage


H = TypeVar("H", bound=CreditHolder)


class _Account:
    """One child. base: its credits besides its part of the supply and what it has used.

    running: units since at_s.  donated: unit-seconds until then, in the quantum of that number.
    due_s: when its credit is looked at again; None if that need not be.
    """

    __slots__ = ("at_s", "base", "donated", "due_s", "quantum", "running")

    def __init__(self, base: float, running: float, at_s: float) -> None:
        self.base = base
        self.running = running
        self.at_s = at_s
        self.donated = 0.0
        self.quantum = 0
        self.due_s: float | None = None


class CreditBook(Generic[H]):
    """Credits by child, in unit-seconds.

    initial: for each unit of weight; None if credits never run out.
    """

    def __init__(self, alpha: float, initial: float | None) -> None:
        self._alpha = alpha
        self._initial = initial
        self._supply = 0.0  # units that the queue divides
        self._weights = 0.0
        self._first_at_s: float | None = None  # when the first child registered
        self._accounts: dict[H, _Account] = {}
        self._at_s = 0.0  # the sums below hold until then
        self._supplied = 0.0  # unit-seconds for each unit of weight
        self._donated = self._borrowed = 0.0  # unit-seconds of this quantum
        self._donating = self._borrowing = 0.0  # units
        self._is_measured = True  # whether these are known for the present shares
        self._is_new = False  # whether children have come or gone since the last settlement
        self._quantum = 0
        self._quantum_at_s = 0.0
        self._due: list[tuple[float, int, H]] = []
        self._pushed = 0

    # --- children ---------------------------------------------------------------------------------

    def join(self, child: H, now_s: float) -> None:
        """A newcomer starts with the average credit, for its weight; the first with `initial`.

        What earlier runs have counted was paid then.
        """
        self._book(now_s)
        start = self._initial or 0.0
        if self._first_at_s is None:
            self._first_at_s = child.registered_at_s
        elif self._first_at_s < child.registered_at_s and self._weights:
            start = sum(self.credit_of(one, now_s) for one in self._accounts) / self._weights
        base = child.weight * (start - self._supplied)
        self._accounts[child] = _Account(base, child.usage.rate, now_s)
        self._weights += child.weight
        self._is_measured, self._is_new = False, True

    def leave(self, child: H, now_s: float) -> None:
        """The child is gone, with its credit."""
        if child in self._accounts:
            self._book(now_s)
            del self._accounts[child]
            self._weights = sum(one.weight for one in self._accounts)
            self._is_measured, self._is_new = False, True

    def follow(self, child: H, now_s: float) -> None:
        """Follow a change of what the child runs."""
        self._pass_time(now_s)
        self._measure()
        account = self._accounts[child]
        guaranteed = self.guaranteed(child)
        account.donated = self._donated_by(child, now_s)
        account.quantum = self._quantum
        account.at_s = now_s
        self._count(guaranteed - account.running, -1)
        account.running = child.usage.rate
        self._count(guaranteed - account.running, 1)
        self._watch(child, now_s)

    # --- memory -----------------------------------------------------------------------------------

    def saved(self, place_of: Mapping[H, int]) -> dict[str, Any]:
        """The book as JSON values. place_of: numbers of the children."""
        due = sorted(entry for entry in self._due if self._is_due(entry[2], entry[0]))
        return {
            "accounts": [
                [
                    place_of[child], one.base, one.running, one.at_s,
                    one.donated if one.quantum == self._quantum else 0.0,
                ]
                for child, one in self._accounts.items()
            ],
            "due": [[at_s, place_of[child]] for at_s, _, child in due],
        }  # fmt: skip

    def restored(self, saved: Mapping[str, Any], children: Sequence[H]) -> None:
        """Take back what was saved. children: by their places."""
        self._accounts = {}
        for place, base, running, at_s, donated in saved["accounts"]:
            account = self._accounts[children[place]] = _Account(base, running, at_s)
            account.donated, account.quantum = donated, self._quantum
        self._due, self._pushed = [], 0
        for at_s, place in saved["due"]:
            self._note(children[place], at_s)

    # --- questions --------------------------------------------------------------------------------

    def guaranteed(self, child: H) -> float:
        """Units that the child receives before others may borrow."""
        return (1.0 - self._alpha) * self._supply * child.weight / self._weights

    def credit_of(self, child: H, now_s: float) -> float:
        """Return what the child can pay with.

        What it donates counts as earned until that is booked.
        """
        supplied = self._supplied
        if self._weights:
            supplied += (now_s - self._at_s) * self._supply / self._weights
        base = self._accounts[child].base
        return base + child.weight * supplied - child.usage.counted(now_s)

    def spent(self, child: H, now_s: float) -> float:
        """A number that is the greater the poorer a child is, for its weight.

        Its running tasks count with their assumed length. It does not fall as time passes.
        """
        return child.usage.used(now_s) - self._accounts[child].base

    def may_borrow(self, child: H, now_s: float) -> bool:
        """Whether the child has credits to pay with."""
        return self._initial is None or self.credit_of(child, now_s) > 0

    # --- time -------------------------------------------------------------------------------------

    def settle(self, now_s: float, supply: float) -> bool:
        """Bring the book to an instant. supply: units from now on.

        Returns whether guaranteed parts have changed.
        """
        is_changed = supply != self._supply or self._is_new
        if is_changed or now_s >= self._quantum_at_s + QUANTUM_S:
            self._book(now_s)
        if is_changed:
            self._supply = supply
            self._is_measured = self._is_new = False
            self._measure()
            for child in self._accounts:
                self._watch(child, now_s)
        return is_changed

    def recovered(self, now_s: float) -> Iterator[H]:
        """Children that had no credit, and may have some again."""
        while self._due and self._due[0][0] <= now_s:
            due_s, _, child = heapq.heappop(self._due)
            if self._is_due(child, due_s):
                self._accounts[child].due_s = None
                self._watch(child, now_s)
                yield child

    def _watch(self, child: H, now_s: float) -> None:
        """Note when a child without credit has some again, as it runs less than its share."""
        if self._initial is None:
            return
        credit = self.credit_of(child, now_s)
        rate = self._supply * child.weight / self._weights - child.usage.rate
        if credit <= 0 < rate:
            self._note(child, now_s + max(_LATER_S, -credit / rate))

    def _note(self, child: H, due_s: float) -> None:
        self._accounts[child].due_s = due_s
        self._pushed += 1
        heapq.heappush(self._due, (due_s, self._pushed, child))

    def _is_due(self, child: H, at_s: float) -> bool:
        """Whether an entry of that instant is not void."""
        account = self._accounts.get(child)
        return account is not None and account.due_s == at_s

    def _pass_time(self, now_s: float) -> None:
        length_s = now_s - self._at_s
        if length_s <= 0:
            return
        self._measure()
        if self._weights:
            self._supplied += length_s * self._supply / self._weights
        self._donated += self._donating * length_s
        self._borrowed += self._borrowing * length_s
        self._at_s = now_s

    def _measure(self) -> None:
        """Sum up what is donated and borrowed, where shares have changed."""
        if self._is_measured:
            return
        self._is_measured = True
        self._donating = self._borrowing = 0.0
        for child, account in self._accounts.items():
            self._count(self.guaranteed(child) - account.running, 1)

    def _count(self, idle: float, sign: int) -> None:
        if idle > 0:
            self._donating += sign * idle
        else:
            self._borrowing -= sign * idle

    def _donated_by(self, child: H, now_s: float) -> float:
        """Unit-seconds that a child has donated in this quantum."""
        account = self._accounts[child]
        before = account.donated if account.quantum == self._quantum else 0.0
        since_s = max(account.at_s, self._quantum_at_s)
        return before + max(0.0, self.guaranteed(child) - account.running) * (now_s - since_s)

    def _book(self, now_s: float) -> None:
        """Close the quantum. Donors earn only for units that were borrowed."""
        self._pass_time(now_s)
        if self._donated > self._borrowed + _TINY:
            self._take_back(now_s)
        self._donated = self._borrowed = 0.0
        self._quantum += 1
        self._quantum_at_s = now_s

    def _take_back(self, now_s: float) -> None:
        """Take back what was not borrowed: donors earn only the borrowed part, poorest first."""
        donors = []
        for child in self._accounts:
            donated = self._donated_by(child, now_s)
            if donated > 0:
                wealth = (self.credit_of(child, now_s) - donated) / child.weight
                donors.append((wealth, child.index, donated, child))
        left = self._borrowed
        for _, _, donated, child in sorted(donors, key=lambda one: one[:2]):
            earned = min(left, donated)
            left -= earned
            self._accounts[child].base -= donated - earned
            self._watch(child, now_s)
        self._is_measured = False  # so that rounding does not pile up
