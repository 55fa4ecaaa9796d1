"""Sluice: which jobs to admit, what to rent, in which order to release, and where each task runs.

The verbs of the command line are functions here. What is asked for is imported when it is asked
for, so that `import sluice` costs nothing; `__init__.pyi` has the types.

>>> import sluice
>>> workload = sluice.parse_workload(
...     "{version: 1, cluster: {map_slots: 2}, jobs: [{id: a, maps: {tasks: 4, avg_s: 3}}]}"
... )
>>> sluice.simulate(workload, tasks="fifo").makespan_s
6.0
"""

from __future__ import annotations

_HOMES = {
    "CalibrationReport": "sluice.reporting.calibration.result",
    "CapacityResult": "sluice.reporting.capacity.result",
    "Chart": "sluice.reporting.charts.chart",
    "CleanedRuns": "sluice.reporting.recorded_runs.result",
    "ClusterSize": "sluice.reporting.size.result",
    "DeadlinePricesResult": "sluice.reporting.pools.deadlines",
    "Diagnosis": "sluice.reporting.explain.diagnosis",
    "EngineUnavailable": "sluice.model.errors",
    "EtaJudgement": "sluice.reporting.eta.result",
    "EtaReport": "sluice.reporting.eta.result",
    "FairnessResult": "sluice.reporting.fairness.result",
    "FlowShopResult": "sluice.reporting.order.flow_shops",
    "Imported": "sluice.reporting.history.result",
    "Infeasible": "sluice.model.errors",
    "InvalidInput": "sluice.model.errors",
    "LeastServersResult": "sluice.reporting.pools.result",
    "MissingExtra": "sluice.reporting.extras",
    "OptimumResult": "sluice.reporting.pools.optimum",
    "OrderResult": "sluice.reporting.order.result",
    "PlanResult": "sluice.reporting.plan.result",
    "PoolsGrid": "sluice.reporting.pools.grid",
    "PoolsResult": "sluice.reporting.pools.result",
    "PredictionReport": "sluice.reporting.prediction.result",
    "Quote": "sluice.reporting.eta.quote",
    "RecordedRuns": "sluice.reporting.recorded_runs.result",
    "Reproduction": "sluice.reproductions.runner",
    "ResultReport": "sluice.reporting.report.page",
    "RunInterrupted": "sluice.engines.interruption",
    "RunResult": "sluice.reporting.run.result",
    "SandboxReport": "sluice.reporting.profile_run.result",
    "SchedulerComparison": "sluice.reporting.compare.result",
    "ShareResult": "sluice.reporting.share.result",
    "SluiceError": "sluice.model.errors",
    "StageOrderResult": "sluice.reporting.order.stages",
    "SteeringResult": "sluice.reporting.steer.result",
    "StoreCorrupt": "sluice.model.errors",
    "StoreUnavailable": "sluice.store.database",
    "StoredProfiles": "sluice.reporting.history.result",
    "Story": "sluice.core.explain.story",
    "StoryAnswer": "sluice.reporting.explain.answers",
    "TaskPolicy": "sluice.core.protocols",
    "UnreachableResult": "sluice.reporting.capacity.result",
    "VmChoiceResult": "sluice.reporting.pools.choice",
    "WhatIf": "sluice.reporting.whatif.result",
    "Why": "sluice.core.explain.why",
    "WhyAnswer": "sluice.reporting.explain.answers",
    "Workload": "sluice.model.workload",
    "calibrate": "sluice.api.calibrate",
    "clean_runs": "sluice.api.runs",
    "capacity": "sluice.api.capacity",
    "compare": "sluice.api.simulate",
    "deadline_prices": "sluice.api.pools",
    "eta": "sluice.api.eta",
    "judge_eta": "sluice.api.eta_judgement",
    "export_profiles": "sluice.api.profiles",
    "explain": "sluice.api.explain",
    "fairness": "sluice.api.fairness",
    "forget": "sluice.api.profiles",
    "import_logs": "sluice.api.profiles",
    "least_servers": "sluice.api.pools",
    "load_workload": "sluice.api.sources",
    "merge_profiles": "sluice.api.profiles",
    "offline_optimum": "sluice.api.pools",
    "order": "sluice.api.order",
    "pair_costs": "sluice.api.pools",
    "parse_workload": "sluice.api.sources",
    "plan": "sluice.api.plan",
    "pool_grid": "sluice.api.pools",
    "pools": "sluice.api.pools",
    "pools_quote": "sluice.api.pools",
    "predict": "sluice.api.predict",
    "profiles": "sluice.api.profiles",
    "quote": "sluice.api.quote",
    "profile_run": "sluice.api.profile_run",
    "read_log": "sluice.ingest.logs.formats",
    "rename_profile": "sluice.api.profiles",
    "report": "sluice.api.report",
    "reproduce": "sluice.reproductions.runner",
    "run": "sluice.api.run",
    "runs": "sluice.api.runs",
    "schema": "sluice.api.workload",
    "share": "sluice.api.share",
    "show_run": "sluice.api.runs",
    "simulate": "sluice.api.simulate",
    "size": "sluice.api.size",
    "steer": "sluice.api.steer",
    "story": "sluice.api.explain",
    "validate": "sluice.api.workload",
    "vm_choice": "sluice.api.pools",
    "whatif": "sluice.api.whatif",
    "why": "sluice.api.explain",
    "workload_from_logs": "sluice.ingest.logs.replay",
    "write_workload": "sluice.reporting.exports.workload_text",
}

__all__ = [  # noqa: PLE0604  # the names are strings; the linter sees only the star
    "__version__",
    *_HOMES,
]


def __getattr__(name: str) -> object:
    """A public name, imported from the room where it lives, or the version of this package."""
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module 'sluice' has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    """Return what the installed package calls itself.

    "unknown" where the sources were never installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sluice")
    except PackageNotFoundError:
        return "unknown"
