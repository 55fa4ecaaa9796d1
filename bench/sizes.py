"""How far is the answer of `size` from the smallest cluster that really meets the deadline?

The generator of the tests makes 40 nightly jobs and ten nights of runs, from which `size` answers.
The truth is found by brute force: every size near the answer is simulated on nights that the
generator makes and `size` never saw, and the smallest one that meets the deadline in 95 % of them
is the truth. Each seed is asked with several deadlines. Budget: within one node, for all.

    python -m bench.sizes --seeds 100-111 --deadlines 310 600
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench._figures import verdict
from tests.estimate.nightly_jobs import NightlyJob, night_of, nightly_jobs, nights_of

import sluice
from sluice.bootstrap.nights.simulation import DrawnJobs, NodeShape, simulated_night
from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.settings import resolved_settings
from sluice.estimate.nights import NightJob
from sluice.model.job import Job
from sluice.store.profiles import Profiles

PROBABILITY = 0.95
OFF_MAX = 1
FIRST_NIGHT = 1000  # of those that `size` never saw
SHAPE = NodeShape(map_slots=4, reduce_slots=4)


class Answer(NamedTuple):
    """What `size` says of a seed and a deadline, and the truth."""

    seed: int
    deadline_s: float
    nodes: int
    truth: int
    met: float

    @property
    def off(self) -> int:
        """Nodes above the truth."""
        return self.nodes - self.truth


class _AsTheyWere:
    """Gives the lengths of tasks as they were, in place of a new draw."""

    def choices(self, lengths_s: Sequence[float], k: int) -> Sequence[float]:
        assert k == len(lengths_s)
        return lengths_s


class Truth:
    """The share of the generator's nights in which a size meets a deadline."""

    def __init__(self, jobs: Sequence[NightlyJob], seed: int, nights: int, every_s: float) -> None:
        self._tasks = chosen_policy("tasks", "fifo")
        self._settings = resolved_settings({}, (), (self._tasks,))
        drawn = DrawnJobs(1.0)
        self._nights: list[tuple[Job, ...]] = []
        for night in range(FIRST_NIGHT, FIRST_NIGHT + nights):
            runs = night_of(jobs, night, seed)
            named = [NightJob(run.profile, every_s * at, run) for at, run in enumerate(runs)]
            self._nights.append(drawn.of(named, _AsTheyWere()))
        self._spans_s: dict[int, list[float]] = {}

    def met(self, nodes: int, deadline_s: float) -> float:
        """The share of nights whose jobs all end in time on that many nodes."""
        if nodes not in self._spans_s:
            cluster = SHAPE.cluster(nodes)
            self._spans_s[nodes] = [
                simulated_night(jobs, cluster, self._tasks, self._settings).span_s
                for jobs in self._nights
            ]
        spans_s = self._spans_s[nodes]
        return sum(span_s <= deadline_s for span_s in spans_s) / len(spans_s)

    def least(self, near: int, deadline_s: float) -> int:
        """The smallest size that meets the deadline often enough, searched from `near`."""
        nodes = near
        while self.met(nodes, deadline_s) < PROBABILITY:
            nodes += 1
            assert nodes <= 10 * near, "no size meets this deadline"
        while nodes > 1 and self.met(nodes - 1, deadline_s) >= PROBABILITY:
            nodes -= 1
        return nodes


def workload_text(jobs: Sequence[NightlyJob], every_s: float) -> str:
    """A file with these jobs, one submitted that long after the other."""
    lines = [
        f"  - {{id: {job.name}, profile: {job.name}, submitted_at_s: {every_s * at}}}"
        for at, job in enumerate(jobs)
    ]
    return "\n".join(["version: 1", "jobs:", *lines]) + "\n"


def answers(seed: int, deadlines_s: Sequence[float], words: argparse.Namespace) -> list[Answer]:
    """Ask `size` and find the truth, with a profile store of the seed's own."""
    jobs = nightly_jobs(seed)
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "profiles")
        with Profiles.open(store) as profiles:
            for runs in nights_of(jobs, seed=seed).values():
                profiles.add(runs)
        workload = sluice.parse_workload(workload_text(jobs, words.every_s))
        truth = Truth(jobs, seed, words.nights, words.every_s)
        found = []
        for deadline_s in deadlines_s:
            size = sluice.size(
                workload,
                deadline_s=deadline_s,
                probability=PROBABILITY,
                draws=words.draws,
                one_night=words.one_night,
                store=store,
            )
            assert size.answer is not None, "there is a size that does"
            nodes = size.answer.nodes
            least = truth.least(nodes, deadline_s)
            found.append(Answer(seed, deadline_s, nodes, least, truth.met(nodes, deadline_s)))
    return found


def main(argv: list[str] | None = None) -> int:
    """Print each answer next to the truth; 1 if one is off by more than a node."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="100-101", help="first-last")
    parser.add_argument("--deadlines", nargs="+", type=float, default=[310, 350, 450, 600])
    parser.add_argument("--every-s", type=float, default=5, help="between two submissions")
    parser.add_argument("--nights", type=int, default=300, help="of the generator, for the truth")
    parser.add_argument("--draws", type=int, default=100, help="as for `size`")
    parser.add_argument("--one-night", default="newest", help="as for `size`")
    words = parser.parse_args(argv)
    first, last = map(int, words.seeds.split("-"))
    every = []
    for seed in range(first, last + 1):
        for one in answers(seed, words.deadlines, words):
            every.append(one)
            print(
                f"seed {one.seed}, {one.deadline_s:g} s: {one.nodes} nodes, truth {one.truth}"
                f" ({one.met:.1%} of nights met)",
                flush=True,
            )
    counts = Counter(one.off for one in every)
    fits = max(abs(off) for off in counts) <= OFF_MAX
    for off in sorted(counts):
        print(f"{off:+d} nodes: {counts[off]} of {len(every)}")
    print(verdict(fits=fits).strip() or "within the budget")
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
