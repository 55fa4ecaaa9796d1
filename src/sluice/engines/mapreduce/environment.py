"""The part of the process environment that a task inherits.

By default a task gets the whole environment of `sluice run`, as under any shell. A job with
`inherit_env: false` gets only the variables below, so that it runs the same for every user.
"""

from __future__ import annotations

import os

KEPT = frozenset({"PATH", "HOME", "LANG", "TMPDIR"})
# The agent finds the processes that an attempt left behind by these.
MARKS = frozenset({"SLUICE_NODE", "SLUICE_ATTEMPT"})


def inherited(*, inherits_env: bool) -> dict[str, str]:
    """The inherited variables, before those that describe the task and those of `env`."""
    if inherits_env:
        return dict(os.environ)
    return {name: os.environ[name] for name in KEPT | MARKS if name in os.environ}


def enter(folder: str, env: dict[str, str], *, inherits_env: bool) -> None:
    """Give this interpreter the working folder and the environment of a task."""
    os.chdir(folder)
    if not inherits_env:
        wanted = inherited(inherits_env=False) | env
        for name in os.environ.keys() - wanted.keys():
            del os.environ[name]
    os.environ.update(env)  # the inherited ones are there already
