"""How much of the long tests a run does: a quarter, or all of it by `make thorough`.

Property tests draw other examples in each run, so that a few runs find what one long run finds.
"""

import os

from hypothesis import settings

IS_THOROUGH = bool(os.environ.get("SLUICE_TEST_THOROUGH"))
_EXAMPLES_MIN = 10


def share_of(count):
    """How many of `count` cases to try."""
    return count if IS_THOROUGH else min(count, max(_EXAMPLES_MIN, count // 4))


def fewer(found):
    """The settings of a property test, with a share of its examples."""
    return settings(found, max_examples=share_of(found.max_examples))
