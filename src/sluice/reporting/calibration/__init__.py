"""Predicted against measured run times: figures, tables and chart."""
