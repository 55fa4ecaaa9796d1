"""Predictions of jobs: result, tables, chart."""
