"""How much of the long tests a run does, and when: `make fast` little, `make thorough` all of it.

Property tests draw other examples in each run, and others take other seeds on each day, so that a
few runs find what one long run finds.
"""

import os
import time
import zlib
from collections import defaultdict

from hypothesis import settings

IS_THOROUGH = bool(os.environ.get("SLUICE_TEST_THOROUGH"))
_ONE_IN = 16 if os.environ.get("SLUICE_TEST_FAST") else 8
_EXAMPLES_MIN = 10
# A run on the sources after one on the wheel, where all other tests have all of their cases.
_IS_SECOND = bool(os.environ.get("SLUICE_TEST_SECOND"))
_DAYS_SECOND = 3
# So that what failed fails again when it is run again, and all processes of a run have one day. Set
# it to repeat the cases of a day that is over.
_DAY = int(os.environ.setdefault("SLUICE_TEST_DAY", str(int(time.time() // 86_400))))


def share_of(count):
    """How many of `count` cases to try."""
    return count if IS_THOROUGH else min(count, max(_EXAMPLES_MIN, count // _ONE_IN))


def first_of(cases, count):
    """All cases in a thorough run, and the first `count` of them in others."""
    return cases if IS_THOROUGH else cases[:count]


def of_today(cases, count, day=_DAY):
    """All cases in a thorough run, and `count` of them in others: each day the next ones."""
    if IS_THOROUGH:
        return [*cases]
    return [cases[(day * count + number) % len(cases)] for number in range(count)]


def days_of(item):
    """In how many days all cases of a test have their turn: as `in_turn` says, or all on one day.

    A second run takes a part of those that the first one has taken whole.
    """
    if found := item.get_closest_marker("in_turn"):
        return found.args[0]
    return _DAYS_SECOND if _IS_SECOND and not item.get_closest_marker("interpreted") else 1


def left_out(items, days=days_of, day=_DAY):
    """The cases of parametrised tests whose turn is on another day."""
    cases = defaultdict(list)
    for item in items:
        if days(item) > 1:
            cases[item.nodeid.partition("[")[0]].append(item)
    for each in cases.values():  # mixed, for neighbours are alike
        each.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
    turns = {
        item
        for each in cases.values()
        for item in of_today(each, -(-len(each) // days(each[0])), day)
    }
    return [item for each in cases.values() for item in each if item not in turns]


def fewer(found):
    """The settings of a property test, with a share of its examples."""
    return settings(found, max_examples=share_of(found.max_examples))


def slow_first(items, is_slow, workers):
    """The items in equal blocks, one for each worker, and in each the slow ones first.

    So that at the end, when workers share out what is left, none of it takes long. Items of one
    file stay together, for they share what they set up.
    """
    slow = [item for item in items if is_slow(item)]
    quick = [item for item in items if not is_slow(item)]
    return [
        item
        for number in range(workers)
        for part in (slow, quick)
        for item in part[len(part) * number // workers : len(part) * (number + 1) // workers]
    ]
