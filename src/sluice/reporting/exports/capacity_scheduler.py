"""`capacity-scheduler.xml` of Hadoop YARN: one queue for each class or job, with its share.

YARN requires that the capacities below one parent add up to 100, and names without dots, commas
and blanks. Capacities are thousandths of a percent. Three settings avoid traps of YARN:

- A capacity is never 0. YARN derives limits of a queue from it, and would admit no application.
- `maximum-applications` is set and large. YARN rejects what exceeds it and does not queue it.
  `max-parallel-apps` (Hadoop 3.3) limits how many run; more wait.
- There is a queue `default`, because YARN sends applications without a queue there.
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
_DEFAULT = "default"
_APPLICATIONS = 10_000  # running and waiting, in one queue: YARN's own default for all queues
HOW_TO = """\
Apply: keep a copy of the present capacity-scheduler.xml, put this file in its place in the
configuration folder of the ResourceManager, add your own settings (access, labels, node resources)
to it, and run "yarn rmadmin -refreshQueues". A queue that this file lacks must be STOPPED and empty
before that.
Roll back: set the state of the queues below to STOPPED, refresh, and wait until they are empty.
Then put the copy back and refresh again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueShare:
    """One queue. share: relative to the others, 0 or more.

    share_max: the most of the whole cluster that it can hold, 0 to 1; never less than its share.
    jobs_max: applications that run at once while others wait; None for no limit.
    """

    name: str
    share: float
    share_max: float = 1.0
    jobs_max: int | None = None


def capacity_scheduler_xml(queues: Sequence[QueueShare], *, comment: str = "") -> str:
    """The file's text. comment: what the file is, in plain words, for its head.

    Raises InvalidInput if no queue has a share, or if there are too many queues.
    """
    if not any(queue.share > 0 for queue in queues):
        raise InvalidInput(
            "no queue has a share", where="capacity-scheduler.xml", hint="plan for at least one job"
        )
    if len(queues) >= _STEPS // 2:
        raise InvalidInput(
            f"{len(queues):,} queues are too many for thousandths of a percent",
            where="capacity-scheduler.xml",
            hint="export fewer classes",
        )
    if _DEFAULT not in queue_names([queue.name for queue in queues]):
        queues = [*queues, QueueShare(name=_DEFAULT, share=0)]
    lines = [
        '<?xml version="1.0"?>',
        *comment_lines(comment),
        *(line for text in HOW_TO.splitlines() for line in comment_lines(text)),
        "<configuration>",
        *map(_property, _settings(queues)),
        "</configuration>",
        "",
    ]
    return "\n".join(lines)


def comment_lines(comment: str) -> list[str]:
    """The comment in XML, on a line of its own; no line for an empty comment.

    >>> comment_lines("plan 1 of a---b.yaml")
    ['<!-- plan 1 of a- - -b.yaml -->']
    """
    # Two hyphens would end it early, and a file's name can hold what XML cannot.
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
        # Without it, one user of a class could not use more than the queue's own capacity.
        yield f"{_ROOT}.{name}.user-limit-factor", f"{math.ceil(most / share)}"
        yield f"{_ROOT}.{name}.maximum-applications", str(_APPLICATIONS)
        if queue.jobs_max is not None:
            yield f"{_ROOT}.{name}.max-parallel-apps", str(queue.jobs_max)
        yield f"{_ROOT}.{name}.state", "RUNNING"


def _percent(steps: int) -> str:
    return f"{steps / (_STEPS // 100):.3f}"


def queue_names(names: Iterable[str]) -> list[str]:
    """Names that YARN accepts, all different, as near to the given ones as possible.

    `root` is YARN's name for the queue above all others.

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
    """Shares as whole steps that add up to all of them; each has at least one.

    What rounding leaves over goes to the queues that lost most by it; what the least steps take
    comes from the largest queue.
    """
    total = math.fsum(shares)
    exact = [share / total * _STEPS for share in shares]
    steps = [max(1, math.floor(part)) for part in exact]
    by_loss = sorted(range(len(shares)), key=lambda place: (steps[place] - exact[place], place))
    for place in by_loss[: max(0, _STEPS - sum(steps))]:
        steps[place] += 1
    while (excess := sum(steps) - _STEPS) > 0:
        largest = steps.index(max(steps))
        steps[largest] -= min(excess, steps[largest] - 1)
    return steps
