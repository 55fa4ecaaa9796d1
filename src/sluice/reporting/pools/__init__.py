"""Schedules on VM pools: figures, tables and chart."""
