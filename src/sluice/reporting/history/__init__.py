"""Imported logs and stored runs: figures and tables."""
