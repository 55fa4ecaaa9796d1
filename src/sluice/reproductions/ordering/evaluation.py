"""The evaluation of a thesis on ordering jobs for FIFO MapReduce clusters: chapter 3.

Measurements on the author's cluster cannot be run again. Computed and simulated results can.
Source: ordering spec, sections 9 and 10.
"""

from __future__ import annotations

from sluice.reproductions.ordering.figures import fig_3_4, fig_3_5, fig_3_6, fig_3_7
from sluice.reproductions.ordering.online import fig_3_9, online, table_3_4
from sluice.reproductions.ordering.tables import order_matters, table_3_2, table_3_3, table_3_5
from sluice.reproductions.runner import Evaluation

EVALUATION = Evaluation(
    name="ordering",
    title="Job ordering for FIFO MapReduce clusters (thesis, chapter 3)",
    timed={
        "order-matters": (order_matters, 0.01),
        "table-3.2": (table_3_2, 0.01),
        "table-3.3": (table_3_3, 0.01),
        "fig-3.4": (fig_3_4, 0.2),
        "fig-3.5": (fig_3_5, 0.1),
        "fig-3.6": (fig_3_6, 0.01),
        "fig-3.7": (fig_3_7, 0.09),
        "table-3.5": (table_3_5, 0.45),
        "table-3.4": (table_3_4, 2.27),
        "fig-3.9": (fig_3_9, 0.68),
        "online": (online, 0.14),
    },
    left_out={
        "fig-3.8": "a drawing of the design of MROrder",
        "fig-3.10": "compares the thesis's simulator with a cluster that we do not have",
    },
)
