"""The evaluation of Tang, Lee and He, "Long-Term Resource Fairness: Towards Economic Fairness on
Pay-as-you-use Computing Systems" and chapter 5 of Tang's thesis, in the fluid model and the
simulator. Source: ltyarn spec, sections 6 to 9.
"""

from __future__ import annotations

from sluice.reproductions.ltyarn.figures import allocation, quantum, sharing_loss, speed_ups
from sluice.reproductions.ltyarn.tables import counterexamples, table
from sluice.reproductions.runner import Evaluation

EVALUATION = Evaluation(
    name="ltyarn",
    title="LTYARN: long-term fair sharing (Tang's thesis, chapter 5)",
    timed={
        "table-1.1": (table("table-1.1"), 0.01),
        "table-5.1a": (table("table-5.1a"), 0.01),
        "table-5.1b": (table("table-5.1b"), 0.01),
        "table-5.1c": (table("table-5.1c"), 0.01),
        "counterexamples": (counterexamples, 0.01),
        "fig-5.4": (allocation, 0.01),
        "fig-5.5": (sharing_loss, 0.35),
        "fig-5.6": (speed_ups, 1.01),
        "fig-5.7": (quantum, 0.03),
    },
    left_out={
        "seconds": (
            "The times in the thesis are of Hadoop and Spark on ten nodes. Without that cluster"
            " only ratios and shapes can be compared."
        )
    },
    seeds=3,
)
