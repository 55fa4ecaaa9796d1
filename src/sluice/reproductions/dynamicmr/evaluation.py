"""The evaluation of Tang, Lee and He, "DynamicMR: A Dynamic Slot Allocation Optimization Framework
for MapReduce Clusters", as Tang's thesis has it (chapter 4), in the simulator.

What ran on the authors' cluster ran real programs; here their task counts, with lengths of our
own choosing where the thesis has none, run in virtual time. Source: dynamicmr spec, sections 8
to 10.
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
    title="DynamicMR: slots lent, copies put off, maps near their data (Tang's thesis, chapter 4)",
    makers={
        "fig-4.9": three_pools,
        "fig-4.10": configurations,
        "fig-4.11": fractions,
        "fig-4.12": pending_first,
        "fig-4.13": prescheduling,
        "fig-4.15": by_fair,
        "fig-4.16": by_fifo,
        "fig-4.17": containers,
    },
    left_out={
        "seconds": (
            "The thesis's times are those of nine Purdue benchmarks on ten nodes under Hadoop"
            " 1.2.1 and YARN. Without that cluster only ratios can be set side by side."
        ),
        "Fig. 4.18": (
            "its curve over time is of YARN's real network; fig-4.17 tells the peaks of the"
            " simulated one"
        ),
    },
    seeds=10,
)
