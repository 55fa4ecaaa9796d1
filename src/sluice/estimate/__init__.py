"""Predictions from measured runs: task lengths, run times, and their uncertainty."""
