"""The least servers of 1,000 jobs, proven, next to those of the baselines. Source: spec section 8.

The spec's own prototype reserves each job at its arrival, in pools whose mix is given.
"""

from __future__ import annotations

from sluice.planning.pools.baselines import dedicated, per_job
from sluice.planning.pools.least_servers import least_servers
from sluice.reproductions.cura.figures import matched_shares, problem
from sluice.reproductions.cura.workloads import Load
from sluice.reproductions.runner import Cell, Experiment, OnProgress

JOBS = 1000
_PROTOTYPE = {100: 68, 200: 61, 400: 53, 800: 46}


def least(_seeds: int, on_progress: OnProgress) -> Experiment:
    """Servers by mean deadline, with the bound below which no schedule meets all deadlines."""
    rows: list[dict[str, Cell]] = []
    for mean_s, prototype in _PROTOTYPE.items():
        on_progress(f"{JOBS} jobs, mean deadline {mean_s} s")
        drawn = problem(Load(jobs=JOBS, mean_deadline_s=mean_s), 0)
        found = least_servers(drawn, matched_shares(drawn), on_progress)
        assert found.bound is not None, "each deadline can be met by a cluster of its own"
        rows.append(
            {"mean deadline s": mean_s, "prototype": prototype, "servers": found.servers,
             "at least": found.bound.servers, "per-job": per_job(drawn).servers,
             "dedicated": dedicated(drawn).servers}
        )  # fmt: skip
    return Experiment(
        rows=tuple(rows),
        name="thousand-jobs",
        title="The least servers of 1,000 jobs",
        setup=f"{JOBS} light jobs at 1.92 a second, pools that match the jobs, seed 0.",
        why=(
            "No schedule at all meets the deadlines on fewer servers than the bound, by the work"
            " that arrivals and deadlines enclose. Each number from there on was replayed to its"
            " first miss. The prototype of the spec reserves at arrival and cancels nothing."
        ),
    )
