"""The evaluation of Tang, Lee and He, "DynamicMR: A Dynamic Slot Allocation Optimization Framework
for MapReduce Clusters", from chapter 4 of Tang's thesis, in the simulator.

The authors ran real programs on a cluster. Here jobs with the same task counts are simulated, with
lengths of our choice if the thesis has none. Source: dynamicmr spec, sections 8 to 10.
"""

from __future__ import annotations

from sluice.reproductions.dynamicmr.containers import containers
from sluice.reproductions.dynamicmr.copies import pending_first
from sluice.reproductions.dynamicmr.lending import configurations, fractions
from sluice.reproductions.dynamicmr.nearness import prescheduling
from sluice.reproductions.dynamicmr.pools import three_pools
from sluice.reproductions.dynamicmr.together import by_fair, by_fifo
from sluice.reproductions.runner import Evaluation

EVALUATION = Evaluation(
    name="dynamicmr",
    title="DynamicMR: slot lending, delayed copies, data locality (Tang's thesis, chapter 4)",
    timed={
        "fig-4.9": (three_pools, 0.03),
        "fig-4.10": (configurations, 1.08),
        "fig-4.11": (fractions, 0.46),
        "fig-4.12": (pending_first, 1.53),
        "fig-4.13": (prescheduling, 0.29),
        "fig-4.15": (by_fair, 0.95),
        "fig-4.16": (by_fifo, 0.87),
        "fig-4.17": (containers, 1.19),
    },
    left_out={
        "seconds": (
            "The times in the thesis are those of nine Purdue benchmarks on ten nodes under Hadoop"
            " 1.2.1 and YARN. Without that cluster only ratios can be compared."
        ),
        "Fig. 4.18": (
            "its curve over time is of the real network of YARN; fig-4.17 has the peaks of the"
            " simulated network"
        ),
    },
    seeds=10,
)
