"""The program of a process that simulates for a race: it answers pairs with runs."""

from __future__ import annotations

import pickle  # what it reads comes from the process that started this one
from functools import partial

from sluice.bootstrap.advising.day_runs import result_of
from sluice.bootstrap.simulations.processes import answer_tasks

if __name__ == "__main__":
    answer_tasks(lambda packed: partial(result_of, pickle.loads(packed)))  # noqa: S301  # from the parent
