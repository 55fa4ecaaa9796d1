"""`capacity-scheduler.xml` of Hadoop YARN: one queue for each class or job, with its share.

YARN wants the capacities of all queues below one parent to add up to 100, and names without dots,
commas and blanks. Shares are cut to thousandths of a percent, and what that leaves over goes to
the queues that lost most by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from sluice.model.errors import InvalidInput

_ROOT = "yarn.scheduler.capacity.root"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_STEPS = 100_000  # of all capacity: thousandths of a percent


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueShare:
    """One queue. share: relative to the others, 0 or more.

    share_max: the most of the whole cluster that it may ever hold, 0 to 1; never less than its
    share.  jobs_max: applications that it takes at once; None for as many as come.
    """

    name: str
    share: float
    share_max: float = 1.0
    jobs_max: int | None = None


def capacity_scheduler_xml(queues: Sequence[QueueShare], *, comment: str = "") -> str:
    """The file's text. comment: what stands at its head, in plain words.

    Raises InvalidInput where no queue has a share.
    """
    if not any(queue.share > 0 for queue in queues):
        raise InvalidInput(
            "no queue has a share", where="capacity-scheduler.xml", hint="plan for at least one job"
        )
    lines = [
        '<?xml version="1.0"?>',
        *comment_lines(comment),
        "<configuration>",
        *map(_property, _settings(queues)),
        "</configuration>",
        "",
    ]
    return "\n".join(lines)


def comment_lines(comment: str) -> list[str]:
    """The comment as XML takes it, on a line of its own; no line where there is none.

    >>> comment_lines("plan 1 of a---b.yaml")
    ['<!-- plan 1 of a- - -b.yaml -->']
    """
    # Two hyphens would end it early, and a file's name may hold what no XML may.
    plain = "".join(letter if letter.isprintable() else " " for letter in comment)
    return [f"<!-- {re.sub('-(?=-)', '- ', escape(plain, quote=False))} -->"] if plain else []


def _property(setting: tuple[str, str]) -> str:
    name, value = setting
    return f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>"


def _settings(queues: Sequence[QueueShare]) -> Iterator[tuple[str, str]]:
    names = queue_names([queue.name for queue in queues])
    steps = _whole_steps([queue.share for queue in queues])
    yield f"{_ROOT}.queues", ",".join(names)
    for name, queue, share in zip(names, queues, steps, strict=True):
        most = max(share, min(_STEPS, math.ceil(queue.share_max * _STEPS - 1e-6)))
        yield f"{_ROOT}.{name}.capacity", _percent(share)
        yield f"{_ROOT}.{name}.maximum-capacity", _percent(most)
        # A class may belong to one user, who would else be held to the queue's own capacity.
        yield f"{_ROOT}.{name}.user-limit-factor", f"{max(1, math.ceil(most / max(1, share)))}"
        if queue.jobs_max is not None:
            yield f"{_ROOT}.{name}.maximum-applications", str(queue.jobs_max)
        yield f"{_ROOT}.{name}.state", "RUNNING"


def _percent(steps: int) -> str:
    return f"{steps / (_STEPS // 100):.3f}"


def queue_names(names: Iterable[str]) -> list[str]:
    """Names that YARN takes, all different, as near to the given ones as can be.

    `root` is what YARN calls the queue above all others.

    >>> queue_names(["etl.daily", "etl daily", "ad-hoc", "root"])
    ['etl_daily', 'etl_daily-2', 'ad-hoc', 'root-2']
    """
    taken: dict[str, None] = {}
    numbers = {"root": 1}  # the last that was tried, by plain name
    for name in names:
        plain = _UNSAFE.sub("_", name) or "queue"
        different = plain if plain not in numbers else ""
        while not different or different in taken:
            numbers[plain] = numbers.get(plain, 1) + 1
            different = f"{plain}-{numbers[plain]}"
        numbers.setdefault(plain, 1)
        taken[different] = None
    return list(taken)


def _whole_steps(shares: Sequence[float]) -> list[int]:
    """Shares as whole steps that add up to all of them: the largest remainders are rounded up."""
    total = math.fsum(shares)
    exact = [share / total * _STEPS for share in shares]
    steps = [math.floor(part) for part in exact]
    by_loss = sorted(range(len(shares)), key=lambda place: (steps[place] - exact[place], place))
    for place in by_loss[: _STEPS - sum(steps)]:
        steps[place] += 1
    return steps
