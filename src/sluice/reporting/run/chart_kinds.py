"""The names of the charts of a run, in a module that loads no chart."""

from __future__ import annotations

CHART_KINDS = ("gantt", "jobs", "slots", "utilisation", "waiting", "utility")
