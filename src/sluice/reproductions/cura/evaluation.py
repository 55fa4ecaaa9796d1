"""The evaluation of Cura: pools of VMs for jobs with deadlines. Source: spec sections 7, 8."""

from __future__ import annotations

from sluice.reproductions.cura import appendix_b, figures, pool_manager, table_6, thousand_jobs
from sluice.reproductions.runner import Evaluation

EVALUATION = Evaluation(
    name="cura",
    title="A cost-effective MapReduce cloud service with pools of VMs",
    makers={
        "table-5": appendix_b.schedules,
        "pair-costs": appendix_b.first_pairs,
        "reconfiguration": appendix_b.decision,
        "table-6": table_6.rows_as_printed,
        "table-6-schedules": table_6.schedules_on_new_pools,
        "mean-deadlines": figures.mean_deadlines,
        "thousand-jobs": thousand_jobs.least,
        "pool-mixes": figures.pool_mixes,
        "pool-manager": pool_manager.changes_while_running,
        "prediction-error": figures.prediction_error,
        "success": figures.success,
        "sizes": figures.sizes,
        "heavy-jobs": figures.heavy_jobs,
        "extra-large": figures.extra_large,
        "distributions": figures.distributions,
    },
    minutes={
        "table-5": 0.01,
        "pair-costs": 0.01,
        "reconfiguration": 0.01,
        "mean-deadlines": 0.17,
        "thousand-jobs": 2.0,
        "pool-mixes": 0.42,
        "pool-manager": 0.1,
        "prediction-error": 0.03,
        "success": 0.02,
        "sizes": 0.15,
        "heavy-jobs": 0.6,
        "extra-large": 0.42,
        "distributions": 0.12,
        "table-6": 0.02,
        "table-6-schedules": 0.02,
    },
    left_out={},
    seeds=1,
)
