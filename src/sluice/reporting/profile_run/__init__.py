"""Runs of single jobs at several slot counts: figures and table."""
