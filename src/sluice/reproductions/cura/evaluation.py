"""The evaluation of Cura: pools of VMs for jobs with deadlines. Source: spec sections 7, 8."""

from __future__ import annotations

from sluice.reproductions.cura import (
    appendix_b,
    figures,
    pool_manager,
    prediction_error,
    published_size,
    response_parts,
    table_6,
    thousand_jobs,
)
from sluice.reproductions.runner import Evaluation

EVALUATION = Evaluation(
    name="cura",
    title="A cost-effective MapReduce cloud service with pools of VMs",
    timed={
        "table-5": (appendix_b.schedules, 0.01),
        "pair-costs": (appendix_b.first_pairs, 0.01),
        "reconfiguration": (appendix_b.decision, 0.01),
        "table-6": (table_6.rows_as_printed, 0.02),
        "table-6-schedules": (table_6.schedules_on_new_pools, 0.02),
        "mean-deadlines": (figures.mean_deadlines, 0.17),
        "thousand-jobs": (thousand_jobs.least, 2.0),
        "published-size": (published_size.published_size, 2.7),
        "pool-mixes": (figures.pool_mixes, 0.42),
        "pool-manager": (pool_manager.changes_while_running, 0.1),
        "prediction-error": (prediction_error.prediction_error, 0.1),
        "response-parts": (response_parts.response_parts, 1.4),
        "success": (figures.success, 0.02),
        "sizes": (figures.sizes, 0.15),
        "heavy-jobs": (figures.heavy_jobs, 0.6),
        "extra-large": (figures.extra_large, 0.42),
        "distributions": (figures.distributions, 0.12),
    },
    left_out={},
    seeds=1,
)
