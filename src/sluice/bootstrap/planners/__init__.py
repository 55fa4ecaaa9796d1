"""Planners that run in the background or in a process of their own."""
