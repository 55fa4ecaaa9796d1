"""The facts that are known of the tasks of a phase that run more than once, or must."""

from __future__ import annotations

from typing import Generic, TypeVar

A = TypeVar("A")  # an attempt


class Repeats(Generic[A]):
    """By task. Few phases ever have any, so that it is made at the first use."""

    __slots__ = ("causes", "copies", "failures", "lost", "retries")

    def __init__(self) -> None:
        self.retries: dict[int, int] = {}  # last attempt number, where above 1
        self.failures: dict[int, int] = {}
        self.causes: dict[str, set[int]] = {}  # exceptions of first attempts, and their tasks
        self.copies: dict[int, list[A]] = {}  # tasks with more than one running attempt
        # Rows of done attempts whose output is gone, while nothing needs it; and why it is gone.
        self.lost: dict[int, str] = {}
